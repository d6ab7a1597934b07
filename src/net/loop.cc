#include "net/loop.h"

#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "net/signals.h"

namespace nodeward::net {
namespace {

// HTTP/2 streams on one connection as far as we are concerned; the server's own limit counts.
constexpr long kStreamsPerConnection = 1000;
constexpr std::uint64_t kWakeupTag = ~std::uint64_t{0};

std::uint64_t tag(std::uint32_t lane, curl_socket_t fd) { return (std::uint64_t{lane} << 32) | static_cast<std::uint32_t>(fd); }

std::uint32_t epoll_interest(int what) {
  std::uint32_t events = 0;
  if (what & CURL_POLL_IN) events |= EPOLLIN;
  if (what & CURL_POLL_OUT) events |= EPOLLOUT;
  return events;
}

int curl_events(std::uint32_t events) {
  int mask = 0;
  if (events & EPOLLIN) mask |= CURL_CSELECT_IN;
  if (events & EPOLLOUT) mask |= CURL_CSELECT_OUT;
  if (events & (EPOLLERR | EPOLLHUP)) mask |= CURL_CSELECT_ERR;
  return mask;
}

Error closed() { return {ErrorCode::kCancelled, "stopped: the transport is closed"}; }

}  // namespace

Loop::Loop() : epoll_(epoll_create1(EPOLL_CLOEXEC)), wakeup_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  NW_CHECK(epoll_ >= 0 && wakeup_ >= 0, "two file descriptors are to be had at the start");
  epoll_event event{.events = EPOLLIN, .data = {.u64 = kWakeupTag}};
  epoll_ctl(epoll_, EPOLL_CTL_ADD, wakeup_, &event);
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

Loop::~Loop() {
  shut_down();
  for (const Lane& lane : lanes_) curl_multi_cleanup(lane.handle);
  close(wakeup_);
  close(epoll_);
}

void Loop::shut_down() {
  if (!thread_.joinable()) return;
  thread_.request_stop();
  wake();
  thread_.join();
}

void Loop::start(std::shared_ptr<Transfer> transfer, std::shared_ptr<const Target> target) {
  post({Command::Kind::kStart, std::move(transfer), std::move(target)});
}
void Loop::resume(std::shared_ptr<Transfer> transfer) { post({Command::Kind::kResume, std::move(transfer)}); }
void Loop::drop(std::shared_ptr<Transfer> transfer) { post({Command::Kind::kDrop, std::move(transfer)}); }
void Loop::give_up(std::shared_ptr<Transfer> transfer) { post({Command::Kind::kGiveUp, std::move(transfer)}); }

void Loop::move(std::shared_ptr<const Target> target) { post({Command::Kind::kMove, nullptr, std::move(target)}); }

void Loop::post(Command command) {
  Transfer* const transfer = command.transfer.get();
  enum {
    kClosed,
    kFirst,
    kFollows
  } const place = inbox_.with([&](Inbox& inbox) {
    if (inbox.closed) return kClosed;
    inbox.commands.push_back(std::move(command));
    return inbox.commands.size() == 1 ? kFirst : kFollows;
  });
  if (place == kFirst) wake();
  if (place == kClosed && transfer != nullptr) transfer->finish(closed());
}

void Loop::wake() const {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = write(wakeup_, &one, sizeof one);  // full means that a wake-up is waiting already
}

void Loop::run(const std::stop_token& stop) {
  block_signals();  // SIGPIPE, which OpenSSL's writes can raise here, too: the write fails instead
  while (!stop.stop_requested()) {
    obey_commands();
    fire_timers();
    collect_finished();
    sweep_lanes();
    wait_for_sockets();
  }
  cancel_all();
}

void Loop::obey_commands() {
  auto commands = inbox_.with([](Inbox& inbox) { return std::exchange(inbox.commands, {}); });
  for (Command& command : commands) obey(std::move(command));
}

void Loop::obey(Command command) {
  Transfer* const transfer = command.transfer.get();
  const auto found = active_.find(transfer);
  switch (command.kind) {
    case Command::Kind::kStart:
      move_to(*command.target);
      launch(std::move(command.transfer), std::move(command.target));
      return;
    case Command::Kind::kResume:
      if (found != active_.end()) curl_easy_pause(found->second.easy->handle(), CURLPAUSE_CONT);
      return;
    case Command::Kind::kGiveUp:
      if (found != active_.end()) found->second.lane->retired = true;
      [[fallthrough]];
    case Command::Kind::kDrop: take_out(transfer); return;
    case Command::Kind::kMove: move_to(*command.target); return;
  }
}

void Loop::launch(std::shared_ptr<Transfer> transfer, std::shared_ptr<const Target> target) {
  Lane& lane = lane_for(transfer->kind(), target->generation);
  launch(std::move(transfer), std::move(target), lane);
}

void Loop::launch(std::shared_ptr<Transfer> transfer, std::shared_ptr<const Target> target, Lane& lane) {
  Transfer* const key = transfer.get();
  auto easy = std::make_unique<Easy>(target, std::move(transfer), lane.http2);
  if (const CURLMcode code = curl_multi_add_handle(lane.handle, easy->handle()); code != CURLM_OK) {
    key->finish(Error{ErrorCode::kUnreachable, target->where + ": " + curl_multi_strerror(code), {}});
    return;
  }
  ++lane.transfers;
  if (key->kind() == Transfer::Kind::kStream) {
    lane.stream = key;
    lane.target = std::move(target);
  }
  active_.emplace(key, Active{&lane, std::move(easy)});
}

Loop::Lane& Loop::lane_for(Transfer::Kind kind, int generation) {
  for (Lane& lane : lanes_) {
    if (lane.kind == kind && lane.generation == generation && !lane.retired &&
        (kind == Transfer::Kind::kWhole || lane.transfers == 0))
      return lane;
  }
  return new_lane(kind, generation);
}

Loop::Lane& Loop::new_lane(Transfer::Kind kind, int generation) {
  Lane& lane = lanes_.emplace_back();
  lane.loop = this;
  lane.id = lanes_made_++;
  lane.kind = kind;
  lane.generation = generation;
  lane.handle = curl_multi_init();
  NW_CHECK(lane.handle != nullptr, "libcurl has memory for a multi handle");
  curl_multi_setopt(lane.handle, CURLMOPT_SOCKETFUNCTION, &Loop::on_socket);
  curl_multi_setopt(lane.handle, CURLMOPT_SOCKETDATA, &lane);
  curl_multi_setopt(lane.handle, CURLMOPT_TIMERFUNCTION, &Loop::on_timer);
  curl_multi_setopt(lane.handle, CURLMOPT_TIMERDATA, &lane);
  curl_multi_setopt(lane.handle, CURLMOPT_PIPELINING, CURLPIPE_MULTIPLEX);
  curl_multi_setopt(lane.handle, CURLMOPT_MAX_CONCURRENT_STREAMS, kStreamsPerConnection);
  return lane;
}

Loop::Lane* Loop::find_lane(std::uint32_t id) {
  const auto found = std::find_if(lanes_.begin(), lanes_.end(), [&](const Lane& lane) { return lane.id == id; });
  return found == lanes_.end() ? nullptr : &*found;
}

void Loop::fire_timers() {
  for (Lane& lane : lanes_) {
    if (lane.due && *lane.due <= Clock::real().now()) {
      lane.due.reset();  // libcurl sets it anew from within the call
      int running = 0;
      curl_multi_socket_action(lane.handle, CURL_SOCKET_TIMEOUT, 0, &running);
    }
    look_after(lane);
  }
}

void Loop::collect_finished() {
  for (Lane& lane : lanes_) {
    int left = 0;
    while (const CURLMsg* message = curl_multi_info_read(lane.handle, &left)) {
      if (message->msg != CURLMSG_DONE) continue;
      const CURLcode code = message->data.result;  // the message dies with the handle's removal
      Easy* finished = nullptr;
      curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &finished);
      const std::shared_ptr<Transfer> transfer = finished->transfer();
      lane.http2 = finished->answered_over_http2().value_or(lane.http2);
      const bool is_probe = transfer == lane.probe;
      if (is_probe) probe_answered(lane, *finished, code);
      const auto done = take_out(transfer.get());
      if (!is_probe && done->easy->refused(code) && transfer->may_start_again()) {
        lane.retired = true;             // all that was refused shares one new connection
        launch(transfer, done->easy->target());
      } else {
        done->easy->finish(code);
      }
    }
  }
}

