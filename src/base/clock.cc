#include "base/clock.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <time.h>

namespace nodeward {
namespace {

class RealClock final : public Clock {
 public:
  MonoTime now() const override { return std::chrono::steady_clock::now(); }
  WallTime wall_now() const override { return std::chrono::system_clock::now(); }
  MonoTime boot_now() const override {
    timespec now{};
    clock_gettime(CLOCK_BOOTTIME, &now);
    return MonoTime(std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec));
  }

  bool wait_until(std::unique_lock<std::mutex>& lock, std::condition_variable_any& changed, MonoTime deadline,
                  const std::stop_token& stop, const std::function<bool()>& ready) override {
    if (deadline == MonoTime::max()) return changed.wait(lock, stop, ready);
    return changed.wait_until(lock, stop, deadline, ready);
  }
};

}  // namespace

Clock& Clock::real() {
  static RealClock clock;
  return clock;
}

bool Clock::sleep_for(Duration duration, const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any never;
  std::unique_lock lock(mutex);
  wait_until(lock, never, now() + duration, stop, [] { return false; });
  return !stop.stop_requested();
}

std::string rfc3339(WallTime time) {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::chrono::floor<std::chrono::seconds>(
                                                  std::chrono::time_point_cast<std::chrono::system_clock::duration>(time))));
}

}  // namespace nodeward
