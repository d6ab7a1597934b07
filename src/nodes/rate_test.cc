#include "nodes/rate.h"

#include <gtest/gtest.h>

namespace nodeward::nodes {
namespace {

using kube::NodeName;
const MonoTime t0{std::chrono::hours(1)};

TEST(Bucket, HandsOutTheBurstThenOneAFifthOfASecond) {
  Bucket bucket(5, 10);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(bucket.reserve(t0), t0);
  EXPECT_EQ(bucket.reserve(t0), t0 + 200ms);
  EXPECT_EQ(bucket.reserve(t0), t0 + 400ms);
  EXPECT_EQ(bucket.reserve(t0 + 10s), t0 + 10s);
}

TEST(Bucket, NeverSavesMoreThanTheBurst) {
  Bucket bucket(5, 2);
  EXPECT_EQ(bucket.reserve(t0), t0);
  const MonoTime later = t0 + 1h;
  EXPECT_EQ(bucket.reserve(later), later);
  EXPECT_EQ(bucket.reserve(later), later);
  EXPECT_EQ(bucket.reserve(later), later + 200ms);
}

TEST(Bucket, TakesBackWhatWasNotUsed) {
  Bucket bucket(5, 1);
  EXPECT_EQ(bucket.reserve(t0), t0);
  bucket.give_back();
  EXPECT_EQ(bucket.reserve(t0), t0);
}

TEST(Bucket, NegativeIsNoLimit) {
  Bucket bucket(-1, 1);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(bucket.reserve(t0), t0);
}

TEST(Bucket, ARateNextToNothingIsAWaitWithinRange) {
  Bucket bucket(1e-300, 1);
  EXPECT_EQ(bucket.reserve(t0), t0);
  EXPECT_GT(bucket.reserve(t0), t0 + 24h);
}

TEST(FlightLimit, HalvesOnOverloadAndGrowsBack) {
  FlightLimit flight(8);
  const NodeName n{"n"};
  EXPECT_TRUE(flight.enter(n));
  flight.leave(FlightLimit::Answer::kOverload);
  EXPECT_EQ(flight.limit(), 4);
  for (int i = 0; i < 3; ++i) {
    flight.enter(n);
    flight.leave(FlightLimit::Answer::kOverload);
  }
  EXPECT_EQ(flight.limit(), 1) << "never none";
  for (int i = 0; i < 100; ++i) {
    flight.enter(n);
    flight.leave(FlightLimit::Answer::kGood);
  }
  EXPECT_EQ(flight.limit(), 8) << "never over its most";
}

TEST(FlightLimit, TellsThoseWhoFoundNoRoom) {
  FlightLimit flight(1);
  EXPECT_TRUE(flight.enter(NodeName{"a"}));
  EXPECT_FALSE(flight.enter(NodeName{"b"}));
  EXPECT_FALSE(flight.enter(NodeName{"b"}));
  EXPECT_FALSE(flight.enter(NodeName{"c"}));
  EXPECT_EQ(flight.leave(FlightLimit::Answer::kGood), (std::vector<NodeName>{NodeName{"b"}}));
}

TEST(Gate, StaysShutLongerEachTimeAndOpensAtTheFirstAnswer) {
  Gate gate(BackoffShape{.first = 100ms, .most = 1s, .factor = 2.0, .jitter = 0.0});
  EXPECT_FALSE(gate.open());
  EXPECT_TRUE(gate.shut(t0));
  EXPECT_EQ(gate.opens(), t0 + 100ms);
  EXPECT_FALSE(gate.shut(t0 + 1ms));
  EXPECT_EQ(gate.opens(), t0 + 100ms) << "was under way together with the first";
  gate.shut(t0 + 100ms);
  EXPECT_EQ(gate.opens(), t0 + 300ms);
  EXPECT_TRUE(gate.open());
  EXPECT_LE(gate.opens(), t0);
}

}  // namespace
}  // namespace nodeward::nodes