void Loop::sweep_lanes() {
  for (auto lane = lanes_.begin(); lane != lanes_.end();) {
    if (lane->retired && lane->transfers == 0) {
      curl_multi_cleanup(lane->handle);
      lane = lanes_.erase(lane);
    } else {
      ++lane;
    }
  }
}

// ---- another target ----------------------------------------------------------------------------------------------------

// Connections are as good as what they were made with: none that is older takes a new transfer, and no stream stays on one.
void Loop::move_to(const Target& target) {
  generation_ = std::max(generation_, target.generation);
  for (Lane& lane : lanes_) {
    if (lane.generation == generation_) continue;
    lane.retired = true;
    if (lane.stream == nullptr) continue;
    const auto old = take_out(lane.stream);
    old->easy->transfer()->finish(Error{
        ErrorCode::kUnavailable,
        fmt::format("{}: the connection is replaced, since the CA or the client certificate was", old->easy->target()->where),
        {}});
  }
}

// ---- a silent stream ---------------------------------------------------------------------------------------------------

// When there is something to be done about the lane's stream; nullopt: nothing but what TCP does.
std::optional<MonoTime> Loop::look_due(const Lane& lane) const {
  if (lane.stream == nullptr || !lane.probing || lane.stream->request().probe.empty() || !lane.stream->has_head()) return {};
  const Liveness& liveness = lane.target->endpoint.liveness;
  if (lane.probe) return lane.probe_sent + liveness.answer;
  return std::max(lane.stream->heard(), lane.alive) + liveness.silence;
}

