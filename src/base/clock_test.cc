#include "base/fake_clock.h"

#include <gtest/gtest.h>

#include <thread>

namespace nodeward {
namespace {

TEST(FakeClock, SleepersWakeWhenTheirTimeComes) {
  FakeClock clock;
  std::jthread sleeper([&] { EXPECT_TRUE(clock.sleep_for(1h, {})); });
  while (clock.waiters() == 0) std::this_thread::yield();
  EXPECT_TRUE(clock.advance_to_next());
}

TEST(FakeClock, BothTimesMoveTogether) {
  FakeClock clock(WallTime{std::chrono::seconds{1788246000}});
  EXPECT_EQ(rfc3339(clock.wall_now()), "2026-09-01T07:00:00Z");
  clock.advance(90s);
  EXPECT_EQ(rfc3339(clock.wall_now()), "2026-09-01T07:01:30Z");
}

TEST(Clock, AStopEndsASleep) {
  std::stop_source source;
  std::jthread sleeper([&] { EXPECT_FALSE(Clock::real().sleep_for(1h, source.get_token())); });
  source.request_stop();
}

TEST(Clock, WritesTimesAsKubernetesDoes) {
  EXPECT_EQ(rfc3339(WallTime{std::chrono::seconds{1788246000}}), "2026-09-01T07:00:00Z");
}

}  // namespace
}  // namespace nodeward
