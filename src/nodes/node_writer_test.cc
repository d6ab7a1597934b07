// One test for each line of the answers table (docs/architecture.md, "The write contract"), on a scripted transport:
// everything above HTTP is the real code.
#include "nodes/node_writer.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <thread>

#include "base/fake_clock.h"
#include "base/json.h"
#include "net/scripted_transport.h"

namespace nodeward::nodes {
namespace {

using kube::Node;
using kube::NodeName;
using net::Request;
using net::Response;

const NodeName n1{"n1"};

std::string node_json(int version, std::string_view labels = "{}", std::string_view taints = "[]") {
  return fmt::format(R"({{"metadata":{{"name":"n1","uid":"u1","resourceVersion":"{}","labels":{}}},"spec":{{"taints":{}}}}})",
                     version, labels, taints);
}
Response status(int code, std::string_view reason = "", std::vector<net::Header> headers = {}) {
  return {code, std::move(headers),
          fmt::format(R"({{"kind":"Status","code":{},"reason":"{}","message":"because"}})", code, reason)};
}
Response ok(int version, std::string_view labels = R"({"l":"1"})", std::string_view taints = "[]") {
  return {200, {}, node_json(version, labels, taints)};
}
NodePatch label_wanted(const Node& node) { return std::move(NodePatch(node.name).label("l", "1")); }
NodePatch taint_wanted(const Node& node) { return std::move(NodePatch(node.name).add_taint({"ours", "x", "NoSchedule", ""})); }

class NodeWriterAnswers : public ::testing::Test {
 protected:
  const kube::NodeSelection selection_{
      .labels = {.all = true, .keys = {}}, .annotations = {.all = true, .keys = {}}, .spec = true};
  FakeClock clock_;
  std::deque<Result<Response>> script_;
  std::function<void(const Request&)> before_answer_ = [](const Request&) {};
  net::ScriptedTransport transport_{[this](const Request& request) -> Result<Response> {
    before_answer_(request);
    if (script_.empty()) return fail(ErrorCode::kInvalid, "the script has no more answers");
    auto next = std::move(script_.front());
    script_.pop_front();
    return next;
  }};
  kube::Client client_{transport_, {}, clock_};
  NodeView view_{[](const NodeName&, const std::shared_ptr<const Node>&) {}};
  std::vector<std::string> woken_;
  std::unique_ptr<NodeWriter> writer_ = make_writer({.field_manager = "labeler", .selection = selection_, .qps = -1});