void Loop::look_after(Lane& lane) {
  const auto due = look_due(lane);
  const MonoTime now = Clock::real().now();
  if (!due || *due > now) return;
  if (!lane.probe) return send_probe(lane);
  const Liveness& liveness = lane.target->endpoint.liveness;
  const std::shared_ptr<Transfer> probe = std::exchange(lane.probe, nullptr);
  take_out(probe.get());
  lane.alive = now;
  // Bytes of the stream are an answer as well, and a stream that waits for its reader keeps libcurl from reading any.
  if (lane.stream->heard() > lane.probe_sent || lane.stream->waits_for_reader()) return;
  lane.retired = true;
  const auto seconds = [](Duration duration) { return std::chrono::duration<double>(duration).count(); };
  const auto dead = take_out(lane.stream);
  dead->easy->transfer()->finish(
      Error{ErrorCode::kUnavailable,
            fmt::format("{}: the connection is dead: no byte for {} s, and no answer to {} on it within {} s", lane.target->where,
                        seconds(now - dead->easy->transfer()->heard()), probe->request().path, seconds(liveness.answer)),
            {}});
}

void Loop::send_probe(Lane& lane) {
  const MonoTime now = Clock::real().now();
  lane.alive = now;
  if (lane.stream->waits_for_reader()) return;
  const auto stream = active_.find(lane.stream);
  if (!stream->second.easy->answered_over_http2().value_or(false)) {
    lane.probing = false;                // HTTP/1.1 has no room for a second request
    return;
  }
  Request request{.path = lane.stream->request().probe, .headers = lane.stream->request().headers};
  lane.probe = std::make_shared<Transfer>(Transfer::Kind::kWhole, std::move(request));
  lane.probe_sent = now;
  launch(lane.probe, lane.target, lane);
}

