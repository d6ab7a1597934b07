// One test for each line of the answers table (docs/architecture.md, "The write contract"); what is refused and what may not be
// sent yet stand in files of their own.
#include "nodes/node_writer_fixture.h"

namespace nodeward::nodes {
namespace {

TEST_F(NodeWriterAnswers, AsksForTheWholeNodeOnlyWhereMoreThanMetadataIsKept) {
  const auto asked = [this] {
    script_ = {ok(6)};
    watch_shows(node_json(5));
    apply();
    return transport_.requests().back().headers[1].value;
  };
  EXPECT_EQ(asked(), "application/json");
  writer_ = make_writer({.field_manager = "labeler", .selection = {.labels = selection_.labels}, .qps = -1});
  view_.remove(*view_.freshest(n1));
  EXPECT_EQ(asked(), "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json");
}

TEST_F(NodeWriterAnswers, SendsOneMergePatchAndNothingElse) {
  watch_shows(node_json(5));
  script_ = {ok(6)};
  EXPECT_TRUE(std::holds_alternative<Written>(apply()));
  ASSERT_EQ(verbs(), Verbs{"PATCH"});
  const Request sent = transport_.requests()[0];
  EXPECT_EQ(sent.path, "/api/v1/nodes/n1?fieldManager=labeler&timeout=25s");
  EXPECT_EQ(sent.headers[0].value, "application/merge-patch+json");
  EXPECT_EQ(sent.body, R"({"metadata":{"labels":{"l":"1"}}})");
  EXPECT_EQ(sent.timeout, 30s) << "longer than the server's own, so that a body given up on does not land late";
}

TEST_F(NodeWriterAnswers, NothingDiffersNothingIsSent) {
  watch_shows(node_json(5, R"({"l":"1"})"));
  EXPECT_TRUE(std::holds_alternative<Unchanged>(apply()));
  EXPECT_TRUE(verbs().empty());
}

TEST_F(NodeWriterAnswers, A200GoesIntoTheOverlaySoTheNextWriteNeedsNoGet) {
  watch_shows(node_json(5));
  script_ = {ok(6), ok(7, R"({"l":"1","m":"2"})")};
  apply();
  EXPECT_TRUE(std::holds_alternative<Unchanged>(apply()));
  EXPECT_TRUE(std::holds_alternative<Written>(
      apply([](const Node& node) { return std::move(NodePatch(node.name).label("l", "1").label("m", "2")); })));
  EXPECT_EQ(verbs(), (Verbs{"PATCH", "PATCH"}));
  EXPECT_EQ(transport_.requests()[1].body, R"({"metadata":{"labels":{"m":"2"}}})");
}

TEST_F(NodeWriterAnswers, AnUnknownNodeIsNotAskedFor) {
  EXPECT_TRUE(std::holds_alternative<Unknown>(apply()));
  EXPECT_TRUE(verbs().empty());
}

TEST_F(NodeWriterAnswers, A409IsPlannedAgainOnTheNewerNodeOfTheWatchAtOnce) {
  watch_shows(node_json(5));
  before_answer_ = [this](const Request&) {
    if (transport_.requests().size() == 1) watch_shows(node_json(6, "{}", R"([{"key":"foreign","effect":"NoSchedule"}])"));
  };
  script_ = {status(409, "Conflict"), ok(7)};
  EXPECT_TRUE(std::holds_alternative<Written>(apply(taint_wanted)));
  EXPECT_EQ(verbs(), (Verbs{"PATCH", "PATCH"}));
  EXPECT_EQ(
      transport_.requests()[1].body,
      R"({"metadata":{"resourceVersion":"6"},"spec":{"taints":[{"key":"foreign","effect":"NoSchedule"},{"effect":"NoSchedule","key":"ours","value":"x"}]}})");
  EXPECT_EQ(slept_, 0) << "a conflict is news, not overload";
}

TEST_F(NodeWriterAnswers, A409WithoutNewsFromTheWatchCostsOneGet) {
  watch_shows(node_json(5));
  script_ = {status(409, "Conflict"), Response{200, {}, node_json(6)}, ok(7)};
  EXPECT_TRUE(std::holds_alternative<Written>(apply(taint_wanted)));
  EXPECT_EQ(verbs(), (Verbs{"PATCH", "GET", "PATCH"}));
}

// The cache is of before a restore: until the nodes are listed the same again would meet the same.
TEST_F(NodeWriterAnswers, A409OfAServerWhoseNodeIsOlderThanOursIsWaitedFor) {
  watch_shows(node_json(5000));
  script_ = {status(409, "Conflict"), Response{200, {}, node_json(20)}};
  EXPECT_EQ(std::get<Later>(apply(taint_wanted)).reason, Later::Reason::kFailed);
  EXPECT_EQ(verbs(), (Verbs{"PATCH", "GET"}));
}

TEST_F(NodeWriterAnswers, A200ThatDidNotDoItIsNoSuccessAndIsTriedAgainAtGrowingIntervals) {
  watch_shows(node_json(5));
  does_it_ = false;
  Duration before = 0s;
  for (int i = 0; i < 4; ++i) {
    script_ = {ok(6 + i, "{}")};
    const Duration wait = wait_of(apply());
    EXPECT_GT(wait, before);
    before = wait;
    clock_.advance(wait);
  }
  EXPECT_EQ(verbs(), Verbs(4, "PATCH"));
}

TEST_F(NodeWriterAnswers, A404OfALoadBalancerIsNotThatOfTheNode) {
  watch_shows(node_json(5));
  script_ = {Response{404, {}, "<html>default backend - 404</html>"}, Response{200, {}, node_json(5)}, ok(6)};
  const Outcome outcome = apply();
  EXPECT_EQ(std::get<Later>(outcome).reason, Later::Reason::kFailed);
  clock_.advance(wait_of(outcome));
  EXPECT_TRUE(std::holds_alternative<Written>(apply()));
  EXPECT_EQ(verbs(), (Verbs{"PATCH", "GET", "PATCH"}));
}

TEST_F(NodeWriterAnswers, FiveConflictsInARowGoBackIntoTheQueue) {
  watch_shows(node_json(5));
  int version = 5;
  before_answer_ = [&](const Request&) { watch_shows(node_json(++version)); };
  for (int i = 0; i < 5; ++i) script_.emplace_back(status(409, "Conflict"));
  const Outcome outcome = apply(taint_wanted);
  EXPECT_TRUE(std::holds_alternative<Later>(outcome));
  EXPECT_EQ(verbs(), Verbs(5, "PATCH"));
  EXPECT_GE(slept_, 3) << "from the second conflict on there is a wait of 10 to 50 ms";
}

TEST_F(NodeWriterAnswers, A401BacksOffUpToHalfAMinute) {
  watch_shows(node_json(5));
  std::vector<Duration> waits;
  for (int i = 0; i < 12; ++i) {
    script_.emplace_back(status(401, "Unauthorized"));
    waits.push_back(wait_of(apply()));
    EXPECT_GT(waits.back(), 0s);
    EXPECT_LE(waits.back(), 30s);
    clock_.advance(waits.back());
  }
  EXPECT_LE(waits.front(), 1s);
  EXPECT_GE(waits.back(), 20s);
}

TEST_F(NodeWriterAnswers, A429WaitsAsLongAsTheServerSaysAndSendsNothingMeanwhile) {
  watch_shows(node_json(5));
  script_ = {status(429, "TooManyRequests", {{"retry-after", "3"}}), ok(6)};
  EXPECT_EQ(wait_of(apply()), 3s);
  clock_.advance(2900ms);
  EXPECT_EQ(wait_of(apply()), 100ms) << "new reasons do not shorten the wait";
  EXPECT_EQ(verbs(), Verbs{"PATCH"});
  clock_.advance(100ms);
  EXPECT_TRUE(std::holds_alternative<Written>(apply()));
  EXPECT_EQ(verbs(), (Verbs{"PATCH", "PATCH"})) << "refused unseen: no look needed";
}

TEST_F(NodeWriterAnswers, AnAbsurdRetryAfterIsCappedAtTwoMinutes) {
  watch_shows(node_json(5));
  script_ = {status(503, "ServiceUnavailable", {{"retry-after", "86400"}})};
  EXPECT_EQ(wait_of(apply()), 2min);
}

TEST_F(NodeWriterAnswers, ARetryAfterOfNothingIsNoLeaveToAskAtOnce) {
  watch_shows(node_json(5));
  for (const char* const at_once : {"0", "Tue, 01 Sep 2015 07:00:00 GMT"}) {
    script_ = {status(429, "TooManyRequests", {{"retry-after", at_once}})};
    const Duration wait = wait_of(apply());
    EXPECT_GE(wait, 150ms) << at_once;
    clock_.advance(wait);
  }
}

TEST_F(NodeWriterAnswers, A429WithoutRetryAfterBacksOffExponentially) {
  watch_shows(node_json(5));
  Duration before = 0s;
  for (int i = 0; i < 4; ++i) {
    script_.emplace_back(status(429));
    const Duration wait = wait_of(apply());
    EXPECT_GT(wait, before);
    before = wait;
    clock_.advance(wait);
  }
}

TEST_F(NodeWriterAnswers, A429OfOneNodeHoldsUpNoOther) {
  watch_shows(node_json(5));
  watch_shows(R"({"metadata":{"name":"n2","resourceVersion":"5"}})");
  script_ = {status(429, "TooManyRequests", {{"retry-after", "120"}}),
             Response{200, {}, R"({"metadata":{"name":"n2","resourceVersion":"6"}})"}};
  EXPECT_EQ(wait_of(apply()), 2min);
  EXPECT_TRUE(std::holds_alternative<Written>(writer_->apply(NodeName{"n2"}, label_wanted, {})));
}

TEST_F(NodeWriterAnswers, WhatPassesIsTriedAgainForEver) {
  watch_shows(node_json(5));
  for (int round = 0; round < 20; ++round) {
    for (const auto& failure : passing_) {
      script_ = {failure};
      const Outcome outcome = apply(taint_wanted);
      ASSERT_TRUE(std::holds_alternative<Later>(outcome)) << "round " << round;
      EXPECT_LE(wait_of(outcome), 72s);
      clock_.advance(wait_of(outcome));
    }
  }
  script_ = {ok(6, "{}", R"([{"key":"ours","value":"x","effect":"NoSchedule"}])")};
  EXPECT_TRUE(std::holds_alternative<Written>(apply(taint_wanted)));
  EXPECT_EQ(verbs(), Verbs(20 * passing_.size() + 1, "PATCH"));
}

TEST_F(NodeWriterAnswers, AReadThatFailsOnTheWayLosesNothing) {
  watch_shows(node_json(5));
  script_ = {status(500, "InternalError")};
  clock_.advance(wait_of(apply()));
  for (const auto& failure : passing_) {
    script_ = {failure};
    const Outcome outcome = apply();
    ASSERT_TRUE(std::holds_alternative<Later>(outcome));
    clock_.advance(wait_of(outcome));
  }
  script_ = {Response{200, {}, node_json(5)}, ok(6)};
  EXPECT_TRUE(std::holds_alternative<Written>(apply()));
  Verbs wanted(passing_.size() + 3, "GET");
  wanted.front() = wanted.back() = "PATCH";
  EXPECT_EQ(verbs(), wanted);
}

TEST_F(NodeWriterAnswers, OverloadHalvesTheRequestsInFlight) {
  watch_shows(node_json(5));
  EXPECT_EQ(writer_->in_flight_limit(), 16);
  script_ = {status(503)};
  apply();
  EXPECT_EQ(writer_->in_flight_limit(), 8);
}

TEST_F(NodeWriterAnswers, A500IsLookedAtThenSentAgainIfNotDone) {
  watch_shows(node_json(5));
  script_ = {status(500, "InternalError"), Response{200, {}, node_json(5)}, ok(6)};
  const Outcome first = apply();
  EXPECT_TRUE(std::holds_alternative<Later>(first));
  clock_.advance(wait_of(first));
  EXPECT_TRUE(std::holds_alternative<Written>(apply()));
  EXPECT_EQ(verbs(), (Verbs{"PATCH", "GET", "PATCH"}));
}

TEST_F(NodeWriterAnswers, AWriteThatWasDoneButNotAnsweredIsNotSentTwice) {
  watch_shows(node_json(5));
  script_ = {fail(ErrorCode::kUnavailable, "connection reset"), ok(6)};
  clock_.advance(wait_of(apply()));
  EXPECT_TRUE(std::holds_alternative<Unchanged>(apply()));
  EXPECT_EQ(verbs(), (Verbs{"PATCH", "GET"}));
}

TEST_F(NodeWriterAnswers, AWriteThatWasNeverSentIsSentWithoutALook) {
  watch_shows(node_json(5));
  script_ = {fail(ErrorCode::kUnreachable, "connection refused"), ok(6)};
  clock_.advance(wait_of(apply()));
  EXPECT_TRUE(std::holds_alternative<Written>(apply()));
  EXPECT_EQ(verbs(), (Verbs{"PATCH", "PATCH"}));
}

TEST_F(NodeWriterAnswers, AnUnknownOutcomeStaysUnknownWhileTheServerCannotBeReached) {
  watch_shows(node_json(5));
  script_ = {fail(ErrorCode::kUnavailable, "connection reset"), fail(ErrorCode::kUnreachable, "connection refused"), ok(6)};
  clock_.advance(wait_of(apply()));
  clock_.advance(wait_of(apply()));
  EXPECT_TRUE(std::holds_alternative<Unchanged>(apply()));
  EXPECT_EQ(verbs(), (Verbs{"PATCH", "GET", "GET"}));
}

TEST_F(NodeWriterAnswers, AGuardedWriteOfUnknownOutcomeIsSimplySentAgain) {
  watch_shows(node_json(5));
  script_ = {fail(ErrorCode::kTimeout, "no answer"), status(409, "Conflict"),
             ok(6, "{}", R"([{"key":"ours","value":"x","effect":"NoSchedule"}])")};
  clock_.advance(wait_of(apply(taint_wanted)));
  EXPECT_TRUE(std::holds_alternative<Unchanged>(apply(taint_wanted))) << "the 409 said look, the look said done";
  EXPECT_EQ(verbs(), (Verbs{"PATCH", "PATCH", "GET"}));
}

TEST_F(NodeWriterAnswers, A404IsFinal) {
  watch_shows(node_json(5));
  script_ = {status(404, "NotFound")};
  EXPECT_TRUE(std::holds_alternative<Gone>(apply()));
  EXPECT_EQ(verbs(), Verbs{"PATCH"});
}

TEST_F(NodeWriterAnswers, AStopEndsItWithoutASign) {
  watch_shows(node_json(5));
  script_ = {fail(ErrorCode::kCancelled, "stopped")};
  EXPECT_TRUE(std::holds_alternative<Stopped>(apply()));
}

TEST_F(NodeWriterAnswers, AnAnswerNobodyCanReadCountsAsUnknown) {
  watch_shows(node_json(5));
  script_ = {Response{200, {}, "<html>"}, ok(6)};
  clock_.advance(wait_of(apply()));
  EXPECT_TRUE(std::holds_alternative<Unchanged>(apply()));
  EXPECT_EQ(verbs(), (Verbs{"PATCH", "GET"}));
}

TEST_F(NodeWriterAnswers, AnotherNodesBodyCountsAsUnknownAndStaysOutOfTheView) {
  watch_shows(node_json(5));
  const Response other{200, {}, R"({"metadata":{"name":"n2","uid":"u2","resourceVersion":"6"}})"};
  script_ = {other, other, ok(6)};
  for (int i = 0; i < 2; ++i) {
    const Outcome outcome = apply();
    ASSERT_TRUE(std::holds_alternative<Later>(outcome));
    clock_.advance(wait_of(outcome));
  }
  EXPECT_TRUE(std::holds_alternative<Unchanged>(apply()));
  EXPECT_EQ(verbs(), (Verbs{"PATCH", "GET", "GET"}));
  EXPECT_EQ(view_.size(), 1U);
}

}  // namespace
}  // namespace nodeward::nodes
