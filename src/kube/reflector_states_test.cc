// Every line of the table of states in README.md.
#include <gtest/gtest.h>

#include "kube/reflector.h"

namespace nodeward::kube {
namespace {

Happened failed(ErrorCode code) { return Error{code, "", {}}; }
const Phase kWatching = Watching{ResourceVersion{"5"}};
const Happened kComplete = Complete{ResourceVersion{"5"}};
using enum ErrorCode;
const std::vector<ErrorCode> kSilentOnTheList = {kThrottled, kUnreachable, kUnauthorized, kDenied, kNotFound, kCancelled};

TEST(ReflectorStates, TheFirstIsAStreamingListWhereThereMayBeOne) {
  EXPECT_EQ(first_phase(true), Phase{StreamingList{}});
  EXPECT_EQ(first_phase(false), Phase{PagedList{}});
}

TEST(ReflectorStates, AStreamingListThatIsCompleteIsFollowedByTheWatch) {
  EXPECT_EQ(after(StreamingList{1}, kComplete, true), (Next{kWatching, true, true}));
}

TEST(ReflectorStates, AServerWithoutStreamingListsIsNeverAskedAgain) {
  EXPECT_EQ(after(StreamingList{}, Ignored{}, true), (Next{PagedList{}, false, true}));
  EXPECT_EQ(after(StreamingList{1}, failed(kInvalid), true), (Next{PagedList{}, false, true}));
}

TEST(ReflectorStates, AfterTwoCutsAStreamingListGivesWayToPagesThisOnce) {
  const std::vector<Happened> cuts = {Ended{}, failed(kUnavailable), failed(kTimeout), failed(kGone), failed(kConflict)};
  for (const Happened& cut : cuts) {
    EXPECT_EQ(after(StreamingList{}, cut, true), (Next{StreamingList{1}, true, false})) << cut.index();
    EXPECT_EQ(after(StreamingList{1}, cut, true), (Next{PagedList{}, true, false})) << cut.index();
  }
}

TEST(ReflectorStates, WhatSaysNothingOfTheListIsNoCut) {
  for (const ErrorCode code : kSilentOnTheList) {
    EXPECT_EQ(after(StreamingList{1}, failed(code), true), (Next{StreamingList{1}, true, false})) << to_string(code);
  }
}

TEST(ReflectorStates, AListInPagesIsReadUntilItIsComplete) {
  for (const bool streaming : {false, true}) {
    EXPECT_EQ(after(PagedList{}, kComplete, streaming), (Next{kWatching, streaming, true}));
    for (const ErrorCode code : {kInvalid, kGone, kUnavailable, kTimeout, kThrottled, kDenied, kUnreachable}) {
      EXPECT_EQ(after(PagedList{}, failed(code), streaming), (Next{PagedList{}, streaming, false})) << to_string(code);
    }
  }
}

TEST(ReflectorStates, OnlyGoneEndsAWatchForAList) {
  const Phase again = Watching{.from = ResourceVersion{"5"}, .doubted = true};
  EXPECT_EQ(after(kWatching, failed(kGone), true), (Next{StreamingList{}, true, true}));
  EXPECT_EQ(after(kWatching, failed(kGone), false), (Next{PagedList{}, false, true}));
  EXPECT_EQ(after(kWatching, Ended{}, true), (Next{again, true, false}));
  for (const ErrorCode code : {kUnavailable, kThrottled, kTimeout, kDenied, kInvalid, kUnreachable, kUnauthorized, kNotFound}) {
    EXPECT_EQ(after(kWatching, failed(code), true), (Next{again, true, false})) << to_string(code);
  }
}

}  // namespace
}  // namespace nodeward::kube