// Any answer will do, a reset of the request too, if it came on the stream's connection: a connection that the server wants to
// close (GOAWAY) takes no further request, and of one that was made anew nothing follows. Without an answer look_after() decides
// when the time is over.
void Loop::probe_answered(Lane& lane, const Easy& probe, CURLcode code) {
  if (probe.used_a_new_connection()) lane.probing = false;
  if (code != CURLE_OK && code != CURLE_HTTP2_STREAM && lane.probing) return;
  lane.probe.reset();
  lane.alive = Clock::real().now();
}

void Loop::wait_for_sockets() {
  std::array<epoll_event, 16> events;
  const int count = epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), patience_ms());
  for (int i = 0; i < count; ++i) {
    const std::uint64_t from = events[i].data.u64;
    if (from == kWakeupTag) {
      std::uint64_t ignored = 0;
      [[maybe_unused]] const auto got = read(wakeup_, &ignored, sizeof ignored);
      continue;
    }
    int running = 0;
    if (const Lane* lane = find_lane(static_cast<std::uint32_t>(from >> 32))) {
      curl_multi_socket_action(lane->handle, static_cast<curl_socket_t>(from & 0xffffffff), curl_events(events[i].events),
                               &running);
    }
  }
}

// Until the next timer; -1 for ever. Rounded up, else the loop would spin through the last millisecond.
int Loop::patience_ms() const {
  int patience = -1;
  const MonoTime now = Clock::real().now();
  const auto until = [&](const std::optional<MonoTime>& due) {
    if (!due) return;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(*due - now).count();
    const int wait = static_cast<int>(std::clamp<std::int64_t>(left, 0, 3'600'000));
    patience = patience < 0 ? wait : std::min(patience, wait);
  };
  for (const Lane& lane : lanes_) {
    until(lane.due);
    until(look_due(lane));
  }
  return patience;
}

std::optional<Loop::Active> Loop::take_out(Transfer* transfer) {
  auto node = active_.extract(transfer);
  if (node.empty()) return std::nullopt;
  Active active = std::move(node.mapped());
  Lane& lane = *active.lane;
  curl_multi_remove_handle(lane.handle, active.easy->handle());
  --lane.transfers;
  if (lane.stream == transfer) {
    lane.stream = nullptr;
    lane.probing = true;
    if (lane.probe) take_out(std::exchange(lane.probe, nullptr).get());
  }
  return active;
}

void Loop::cancel_all() {
  const auto waiting = inbox_.with([](Inbox& inbox) {
    inbox.closed = true;
    return std::exchange(inbox.commands, {});
  });
  for (const Command& command : waiting) {
    if (command.transfer != nullptr) command.transfer->finish(closed());
  }
  while (!active_.empty()) take_out(active_.begin()->first)->easy->transfer()->finish(closed());
}

int Loop::on_socket(CURL*, curl_socket_t fd, int what, void* user, void*) {
  const auto* lane = static_cast<Lane*>(user);
  const int epoll = lane->loop->epoll_;
  epoll_event event{.events = epoll_interest(what), .data = {.u64 = tag(lane->id, fd)}};
  if (what == CURL_POLL_REMOVE) {
    epoll_ctl(epoll, EPOLL_CTL_DEL, fd, &event);
  } else if (epoll_ctl(epoll, EPOLL_CTL_MOD, fd, &event) != 0) {
    epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
  }
  return 0;
}

int Loop::on_timer(CURLM*, long after_ms, void* user) {
  auto* lane = static_cast<Lane*>(user);
  lane->due.reset();
  if (after_ms >= 0) lane->due = Clock::real().now() + std::chrono::milliseconds(after_ms);
  return 0;
}

}  // namespace nodeward::net