  std::unique_ptr<NodeWriter> make_writer(WriterOptions options) {
    return std::make_unique<NodeWriter>(client_, view_, clock_, std::move(options),
                                        [this](const NodeName& name) { woken_.push_back(name.str()); });
  }
  void watch_shows(const std::string& json) { view_.apply(*kube::make_node_decoder(selection_)->object(json)); }
  Outcome apply(const NodeWriter::Plan& plan = label_wanted) {
    // Waits between conflicts run on the fake clock.
    std::jthread mover([this](const std::stop_token& done) {
      while (!done.stop_requested()) {
        slept_ += clock_.advance_to_next() ? 1 : 0;
        std::this_thread::sleep_for(std::chrono::microseconds(100));
      }
    });
    return writer_->apply(n1, plan, {});
  }
  Duration wait_of(const Outcome& outcome) const {
    const auto* later = std::get_if<Later>(&outcome);
    return later == nullptr ? Duration::min() : later->due - clock_.now();
  }
  std::vector<std::string> verbs() const {
    std::vector<std::string> verbs;
    for (const auto& request : transport_.requests()) verbs.push_back(request.method);
    return verbs;
  }
  int slept_ = 0;
  // Answers after which the same may work in a while.
  const std::vector<Result<Response>> passing_ = {status(401, "Unauthorized"),
                                                  status(408, "Timeout"),
                                                  status(429, "TooManyRequests"),
                                                  status(500, "InternalError"),
                                                  status(503, "ServiceUnavailable"),
                                                  status(504, "Timeout"),
                                                  fail(ErrorCode::kUnreachable, "connection refused"),
                                                  fail(ErrorCode::kUnavailable, "connection reset"),
                                                  fail(ErrorCode::kTimeout, "no answer")};
};
using Verbs = std::vector<std::string>;

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

NodePatch heavy_and_light(const Node& node) {
  return std::move(
      NodePatch(node.name).label("why", "ornament", Weight::kOrnament).label("state", "mark", Weight::kMark).unschedulable(true));
}

TEST_F(NodeWriterAnswers, A422CostsTheOrnamentNotTheCordon) {
  watch_shows(node_json(5));
  script_ = {status(422, "Invalid"), ok(6)};
  const Outcome outcome = apply(heavy_and_light);
  ASSERT_TRUE(std::holds_alternative<Written>(outcome));
  EXPECT_TRUE(std::get<Written>(outcome).lightened);
  EXPECT_EQ(transport_.requests()[1].body, R"({"metadata":{"labels":{"state":"mark"}},"spec":{"unschedulable":true}})");
}

TEST_F(NodeWriterAnswers, ASecond422LeavesTheVitalPartAlone) {
  watch_shows(node_json(5));
  script_ = {status(422, "Invalid"), status(400, "BadRequest"), ok(6)};
  EXPECT_TRUE(std::holds_alternative<Written>(apply(heavy_and_light)));
  EXPECT_EQ(transport_.requests()[2].body, R"({"spec":{"unschedulable":true}})");
}

TEST_F(NodeWriterAnswers, TheLighterBodyIsNotForgottenWhileItWaitsForItsPlaceInTheRate) {
  writer_ = make_writer({.field_manager = "fault-quarantine", .selection = selection_, .qps = 5, .burst = 1});
  watch_shows(node_json(5));
  script_ = {status(422, "Invalid"), ok(6)};
  const Outcome first = apply(heavy_and_light);
  EXPECT_EQ(std::get<Later>(first).reason, Later::Reason::kRate);
  clock_.advance(wait_of(first));
  EXPECT_TRUE(std::holds_alternative<Written>(apply(heavy_and_light)));
  EXPECT_EQ(transport_.requests()[1].body, R"({"metadata":{"labels":{"state":"mark"}},"spec":{"unschedulable":true}})");
}

TEST_F(NodeWriterAnswers, WhatIsStillRefusedWaitsAMinuteAndIsNeverSentAgainBefore) {
  watch_shows(node_json(5));
  script_ = {status(422, "Invalid"), status(422, "Invalid"), status(422, "Invalid")};
  const Outcome outcome = apply(heavy_and_light);
  EXPECT_EQ(std::get<Later>(outcome).reason, Later::Reason::kRefused);
  EXPECT_GE(wait_of(outcome), 54s);
  EXPECT_LE(wait_of(outcome), 66s);
  watch_shows(node_json(6));     // a heartbeat
  EXPECT_TRUE(std::holds_alternative<Later>(apply(heavy_and_light)));
  EXPECT_EQ(verbs().size(), 3U);
  EXPECT_TRUE(writer_->refusals().starts_with("refused: n1: PATCH /api/v1/nodes/n1")) << writer_->refusals();
  EXPECT_TRUE(writer_->refusals().ends_with("422 Invalid: because\n")) << writer_->refusals();
}

TEST_F(NodeWriterAnswers, ARefusedWriteIsTriedAgainWhenTheNodeChanges) {
  watch_shows(node_json(5));
  script_ = {status(403, "Forbidden"), ok(7)};
  EXPECT_EQ(std::get<Later>(apply()).reason, Later::Reason::kRefused);
  watch_shows(node_json(6, R"({"other":"label"})"));
  EXPECT_TRUE(std::holds_alternative<Written>(apply()));
  EXPECT_EQ(writer_->refusals(), "");
}

TEST_F(NodeWriterAnswers, ARefusedWriteIsTriedAgainWhenThePlanChanges) {
  watch_shows(node_json(5));
  script_ = {status(403, "Forbidden"), ok(6)};
  apply();
  EXPECT_TRUE(
      std::holds_alternative<Written>(apply([](const Node& node) { return std::move(NodePatch(node.name).label("l", "2")); })));
}

TEST_F(NodeWriterAnswers, RefusalsWaitTwiceAsLongEachTimeUpToTenMinutes) {
  watch_shows(node_json(5));
  Duration before = 30s;
  for (int i = 0; i < 6; ++i) {
    script_.emplace_back(status(403, "Forbidden"));
    const Duration wait = wait_of(apply());
    EXPECT_GE(wait, std::min<Duration>(before * 3 / 2, 540s));
    EXPECT_LE(wait, 600s);
    before = wait;
    clock_.advance(wait);
  }
  EXPECT_EQ(verbs(), Verbs(6, "PATCH"));
}

TEST_F(NodeWriterAnswers, ARefusalIsToldOnceForEachNewReason) {
  std::vector<std::string> told;
  writer_ = make_writer({.field_manager = "labeler",
                         .selection = selection_,
                         .qps = -1,
                         .on_refused = [&](const NodeName& name, const std::string& why) { told.push_back(name.str() + why); }});
  watch_shows(node_json(5));
  script_ = {status(403, "Forbidden"), status(403, "Forbidden")};
  apply();
  clock_.advance(15min);
  apply();
  ASSERT_EQ(told.size(), 1U);
  EXPECT_NE(told[0].find("403 Forbidden"), std::string::npos);
}

TEST_F(NodeWriterAnswers, NothingIsSentBehindTheFence) {
  bool leads = false;
  writer_ = make_writer(
      {.field_manager = "labeler", .selection = selection_, .qps = 1, .burst = 1, .fence = {.may_write = [&] { return leads; }}});
  watch_shows(node_json(5));
  for (int i = 0; i < 3; ++i) {
    const Outcome outcome = apply();
    ASSERT_TRUE(std::holds_alternative<Later>(outcome));
    EXPECT_EQ(std::get<Later>(outcome).reason, Later::Reason::kFenced);
  }
  EXPECT_EQ(verbs(), Verbs{});
  leads = true;
  writer_->resume();
  EXPECT_EQ(woken_, std::vector<std::string>{"n1"}) << "once, and without having used up its rate";
  script_ = {ok(6)};
  EXPECT_TRUE(std::holds_alternative<Written>(apply()));
}

TEST_F(NodeWriterAnswers, ANodeThatGoesIsNotRememberedBehindTheFence) {
  writer_ = make_writer(
      {.field_manager = "labeler", .selection = selection_, .qps = -1, .fence = {.may_write = [] { return false; }}});
  watch_shows(node_json(5));
  apply();
  writer_->forget(NodeName{"n1"});
  writer_->resume();
  EXPECT_EQ(woken_, std::vector<std::string>{});
}

TEST_F(NodeWriterAnswers, TheFenceFallsBetweenAConflictAndTheNextTry) {
  bool leads = true;
  writer_ = make_writer(
      {.field_manager = "fault-quarantine", .selection = selection_, .qps = -1, .fence = {.may_write = [&] { return leads; }}});
  watch_shows(node_json(5));
  script_ = {status(409, "Conflict"), ok(6)};
  before_answer_ = [&](const Request&) { leads = false; };
  EXPECT_EQ(std::get<Later>(apply(taint_wanted)).reason, Later::Reason::kFenced);
  EXPECT_EQ(verbs(), (Verbs{"PATCH", "GET"}));
}

TEST_F(NodeWriterAnswers, TheFenceIsAskedAgainAfterCredentialsWereWaitedFor) {
  bool leads = true;
  kube::Client client(transport_, {.authorization = [&](const auto&) { return leads = false, Result<std::string>("Bearer x"); }},
                      clock_);
  NodeWriter writer(
      client, view_, clock_,
      {.field_manager = "labeler", .selection = selection_, .qps = -1, .fence = {.may_write = [&] { return leads; }}},
      [](const NodeName&) {});
  watch_shows(node_json(5));
  EXPECT_EQ(std::get<Later>(writer.apply(n1, label_wanted, {})).reason, Later::Reason::kFenced);
  EXPECT_EQ(verbs(), Verbs{});
}

TEST_F(NodeWriterAnswers, JustAfterTheLeaseWasTakenEveryBodyIsGuarded) {
  bool young = true;
  writer_ = make_writer(
      {.field_manager = "labeler", .selection = selection_, .qps = -1, .fence = {.guard_all = [&] { return young; }}});
  watch_shows(node_json(5));
  script_ = {ok(6)};
  apply();
  EXPECT_EQ(transport_.requests().back().body, R"({"metadata":{"labels":{"l":"1"},"resourceVersion":"5"}})");
}

TEST_F(NodeWriterAnswers, ALeaseTakenWhenThePlanWasMadeAlreadyGuardsThatBodyToo) {
  bool taken = false;
  writer_ = make_writer({.field_manager = "labeler",
                         .selection = selection_,
                         .qps = -1,
                         .fence = {.may_write = [&] { return taken = true; }, .guard_all = [&] { return taken; }}});
  watch_shows(node_json(5));
  script_ = {ok(6)};
  apply();
  ASSERT_EQ(verbs(), Verbs{"PATCH"});
  EXPECT_EQ(transport_.requests().back().body, R"({"metadata":{"labels":{"l":"1"},"resourceVersion":"5"}})");
}

TEST_F(NodeWriterAnswers, AFleetOfRefusedNodesIsTwentyLinesAndANumber) {
  for (int i = 0; i < 30; ++i) {
    const std::string name = fmt::format("node-{}", i);
    watch_shows(fmt::format(R"({{"metadata":{{"name":"{}","resourceVersion":"5"}}}})", name));
    script_ = {status(403, "Forbidden")};
    writer_->apply(NodeName{name}, label_wanted, {});
  }
  const std::string lines = writer_->refusals();
  EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 21);
  EXPECT_TRUE(lines.ends_with("refused: 10 more\n"));
}

TEST_F(NodeWriterAnswers, ANodeKeepsItsPlaceInTheRate) {
  writer_ = make_writer({.field_manager = "labeler", .selection = selection_, .qps = 5, .burst = 1});
  watch_shows(node_json(5));
  script_ = {ok(6), ok(7, R"({"l":"2"})")};
  EXPECT_TRUE(std::holds_alternative<Written>(apply()));
  const auto second = [](const Node& node) { return std::move(NodePatch(node.name).label("l", "2")); };
  EXPECT_EQ(wait_of(apply(second)), 200ms);
  clock_.advance(150ms);
  EXPECT_EQ(wait_of(apply(second)), 50ms) << "asking again does not go to the back of the line";
  clock_.advance(50ms);
  EXPECT_TRUE(std::holds_alternative<Written>(apply(second)));
}

TEST_F(NodeWriterAnswers, APlanThatTurnsEmptyWhileItWaitsGivesItsPlaceBack) {
  writer_ = make_writer({.field_manager = "labeler", .selection = selection_, .qps = 5, .burst = 1});
  watch_shows(node_json(5));
  script_ = {ok(6), ok(8, R"({"l":"3"})")};
  apply();
  EXPECT_EQ(wait_of(apply([](const Node& node) { return std::move(NodePatch(node.name).label("l", "2")); })), 200ms);
  EXPECT_TRUE(std::holds_alternative<Unchanged>(apply()));
  clock_.advance(200ms);
  EXPECT_TRUE(
      std::holds_alternative<Written>(apply([](const Node& node) { return std::move(NodePatch(node.name).label("l", "3")); })));
}

TEST_F(NodeWriterAnswers, AServerThatCannotBeReachedHoldsUpEveryNode) {
  watch_shows(node_json(5));
  watch_shows(R"({"metadata":{"name":"n2","resourceVersion":"5"}})");
  script_ = {fail(ErrorCode::kUnreachable, "connection refused"),
             Response{200, {}, R"({"metadata":{"name":"n2","resourceVersion":"6"}})"}};
  apply();
  const Outcome other = writer_->apply(NodeName{"n2"}, label_wanted, {});
  EXPECT_TRUE(std::holds_alternative<Later>(other)) << "one knock on a dead door is enough";
  EXPECT_EQ(verbs(), Verbs{"PATCH"});
  clock_.advance(wait_of(other));
  EXPECT_TRUE(std::holds_alternative<Written>(writer_->apply(NodeName{"n2"}, label_wanted, {})));
}

TEST_F(NodeWriterAnswers, ATimeOutDoesNotSayThatTheServerIsThereAgain) {
  watch_shows(node_json(5));
  watch_shows(R"({"metadata":{"name":"n2","resourceVersion":"5"}})");
  watch_shows(R"({"metadata":{"name":"n3","resourceVersion":"5"}})");
  const auto unreachable = fail(ErrorCode::kUnreachable, "connection refused");
  script_ = {unreachable, fail(ErrorCode::kTimeout, "no answer"), unreachable};
  apply();
  clock_.advance(110ms);
  writer_->apply(NodeName{"n2"}, label_wanted, {});
  const Outcome third = writer_->apply(NodeName{"n3"}, label_wanted, {});
  EXPECT_GT(wait_of(writer_->apply(NodeName{"n4"}, label_wanted, {})), 150ms)
      << "the second failure in a row, not the first again";
  EXPECT_EQ(std::get<Later>(third).reason, Later::Reason::kFailed);
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
