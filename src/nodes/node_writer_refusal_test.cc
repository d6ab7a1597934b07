// What the server refuses (400, 403, 422): first the ornament goes, then the mark, then it waits and is told.
#include <algorithm>

#include "nodes/node_writer_fixture.h"

namespace nodeward::nodes {
namespace {

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
  script_ = {status(422, "Invalid"), ok(7)};
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
    script_.emplace_back(status(422, "Invalid"));
    const Duration wait = wait_of(apply());
    EXPECT_GE(wait, std::min<Duration>(before * 3 / 2, 540s));
    EXPECT_LE(wait, 600s);
    before = wait;
    clock_.advance(wait);
  }
  EXPECT_EQ(verbs(), Verbs(6, "PATCH"));
}

TEST_F(NodeWriterAnswers, A403MayBeThatOfAServerThatHasJustComeUpAndIsTriedAgainSoonThenAtLongIntervals) {
  watch_shows(node_json(5));
  for (const Duration wanted : {1s, 4s, 16s, 64s, 256s, 600s, 600s}) {
    script_.emplace_back(status(403, "Forbidden"));
    const Duration wait = wait_of(apply());
    EXPECT_GE(wait, wanted * 9 / 10);
    EXPECT_LE(wait, std::min<Duration>(wanted * 11 / 10, 600s));
    clock_.advance(wait);
  }
  EXPECT_EQ(verbs(), Verbs(7, "PATCH"));
}

TEST_F(NodeWriterAnswers, ARefusalIsToldOnceForEachNewReasonOncePassingIsOutOfTheQuestion) {
  std::vector<std::string> told;
  writer_ = make_writer({.field_manager = "labeler",
                         .selection = selection_,
                         .qps = -1,
                         .on_refused = [&](const NodeName& name, const std::string& why) { told.push_back(name.str() + why); }});
  watch_shows(node_json(5));
  for (const auto reason : {Later::Reason::kFailed, Later::Reason::kFailed, Later::Reason::kRefused, Later::Reason::kRefused}) {
    script_ = {status(403, "Forbidden")};
    EXPECT_EQ(std::get<Later>(apply()).reason, reason);
    EXPECT_EQ(std::get<Later>(apply()).reason, reason) << "again before it is due";
    EXPECT_EQ(told.size(), reason == Later::Reason::kRefused ? 1U : 0U);
    clock_.advance(15min);
  }
  EXPECT_NE(told[0].find("403 Forbidden"), std::string::npos);
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

}  // namespace
}  // namespace nodeward::nodes
