#include "kube/work_queue.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <thread>
#include <vector>

#include "base/fake_clock.h"

namespace nodeward::kube {
namespace {

const NodeName a{"a"};
const NodeName b{"b"};

TEST(WorkQueue, HoldsAKeyOnce) {
  FakeClock clock;
  WorkQueue queue(clock);
  queue.add(a);
  queue.add(b);
  queue.add(a);
  EXPECT_EQ(queue.size(), 2U);
  EXPECT_EQ(queue.take({}), a);
  EXPECT_EQ(queue.take({}), b);
  queue.done(a);
  queue.done(b);
  EXPECT_TRUE(queue.idle());
}

TEST(WorkQueue, AKeyAddedWhileItIsWorkedOnComesAgainAfterwards) {
  FakeClock clock;
  WorkQueue queue(clock);
  queue.add(a);
  EXPECT_EQ(queue.take({}), a);
  queue.add(a);
  queue.add(a);
  EXPECT_EQ(queue.size(), 0U) << "not to a second worker";
  queue.done(a);
  EXPECT_EQ(queue.take({}), a);
  queue.done(a);
  EXPECT_TRUE(queue.idle());
}

TEST(WorkQueue, AKeyIsSeenAgainWhenDue) {
  FakeClock clock;
  WorkQueue queue(clock);
  queue.add(a);
  EXPECT_EQ(queue.take({}), a);
  queue.done(a, clock.now() + 5s);
  std::atomic<bool> taken = false;
  std::jthread worker([&](const std::stop_token& stop) {
    EXPECT_EQ(queue.take(stop), a);
    taken = true;
  });
  while (clock.waiters() == 0) std::this_thread::yield();
  EXPECT_FALSE(taken);
  clock.advance(5s);
  worker.join();
  EXPECT_TRUE(taken);
}

TEST(WorkQueue, AnEarlierReasonBringsAKeyForward) {
  FakeClock clock;
  WorkQueue queue(clock);
  queue.add_at(a, clock.now() + 1h);
  queue.add(a);
  EXPECT_EQ(queue.take({}), a);
  queue.add(a);
  queue.done(a, clock.now() + 1h);
  EXPECT_EQ(queue.take({}), a) << "added meanwhile: at once, not in an hour";
  queue.done(a);
}

TEST(WorkQueue, AStopEndsTheWait) {
  FakeClock clock;
  WorkQueue queue(clock);
  std::stop_source source;
  std::jthread worker([&] { EXPECT_FALSE(queue.take(source.get_token())); });
  source.request_stop();
}

// A clock whose deadlines pass in silence: nobody wakes but who is told.
class SilentClock final : public Clock {
 public:
  MonoTime now() const override { return MonoTime{} + std::chrono::seconds(seconds_); }
  WallTime wall_now() const override { return {}; }
  bool wait_until(std::unique_lock<std::mutex>& lock, std::condition_variable_any& changed, MonoTime, const std::stop_token& stop,
                  const std::function<bool()>& ready) override {
    ++waits_;
    return changed.wait(lock, stop, ready);
  }
  std::atomic<int> seconds_ = 1;
  std::atomic<int> waits_ = 0;
};

TEST(WorkQueue, AWorkerThatTakesAKeyWakesAnotherForTheNext) {
  SilentClock clock;
  WorkQueue queue(clock);
  std::atomic<int> taken = 0;
  std::array<std::jthread, 2> workers;
  for (auto& worker : workers) {
    worker = std::jthread([&](const std::stop_token& stop) { taken += queue.take(stop) ? 1 : 0; });
  }
  while (clock.waits_ < 2) std::this_thread::yield();
  queue.add_at(a, clock.now() + 5s);          // one of the two wakes, and sleeps on until it is due
  while (clock.waits_ < 3) std::this_thread::yield();
  clock.seconds_ = 10;
  queue.add(b);                               // one of the two wakes and takes it; the other must see to `a`
  const auto patience = std::chrono::steady_clock::now() + 10s;
  while (taken < 2 && std::chrono::steady_clock::now() < patience) std::this_thread::yield();
  EXPECT_EQ(taken, 2);
}

TEST(WorkQueue, NeverGivesAKeyToTwoWorkers) {
  WorkQueue queue(Clock::real());
  std::array<std::atomic<int>, 5> working{};
  std::atomic<int> taken = 0;
  std::vector<std::jthread> workers;
  for (int w = 0; w < 4; ++w) {
    workers.emplace_back([&](const std::stop_token& stop) {
      while (const auto key = queue.take(stop)) {
        auto& count = working[static_cast<std::size_t>(key->str()[0] - '0')];
        EXPECT_EQ(count.fetch_add(1), 0);
        std::this_thread::yield();
        count.fetch_sub(1);
        ++taken;
        queue.done(*key);
      }
    });
  }
  for (int i = 0; i < 5000; ++i) queue.add(NodeName{std::string(1, static_cast<char>('0' + i % 5))});
  while (!queue.idle()) std::this_thread::yield();
  for (auto& worker : workers) worker.request_stop();
  workers.clear();
  EXPECT_GE(taken, 5);
}

}  // namespace
}  // namespace nodeward::kube
