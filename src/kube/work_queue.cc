#include "kube/work_queue.h"

#include <algorithm>

#include "base/check.h"

namespace nodeward::kube {

void WorkQueue::add_at(const NodeName& key, MonoTime when) {
  {
    const std::lock_guard lock(mutex_);
    Entry& entry = entries_[key];
    if (entry.due && *entry.due <= when) return;
    if (entry.working) {
      entry.due = when;
      return;
    }
    if (entry.due) line_.erase({*entry.due, entry.ticket, key});
    wait_in_line(entry, key, when);
  }
  changed_.notify_one();
}

void WorkQueue::wait_in_line(Entry& entry, const NodeName& key, MonoTime when) {
  entry.due = when;
  entry.ticket = ++tickets_;
  line_.insert({when, entry.ticket, key});
}

std::optional<NodeName> WorkQueue::take(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    const MonoTime now = clock_.now();
    if (!line_.empty() && line_.begin()->due <= now) {
      NodeName key = line_.begin()->key;
      line_.erase(line_.begin());
      Entry& entry = entries_[key];
      entry.working = true;
      entry.due.reset();
      // This worker may be the one whose sleep was measured for the next key, or the one that was told of it: hand that on.
      if (!line_.empty()) changed_.notify_one();
      return key;
    }
    const MonoTime until = line_.empty() ? MonoTime::max() : line_.begin()->due;
    clock_.wait_until(lock, changed_, until, stop,
                      [&] { return !line_.empty() && (line_.begin()->due < until || line_.begin()->due <= clock_.now()); });
  }
  return std::nullopt;
}

void WorkQueue::done(const NodeName& key, std::optional<MonoTime> again) {
  {
    const std::lock_guard lock(mutex_);
    const auto place = entries_.find(key);
    NW_CHECK(place != entries_.end() && place->second.working, "only the worker that took a key can be done with it");
    Entry& entry = place->second;
    entry.working = false;
    // Added meanwhile: what was asked for then counts, not the worker's later time.
    const std::optional<MonoTime> when = entry.due && again ? std::min(*entry.due, *again) : entry.due ? entry.due : again;
    if (!when) {
      entries_.erase(place);
      return;
    }
    wait_in_line(entry, key, *when);
  }
  changed_.notify_one();
}

std::size_t WorkQueue::size() const {
  const std::lock_guard lock(mutex_);
  return line_.size();
}

bool WorkQueue::idle() const {
  const std::lock_guard lock(mutex_);
  return entries_.empty();
}

}  // namespace nodeward::kube
