// A clock that stands still until a test moves it. For tests only. Any thread.
// Waiters wake when advance() reaches their deadline. advance_to_next() jumps to the earliest deadline anybody waits for.
#pragma once

#include <algorithm>
#include <list>

#include "base/clock.h"

namespace nodeward {

class FakeClock final : public Clock {
 public:
  explicit FakeClock(WallTime start = WallTime{std::chrono::seconds{1788246000}}) : start_(start) {}   // 2026-09-01T07:00:00Z

  MonoTime now() const override {
    const std::lock_guard lock(mutex_);
    return now_;
  }
  WallTime wall_now() const override { return start_ + (now() - kBegin); }

  bool wait_until(std::unique_lock<std::mutex>& lock, std::condition_variable_any& changed, MonoTime deadline,
                  const std::stop_token& stop, const std::function<bool()>& ready) override {
    const auto self = add_waiter(deadline);
    // Polls for real every millisecond: the lock belongs to the caller, so advance() cannot notify without racing it.
    while (!ready() && !stop.stop_requested() && now() < deadline) {
      changed.wait_for(lock, stop, std::chrono::milliseconds(1), ready);
    }
    remove_waiter(self);
    return ready();
  }

  void advance(Duration by) {
    const std::lock_guard lock(mutex_);
    now_ += by;
  }
  // Jumps to the earliest deadline somebody waits for; false when nobody waits with a deadline.
  bool advance_to_next() {
    const std::lock_guard lock(mutex_);
    MonoTime next = MonoTime::max();
    for (const MonoTime deadline : waiters_) next = std::min(next, deadline);
    if (next == MonoTime::max()) return false;
    now_ = std::max(now_, next);
    return true;
  }
  int waiters() const {
    const std::lock_guard lock(mutex_);
    return static_cast<int>(waiters_.size());
  }

 private:
  using Waiter = std::list<MonoTime>::iterator;
  Waiter add_waiter(MonoTime deadline) {
    const std::lock_guard lock(mutex_);
    return waiters_.insert(waiters_.end(), deadline);
  }
  void remove_waiter(Waiter waiter) {
    const std::lock_guard lock(mutex_);
    waiters_.erase(waiter);
  }

  static constexpr MonoTime kBegin{std::chrono::hours(1)};   // not zero: a time-out counted from the epoch would pass unseen
  const WallTime start_;
  mutable std::mutex mutex_;
  MonoTime now_ = kBegin;
  std::list<MonoTime> waiters_;
};

}  // namespace nodeward
