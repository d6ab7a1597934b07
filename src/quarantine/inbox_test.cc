#include "quarantine/inbox.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "base/fake_clock.h"

namespace nodeward::quarantine {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const kube::NodeName n1{"n1"};

events::Arrived arrived(events::Position position, std::string node = "n1") {
  events::Arrived made{position, {}};
  made.event.node_name = std::move(node);
  return made;
}
std::vector<events::Position> positions(const InHand& hand) {
  std::vector<events::Position> found;
  for (const events::Arrived& each : hand.events) found.push_back(each.position);
  return found;
}

class InboxTest : public ::testing::Test {
 protected:
  FakeClock clock_;
  Inbox inbox_{clock_};
};

TEST_F(InboxTest, WhatIsGivenBackComesBeforeWhatCameMeanwhile) {
  for (events::Position i = 1; i <= 3; ++i) inbox_.add(arrived(i));
  InHand hand = inbox_.take(n1, 2);
  EXPECT_THAT(positions(hand), ElementsAre(1, 2));
  inbox_.add(arrived(4));
  inbox_.give_back(n1, std::move(hand), 1);
  EXPECT_THAT(positions(inbox_.take(n1, 100)), ElementsAre(2, 3, 4));
  EXPECT_EQ(inbox_.unsettled(), 3U);
}

TEST_F(InboxTest, ANodeInHandStillWaits) {
  inbox_.add(arrived(1));
  InHand hand = inbox_.take(n1, 100);
  EXPECT_TRUE(inbox_.waits(n1));
  EXPECT_THAT(inbox_.take(n1, 100).events, IsEmpty());
  inbox_.give_back(n1, std::move(hand), 1);
  EXPECT_FALSE(inbox_.waits(n1));
  EXPECT_EQ(inbox_.unsettled(), 0U);
}

TEST_F(InboxTest, TheEndIsWhenAllIsSettledOrRefused) {
  inbox_.add(arrived(1));
  inbox_.add(arrived(2, "n2"));
  inbox_.give_back(n1, inbox_.take(n1, 100), 0, {.why = "403", .refused = true});
  inbox_.give_back(n1, inbox_.take(n1, 100), 0, {.why = "403", .refused = true});     // counted once
  inbox_.give_back(kube::NodeName("n2"), inbox_.take(kube::NodeName("n2"), 100), 1);
  EXPECT_TRUE(inbox_.wait_for_the_last(5min, {}));
  const auto left = inbox_.leave();
  ASSERT_EQ(left.size(), 1U);
  EXPECT_EQ(left[0].arrived.position, 1U);
  EXPECT_EQ(left[0].trouble.why, "403");
}

TEST_F(InboxTest, WhatComesToARefusedNodeIsTriedBeforeTheEnd) {
  inbox_.add(arrived(1));
  inbox_.give_back(n1, inbox_.take(n1, 100), 0, {.why = "422", .refused = true});
  inbox_.add(arrived(2));
  std::jthread worker([&] {
    while (clock_.waiters() == 0) std::this_thread::yield();   // the end waits for it
    inbox_.give_back(n1, inbox_.take(n1, 100), 2);
  });
  EXPECT_TRUE(inbox_.wait_for_the_last(5min, {}));
  EXPECT_EQ(inbox_.unsettled(), 0U);
}

TEST_F(InboxTest, RequestsAreCountedUntilSomethingIsSettled) {
  inbox_.add(arrived(1));
  inbox_.add(arrived(2));
  inbox_.count_request(n1);
  inbox_.give_back(n1, inbox_.take(n1, 1), 0);
  inbox_.count_request(n1);
  EXPECT_EQ(inbox_.requests(n1), 2);
  inbox_.give_back(n1, inbox_.take(n1, 1), 1);
  EXPECT_EQ(inbox_.requests(n1), 0);
}

}  // namespace
}  // namespace nodeward::quarantine
