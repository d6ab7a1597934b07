#include "base/backoff.h"

#include <gtest/gtest.h>

namespace nodeward {
namespace {

TEST(Backoff, DoublesAndStopsAtItsMost) {
  const BackoffShape plain{.first = 100ms, .most = 1s, .factor = 2.0, .jitter = 0.0};
  EXPECT_EQ(backoff_delay(plain, 1, 7), 100ms);
  EXPECT_EQ(backoff_delay(plain, 2, 7), 200ms);
  EXPECT_EQ(backoff_delay(plain, 4, 7), 800ms);
  EXPECT_EQ(backoff_delay(plain, 5, 7), 1s);
  EXPECT_EQ(backoff_delay(plain, 500, 7), 1s);
}

TEST(Backoff, JitterStaysInItsBandAndDiffersBetweenSeeds) {
  const BackoffShape shape{.first = 100ms, .most = 1s, .factor = 2.0, .jitter = 0.2};
  int different = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const Duration wait = backoff_delay(shape, 1, seed);
    EXPECT_GE(wait, 80ms);
    EXPECT_LE(wait, 120ms);
    different += wait != backoff_delay(shape, 1, seed + 1);
  }
  EXPECT_GT(different, 90);
}

}  // namespace
}  // namespace nodeward
