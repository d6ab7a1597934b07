#include "sim/wire/loop.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/check.h"

namespace nodeward::sim::wire {
namespace {

constexpr int kEventsPerTurn = 64;

}  // namespace

Loop::Loop() : epoll_(epoll_create1(EPOLL_CLOEXEC)), wakeup_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  NW_CHECK(epoll_ >= 0 && wakeup_ >= 0, "two file descriptors are to be had at the start");
  epoll_event event{.events = EPOLLIN, .data = {.ptr = nullptr}};
  epoll_ctl(epoll_, EPOLL_CTL_ADD, wakeup_, &event);
}

Loop::~Loop() {
  close(wakeup_);
  close(epoll_);
}

void Loop::post(Task task) {
  waiting_.with([&](Waiting& waiting) { waiting.tasks.push_back(std::move(task)); });
  wake_from_elsewhere();
}

void Loop::after(Duration wait, Task task) {
  const MonoTime due = Clock::real().now() + wait;
  waiting_.with([&](Waiting& waiting) { waiting.timers.emplace(due, std::move(task)); });
  wake_from_elsewhere();
}

// The loop itself looks at what waits before it sleeps.
void Loop::wake_from_elsewhere() const {
  if (std::this_thread::get_id() == thread_) return;
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = write(wakeup_, &one, sizeof one);
}

void Loop::watch(int fd, Watcher& watcher, std::uint32_t events) {
  epoll_event event{.events = events, .data = {.ptr = &watcher}};
  epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event);
}

void Loop::rewatch(int fd, Watcher& watcher, std::uint32_t events) {
  epoll_event event{.events = events, .data = {.ptr = &watcher}};
  epoll_ctl(epoll_, EPOLL_CTL_MOD, fd, &event);
}

void Loop::unwatch(int fd) { epoll_ctl(epoll_, EPOLL_CTL_DEL, fd, nullptr); }

void Loop::run(const std::stop_token& stop, const std::function<bool()>& settle) {
  thread_ = std::this_thread::get_id();
  const std::stop_callback on_stop(stop, [this] { wake_from_elsewhere(); });
  std::array<epoll_event, kEventsPerTurn> events;
  bool more = false;
  while (!stop.stop_requested()) {
    const int count = epoll_wait(epoll_, events.data(), kEventsPerTurn, more ? 0 : patience_ms());
    for (int i = 0; i < count; ++i) {
      const epoll_event& event = events.at(static_cast<std::size_t>(i));
      if (event.data.ptr != nullptr) {
        static_cast<Watcher*>(event.data.ptr)->ready(event.events);
      } else {
        std::uint64_t wakes = 0;
        [[maybe_unused]] const auto taken = read(wakeup_, &wakes, sizeof wakes);
      }
    }
    run_due();
    more = settle();
  }
}

int Loop::patience_ms() const {
  return waiting_.with([](const Waiting& waiting) {
    if (!waiting.tasks.empty()) return 0;
    if (waiting.timers.empty()) return -1;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(waiting.timers.begin()->first - Clock::real().now());
    return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 3'600'000));
  });
}

// Tasks that these tasks post wait for the next turn, so that a task which posts itself starves nobody.
void Loop::run_due() {
  std::vector<Task> due = waiting_.with([](Waiting& waiting) {
    std::vector<Task> taken = std::exchange(waiting.tasks, {});
    if (waiting.timers.empty()) return taken;
    const auto end = waiting.timers.upper_bound(Clock::real().now());
    for (auto at = waiting.timers.begin(); at != end; ++at) taken.push_back(std::move(at->second));
    waiting.timers.erase(waiting.timers.begin(), end);
    return taken;
  });
  for (const Task& task : due) task();
}

}  // namespace nodeward::sim::wire
