#include "kube/event_recorder.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/backoff.h"
#include "telemetry/log.h"

namespace nodeward::kube {
namespace {

constexpr std::size_t kMostEntries = 1000;
constexpr std::size_t kMostMessage = 1024;        // what the API takes
constexpr std::size_t kMostName = 253;
constexpr const char* kEventsPath = "/api/v1/namespaces/default/events";      // nodes have no namespace: theirs is this one
constexpr BackoffShape kBackoff{.first = 1s, .most = 60s, .factor = 2.0, .jitter = 0.2};
constexpr Duration kSilence = 1min;               // after a 403, which a server that has just come up gives to everybody
constexpr int kMostFailures = 8;                  // of one event in a row: then it is dropped

// Cut to so many bytes, never in the middle of a character.
std::string cut(std::string text, std::size_t most) {
  if (text.size() <= most) return text;
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xC0) == 0x80) --most;
  text.resize(most);
  return text;
}

}  // namespace

EventRecorder::EventRecorder(Client& client, EventRecorderOptions options, Clock& clock)
    : client_(client), options_(std::move(options)), clock_(clock) {}

void EventRecorder::record(NodeEvent event) {
  event.message = cut(std::move(event.message), kMostMessage);
  const Key key{event.node, event.reason, event.message};
  const std::lock_guard lock(mutex_);
  if (clock_.now() < denied_until_) return;
  auto place = entries_.find(key);
  if (place == entries_.end()) {
    if (!make_room()) return;
    place = entries_.emplace(key, Entry{.event = std::move(event), .first = clock_.wall_now(), .due = clock_.now()}).first;
  }
  place->second.last = clock_.wall_now();
  ++place->second.count;
  changed_.notify_all();
}

// Under the lock. One that the server knows whole may be forgotten: it would only be counted from 1 again.
bool EventRecorder::make_room() {
  if (entries_.size() < kMostEntries) return true;
  auto oldest = entries_.end();
  for (auto each = entries_.begin(); each != entries_.end(); ++each) {
    if (each->second.count != each->second.written) continue;
    if (oldest == entries_.end() || each->second.last < oldest->second.last) oldest = each;
  }
  if (oldest == entries_.end()) return false;
  entries_.erase(oldest);
  return true;
}

void EventRecorder::run(const std::stop_token& stop) {
  double tokens = options_.burst;
  MonoTime filled = clock_.now();
  while (const auto key = wait_for_due(stop)) {
    const MonoTime now = clock_.now();
    tokens = std::min<double>(options_.burst, tokens + std::chrono::duration<double>(now - filled).count() * options_.per_second);
    filled = now;
    if (tokens < 1) {
      const std::chrono::duration<double> wait((1 - tokens) / options_.per_second);
      if (!clock_.sleep_for(std::chrono::duration_cast<Duration>(wait) + 1ms, stop)) return;
      continue;
    }
    tokens -= 1;
    write(*key, stop);
  }
}

// Under the lock: the entry to be written next, due or not.
const std::pair<const EventRecorder::Key, EventRecorder::Entry>* EventRecorder::next() const {
  const std::pair<const Key, Entry>* first = nullptr;
  for (const auto& each : entries_) {
    if (each.second.count > each.second.written && (first == nullptr || each.second.due < first->second.due)) first = &each;
  }
  return first;
}

std::optional<EventRecorder::Key> EventRecorder::wait_for_due(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    const auto* first = next();
    if (first != nullptr && first->second.due <= clock_.now()) return first->first;
    const MonoTime until = first == nullptr ? MonoTime::max() : first->second.due;
    clock_.wait_until(lock, changed_, until, stop, [&] {
      const auto* now_first = next();
      return now_first != nullptr && now_first->second.due < until;
    });
  }
  return std::nullopt;
}

void EventRecorder::write(const Key& key, const std::stop_token& stop) {
  Entry entry;
  {
    const std::lock_guard lock(mutex_);
    Entry& mine = entries_.at(key);                // only this thread, and make_room() for what is written, take entries out
    if (mine.name.empty()) {
      const auto stamp = clock_.wall_now().time_since_epoch().count();
      mine.name = fmt::format("{}.{:x}", cut(mine.event.node.str(), kMostName - 17), stamp);
    }
    entry = mine;
  }
  const bool first = entry.written == 0;
  took(key, entry,
       client_.send({.method = first ? "POST" : "PUT",
                     .path = first ? kEventsPath : fmt::format("{}/{}", kEventsPath, url_encoded(entry.name)),
                     .headers = {{"Content-Type", "application/json"}},
                     .body = to_text(object_for(entry))},
                    stop));
}

void EventRecorder::took(const Key& key, const Entry& sent, const Result<net::Response>& answer) {
  const std::lock_guard lock(mutex_);
  const auto place = entries_.find(key);
  if (place == entries_.end()) return;
  Entry& entry = place->second;
  if (answer) {
    entry.written = sent.count;
    entry.failures = 0;
    entry.due = clock_.now() + options_.count_every;
    return;
  }
  const Error& error = answer.error();
  switch (error.code) {
    case ErrorCode::kDenied:
      if (denied_until_ == MonoTime::min()) {
        telemetry::warn(
            "no right to write Kubernetes Events (create and update on events in the namespace default): none are written",
            {{"error", error.message}});
      }
      denied_until_ = clock_.now() + kSilence;
      entries_.clear();
      return;
    case ErrorCode::kInvalid:                       // the same again would fail again
      entries_.erase(place);
      return;
    case ErrorCode::kNotFound:                      // it has expired: begin anew
    case ErrorCode::kConflict:                      // the name is taken, by our own lost request or by chance
      entry.name.clear();
      entry.written = 0;
      break;
    default: break;
  }
  if (++entry.failures > kMostFailures) {
    telemetry::debug("a Kubernetes Event could not be written", {{"reason", sent.event.reason}, {"error", error.message}});
    entries_.erase(place);
    return;
  }
  const Duration asked = error.retry_after.value_or(0ms);
  entry.due = clock_.now() + std::max(asked, backoff_delay(kBackoff, entry.failures, std::hash<NodeName>{}(entry.event.node)));
}

// The uid is the node's name, as kubelets have it: `kubectl describe node` looks for that too.
Json EventRecorder::object_for(const Entry& entry) const {
  const NodeEvent& event = entry.event;
  return {{"apiVersion", "v1"},
          {"kind", "Event"},
          {"metadata", {{"name", entry.name}, {"namespace", "default"}}},
          {"involvedObject", {{"kind", "Node"}, {"name", event.node.str()}, {"uid", event.node.str()}, {"apiVersion", "v1"}}},
          {"reason", event.reason},
          {"message", event.message},
          {"type", event.type == NodeEvent::Type::kWarning ? "Warning" : "Normal"},
          {"source", {{"component", options_.component}}},
          {"reportingComponent", options_.component},
          {"reportingInstance", ""},
          {"firstTimestamp", rfc3339(entry.first)},
          {"lastTimestamp", rfc3339(entry.last)},
          {"count", entry.count}};
}

}  // namespace nodeward::kube
