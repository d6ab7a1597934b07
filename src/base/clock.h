// Time as a value that is passed in, so that no test sleeps. Clock::real() for programs; FakeClock (fake_clock.h) in tests.
// Any thread.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <stop_token>
#include <string>

namespace nodeward {

using namespace std::chrono_literals;
using Duration = std::chrono::nanoseconds;
using MonoTime = std::chrono::time_point<std::chrono::steady_clock, Duration>;   // for waits and intervals
using WallTime = std::chrono::time_point<std::chrono::system_clock, Duration>;   // for what people and other programs read

class Clock {
 public:
  virtual ~Clock() = default;

  virtual MonoTime now() const = 0;
  virtual WallTime wall_now() const = 0;
  // As now(), but the time that the machine was asleep counts (CLOCK_BOOTTIME): for what others may have taken meanwhile.
  virtual MonoTime boot_now() const { return now(); }

  // Waits on `changed` (with `lock` held, as a condition variable does) until ready() holds, `deadline` passes or `stop` is
  // requested. Returns ready(). MonoTime::max() waits without a deadline. Whoever makes ready() true notifies `changed`.
  virtual bool wait_until(std::unique_lock<std::mutex>& lock, std::condition_variable_any& changed, MonoTime deadline,
                          const std::stop_token& stop, const std::function<bool()>& ready) = 0;

  // Sleeps; false when `stop` ended it early.
  bool sleep_for(Duration duration, const std::stop_token& stop);

  static Clock& real();
};

// 2026-09-01T08:30:00Z, as metav1.Time is written.
std::string rfc3339(WallTime time);

}  // namespace nodeward
