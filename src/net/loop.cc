#include "net/loop.h"

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
// Whole answers share a connection. Streams do not: with several on one, libcurl 7.88 now and then leaves the rest of one lying
// in its own buffers until the next byte of another comes (one start of 50 on a busy machine), and a watch may have none to come.
constexpr std::array<long, 2> kSharing = {CURLPIPE_MULTIPLEX, CURLPIPE_NOTHING};
constexpr std::uint64_t kWakeupTag = ~std::uint64_t{0};

std::uint64_t tag(std::uint32_t multi, curl_socket_t fd) { return (std::uint64_t{multi} << 32) | static_cast<std::uint32_t>(fd); }

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
  for (std::uint32_t index = 0; index < multis_.size(); ++index) {
    Multi& multi = multis_[index];
    multi = {.loop = this, .index = index, .handle = curl_multi_init(), .due = {}};
    curl_multi_setopt(multi.handle, CURLMOPT_SOCKETFUNCTION, &Loop::on_socket);
    curl_multi_setopt(multi.handle, CURLMOPT_SOCKETDATA, &multi);
    curl_multi_setopt(multi.handle, CURLMOPT_TIMERFUNCTION, &Loop::on_timer);
    curl_multi_setopt(multi.handle, CURLMOPT_TIMERDATA, &multi);
    curl_multi_setopt(multi.handle, CURLMOPT_PIPELINING, kSharing[index]);
    curl_multi_setopt(multi.handle, CURLMOPT_MAX_CONCURRENT_STREAMS, kStreamsPerConnection);
  }
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

Loop::~Loop() {
  shut_down();
  for (const Multi& multi : multis_) curl_multi_cleanup(multi.handle);
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

void Loop::post(Command command) {
  Transfer& transfer = *command.transfer;
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
  if (place == kClosed) transfer.finish(closed());
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
  switch (command.kind) {
    case Command::Kind::kStart: {
      auto easy = std::make_unique<Easy>(std::move(command.target), std::move(command.transfer));
      curl_multi_add_handle(multi_of(*transfer).handle, easy->handle());
      active_.emplace(transfer, std::move(easy));
      return;
    }
    case Command::Kind::kResume:
      if (const auto found = active_.find(transfer); found != active_.end()) {
        curl_easy_pause(found->second->handle(), CURLPAUSE_CONT);
      }
      return;
    case Command::Kind::kDrop: take_out(transfer); return;
  }
}

void Loop::fire_timers() {
  for (Multi& multi : multis_) {
    if (!multi.due || *multi.due > Clock::real().now()) continue;
    multi.due.reset();  // libcurl sets it anew from within the call
    int running = 0;
    curl_multi_socket_action(multi.handle, CURL_SOCKET_TIMEOUT, 0, &running);
  }
}

void Loop::collect_finished() {
  for (const Multi& multi : multis_) {
    int left = 0;
    while (const CURLMsg* message = curl_multi_info_read(multi.handle, &left)) {
      if (message->msg != CURLMSG_DONE) continue;
      const CURLcode code = message->data.result;  // the message dies with the handle's removal
      Easy* finished = nullptr;
      curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &finished);
      take_out(&finished->transfer())->finish(code);
    }
  }
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
    curl_multi_socket_action(multis_[from >> 32].handle, static_cast<curl_socket_t>(from & 0xffffffff),
                             curl_events(events[i].events), &running);
  }
}

// Until the next timer; -1 for ever. Rounded up, else the loop would spin through the last millisecond.
int Loop::patience_ms() const {
  int patience = -1;
  for (const Multi& multi : multis_) {
    if (!multi.due) continue;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(*multi.due - Clock::real().now()).count();
    const int wait = static_cast<int>(std::clamp<std::int64_t>(left, 0, 3'600'000));
    patience = patience < 0 ? wait : std::min(patience, wait);
  }
  return patience;
}

std::unique_ptr<Easy> Loop::take_out(Transfer* transfer) {
  auto node = active_.extract(transfer);
  if (node.empty()) return nullptr;
  std::unique_ptr<Easy> easy = std::move(node.mapped());
  curl_multi_remove_handle(multi_of(*transfer).handle, easy->handle());
  return easy;
}

void Loop::cancel_all() {
  const auto waiting = inbox_.with([](Inbox& inbox) {
    inbox.closed = true;
    return std::exchange(inbox.commands, {});
  });
  for (const Command& command : waiting) command.transfer->finish(closed());
  while (!active_.empty()) take_out(active_.begin()->first)->transfer().finish(closed());
}

int Loop::on_socket(CURL*, curl_socket_t fd, int what, void* user, void*) {
  const auto* multi = static_cast<Multi*>(user);
  const int epoll = multi->loop->epoll_;
  epoll_event event{.events = epoll_interest(what), .data = {.u64 = tag(multi->index, fd)}};
  if (what == CURL_POLL_REMOVE) {
    epoll_ctl(epoll, EPOLL_CTL_DEL, fd, &event);
  } else if (epoll_ctl(epoll, EPOLL_CTL_MOD, fd, &event) != 0) {
    epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
  }
  return 0;
}

int Loop::on_timer(CURLM*, long after_ms, void* user) {
  auto* multi = static_cast<Multi*>(user);
  multi->due.reset();
  if (after_ms >= 0) multi->due = Clock::real().now() + std::chrono::milliseconds(after_ms);
  return 0;
}

}  // namespace nodeward::net
