// The whole loop on an API server in memory: what is sent, what the source is told, what is counted.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "base/text.h"
#include "events/event_json.h"
#include "quarantine/fault_quarantine_fixture.h"
#include "quarantine/keys.h"

namespace nodeward::quarantine::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST_F(FaultQuarantineLoop, OneFaultIsOnePatchAndNoOtherRequest) {
  give(examples({"fatal-gpu0"}));
  EXPECT_EQ(run_to_the_end(), 0U);
  EXPECT_THAT(verbs(), ElementsAre("PATCH"));
  ASSERT_THAT(source_->settled(), SizeIs(1));
  const auto [arrived, outcome] = source_->settled()[0];
  EXPECT_EQ(arrived.position, 1U);
  EXPECT_EQ(outcome.decision, "quarantine");
  EXPECT_EQ(outcome.status, "Quarantined");
  EXPECT_THAT(outcome.rules, ElementsAre("gpu-fatal", "xid-hard-codes"));
  EXPECT_EQ(outcome.requests, 1);
  EXPECT_EQ(outcome.error, "");
  EXPECT_TRUE(api_.node("gpu-a-001")["spec"]["unschedulable"].get<bool>());
}

TEST_F(FaultQuarantineLoop, AFaultAndItsRecoveryAreTwoPatchesInOrder) {
  give(examples({"fatal-gpu0", "fatal-gpu1", "healthy-untracked", "healthy-gpu0", "healthy-check-level"}));
  EXPECT_EQ(run_to_the_end(), 0U);
  EXPECT_THAT(statuses(), ElementsAre("Quarantined", "AlreadyQuarantined", "", "AlreadyQuarantined", "UnQuarantined"));
  EXPECT_FALSE(api_.node("gpu-a-001")["spec"].value("unschedulable", false));
  EXPECT_GE(api_.writes().size(), 2U);       // as many folds as arrivals allow, but never fewer
  for (const std::string& verb : verbs()) EXPECT_EQ(verb, "PATCH");
}

TEST_F(FaultQuarantineLoop, CountsWhatAFaultAndItsReleaseDid) {
  give(examples({"fatal-gpu0"}), false);
  start();
  source_->wait_settled(1);
  runner_.request_stop();
  runner_.join();
  give(examples({"healthy-check-level"}));
  run_to_the_end();
  EXPECT_EQ(counted("events_received_total"), 2);
  EXPECT_EQ(counted("events_successfully_processed_total"), 2);
  EXPECT_EQ(counted("nodes_quarantined_total", {{"node", "gpu-a-001"}}), 1);
  EXPECT_EQ(counted("nodes_unquarantined_total", {{"node", "gpu-a-001"}}), 1);
  EXPECT_EQ(counted("cordons_applied_total"), 1);
  EXPECT_EQ(counted("cordons_removed_total"), 1);
  EXPECT_EQ(counted("taints_applied_total", {{"taint_key", "gpu.example.com/xid"}, {"taint_effect", "NoSchedule"}}), 1);
  EXPECT_EQ(counted("taints_removed_total", {{"taint_key", "gpu.example.com/fault"}, {"taint_effect", "NoSchedule"}}), 1);
  EXPECT_EQ(counted("labels_applied_total", {{"label_key", "gpu.example.com/state"}}), 1);
  EXPECT_EQ(counted("labels_removed_total", {{"label_key", "gpu.example.com/state"}}), 1);
  EXPECT_EQ(counted("ruleset_evaluations_total", {{"ruleset", "gpu-fatal"}, {"status", "passed"}}), 1);
  EXPECT_EQ(counted("ruleset_evaluations_total", {{"ruleset", "nic-fatal"}, {"status", "failed"}}), 1);
  const std::string text = registry_.text();
  EXPECT_THAT(text, HasSubstr("fault_quarantine_current_quarantined_nodes{node=\"gpu-a-001\"} 0"));
  EXPECT_THAT(text, HasSubstr("fault_quarantine_node_quarantine_duration_seconds_count 1"));
  EXPECT_THAT(text,
              HasSubstr("fault_quarantine_node_remediation_duration_seconds_count{recommended_action=\"COMPONENT_RESET\"} 1"));
  EXPECT_THAT(text, HasSubstr("fault_quarantine_event_handling_duration_seconds_count 2"));
}

TEST_F(FaultQuarantineLoop, OtherStrategiesAreReportedAndNotCounted) {
  give(examples({"store-only", "store-and-analyse"}));
  EXPECT_EQ(run_to_the_end(), 0U);
  EXPECT_THAT(statuses(), ElementsAre("", ""));
  EXPECT_EQ(source_->settled()[0].second.decision, "ignore");
  EXPECT_EQ(counted("events_received_total"), 0);
  EXPECT_THAT(verbs(), IsEmpty());
}

TEST_F(FaultQuarantineLoop, AnUnreadableEventIsCountedAndPassed) {
  auto list = examples({"fatal-gpu0"});
  list.insert(list.begin(), events::Unreadable{1, "events.jsonl:1", "no JSON"});
  give(std::move(list));
  EXPECT_EQ(run_to_the_end(), 0U);
  EXPECT_EQ(errors("unmarshal_error"), 1);
  EXPECT_THAT(statuses(), ElementsAre("Quarantined"));
}

TEST_F(FaultQuarantineLoop, NamesOfNoNodeAreFinalAndNeverAsked) {
  std::vector<HealthEvent> events;
  for (const std::string& line : split(read_file(NW_SOURCE_DIR "/tests/data/events/names.jsonl").value(), '\n')) {
    if (line.empty()) continue;
    HealthEvent event = example_event("fatal-gpu0");
    event.node_name = parse_json(line).value()["event"]["nodeName"];
    events.push_back(std::move(event));
  }
  give(deliveries(std::move(events)));
  EXPECT_EQ(run_through_time(), 0U);
  ASSERT_THAT(source_->settled(), SizeIs(8));
  for (const auto& [arrived, outcome] : source_->settled())
    EXPECT_EQ(outcome.decision, "node-not-found") << arrived.event.node_name;
  EXPECT_EQ(errors("get_node_cache_error"), 8);
  EXPECT_THAT(verbs(), IsEmpty());
}

TEST_F(FaultQuarantineLoop, ANameThatNoNodeCanHaveIsFinalAtOnce) {
  HealthEvent event = example_event("fatal-gpu0");
  event.node_name = "GPU-A-001";
  give(deliveries({event}));
  EXPECT_EQ(run_to_the_end(), 0U);           // the clock stands still
  EXPECT_EQ(source_->settled()[0].second.decision, "node-not-found");
}

TEST_F(FaultQuarantineLoop, AnUnknownNodeIsWaitedForAMinute) {
  HealthEvent early = example_event("fatal-gpu0");
  early.node_name = "late-node";
  give(deliveries({early, example_event("fatal-gpu0")}), false);
  start();
  source_->wait_settled(1);
  EXPECT_EQ(source_->settled()[0].first.event.node_name, "gpu-a-001");
  Json node = example_node("gpu-a-001");
  node["metadata"]["name"] = "late-node";
  node["metadata"].erase("uid");
  api_.put(node);
  source_->wait_settled(2);
  EXPECT_THAT(statuses(), ElementsAre("Quarantined", "Quarantined"));
}

TEST_F(FaultQuarantineLoop, ANodeThatNeverComesIsFinalAfterAMinute) {
  HealthEvent ghost = example_event("fatal-gpu0");
  ghost.node_name = "ghost-001";
  give(deliveries({ghost}));
  const MonoTime before = clock_.now();
  EXPECT_EQ(run_through_time(), 0U);
  EXPECT_GE(clock_.now() - before, 60s);
  EXPECT_LT(clock_.now() - before, 5min);
  EXPECT_EQ(source_->settled()[0].second.decision, "node-not-found");
  EXPECT_EQ(errors("get_node_cache_error"), 1);
  EXPECT_THAT(verbs(), IsEmpty());
}

TEST_F(FaultQuarantineLoop, AWriteThatIsNotAllowedIsReportedAndLeft) {
  api_.intercept([](const net::Request&) { return std::optional(status_answer(403, "Forbidden")); });
  give(examples({"fatal-gpu0", "fatal-gpu1"}));
  EXPECT_EQ(run_through_time(), 2U);
  ASSERT_THAT(source_->settled(), SizeIs(2));
  EXPECT_EQ(source_->settled()[0].second.decision, "refused");
  EXPECT_THAT(source_->settled()[0].second.error, HasSubstr("403"));
  EXPECT_EQ(source_->settled()[0].second.status, "");
  EXPECT_EQ(errors("taint_and_cordon_error"), 1);
  EXPECT_LE(api_.writes().size(), 4U);       // three, and another if the second event came after the first was refused
}

// As one that has just come up refuses everybody.
TEST_F(FaultQuarantineLoop, AServerThatRefusesTwiceIsWaitedForAlsoAtTheSourcesEnd) {
  api_.intercept([times = std::make_shared<int>(2)](const net::Request&) -> std::optional<net::Response> {
    if (--*times < 0) return std::nullopt;
    return status_answer(403, "Forbidden");
  });
  give(examples({"fatal-gpu0"}));
  EXPECT_EQ(run_through_time(), 0U);
  EXPECT_THAT(statuses(), ElementsAre("Quarantined"));
}

TEST_F(FaultQuarantineLoop, ARefusedLabelCostsNeitherTaintNorCordonR07) {
  api_.intercept([](const net::Request& request) -> std::optional<net::Response> {
    const Json body = parse_json(request.body).value();
    if (body["metadata"].contains("labels")) return status_answer(422, "Invalid");
    return std::nullopt;
  });
  give(examples({"fatal-gpu0"}));
  EXPECT_EQ(run_to_the_end(), 0U);
  EXPECT_THAT(statuses(), ElementsAre("Quarantined"));
  EXPECT_TRUE(api_.node("gpu-a-001")["spec"]["unschedulable"].get<bool>());
  EXPECT_THAT(api_.node("gpu-a-001")["spec"]["taints"], SizeIs(2));
  EXPECT_LE(api_.writes().size(), 3U);
  EXPECT_EQ(source_->settled()[0].second.requests, static_cast<int>(api_.writes().size()));
}

TEST_F(FaultQuarantineLoop, AConflictPlansAgainAndKeepsTheForeignTaint) {
  int conflicts = 0;
  api_.intercept([&](const net::Request& request) -> std::optional<net::Response> {
    if (request.method != "PATCH" || conflicts++ > 0) return std::nullopt;
    Json node = api_.node("gpu-a-001");
    node["spec"]["taints"] = {
        {{"key", "node.kubernetes.io/not-ready"}, {"effect", "NoExecute"}, {"timeAdded", "2026-09-01T07:00:00Z"}}};
    api_.put(node);
    return std::nullopt;                     // the server itself finds the stale version
  });
  give(examples({"fatal-gpu0"}));
  EXPECT_EQ(run_to_the_end(), 0U);
  EXPECT_THAT(statuses(), ElementsAre("Quarantined"));
  const Json taints = api_.node("gpu-a-001")["spec"]["taints"];
  ASSERT_THAT(taints, SizeIs(3));
  EXPECT_EQ(taints[0]["timeAdded"], "2026-09-01T07:00:00Z");
}

TEST_F(FaultQuarantineLoop, AFailingServerIsAskedAgainUntilItAnswers) {
  std::atomic<int> failures = 3;
  api_.intercept([&](const net::Request&) { return failures-- > 0 ? std::optional(status_answer(503)) : std::nullopt; });
  give(examples({"fatal-gpu0"}));
  EXPECT_EQ(run_through_time(), 0U);
  EXPECT_THAT(statuses(), ElementsAre("Quarantined"));
}

TEST_F(FaultQuarantineLoop, WhatStillWaitsFiveMinutesAfterTheEndIsReported) {
  api_.intercept([](const net::Request&) { return std::optional(status_answer(503)); });
  give(examples({"fatal-gpu0"}));
  EXPECT_EQ(run_through_time(), 1U);
  EXPECT_EQ(source_->settled()[0].second.decision, "waiting");
  EXPECT_THAT(source_->settled()[0].second.error, HasSubstr("503"));
}

TEST_F(FaultQuarantineLoop, WhatASourceGaveBeforeItFailedIsDone) {
  give(examples({"fatal-gpu0"}));
  source_->fails_at_its_end();
  FaultQuarantine loop(client_, *source_, judge_by(example_rules()), options_, registry_, clock_);
  const auto ended = loop.run({});
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().message, "the store is gone");
  EXPECT_THAT(statuses(), ElementsAre("Quarantined"));
}

TEST_F(FaultQuarantineLoop, ANodeThatTheServerDoesNotKnowCostsTheRequestThatIsReported) {
  api_.intercept([](const net::Request&) { return std::optional(status_answer(404, "NotFound")); });
  give(examples({"fatal-gpu0"}));
  EXPECT_EQ(run_to_the_end(), 0U);
  EXPECT_EQ(source_->settled()[0].second.decision, "node-not-found");
  EXPECT_EQ(source_->settled()[0].second.requests, 1);
}

TEST_F(FaultQuarantineLoop, AnUnreadableAnnotationIsToldOnceHoweverManyEventsCome) {
  Json node = example_node("gpu-a-001");
  node["metadata"]["annotations"][std::string(kEvents)] = "no record";
  api_.put(node);
  const std::vector<HealthEvent> events(250, example_event("healthy-untracked"));   // three plans at least
  ::testing::internal::CaptureStderr();
  for (int round = 1; round <= 3; ++round) {
    give(deliveries(events));
    loop_ = std::make_unique<FaultQuarantine>(client_, *source_, judge_by(rules_), options_, registry_, clock_);
    EXPECT_EQ(loop_->run({}).value(), 0U);
  }
  const std::string log = ::testing::internal::GetCapturedStderr();
  std::size_t lines = 0;
  for (const std::string& line : split(log, '\n')) lines += line.find("counts as empty") != std::string::npos ? 1 : 0;
  EXPECT_EQ(lines, 3U) << "one for each process";
}

TEST_F(FaultQuarantineLoop, AStopReportsNothing) {
  api_.intercept([](const net::Request&) { return std::optional(status_answer(503)); });
  give(examples({"fatal-gpu0"}), false);
  start();
  while (api_.writes().empty()) std::this_thread::yield();
  runner_.request_stop();
  runner_.join();
  EXPECT_EQ(left_, 0U);
  EXPECT_THAT(source_->settled(), IsEmpty());
}

TEST_F(FaultQuarantineLoop, PrintOnlySendsNothingAndJudgesAsIfItHad) {
  std::vector<std::string> printed;
  options_.print_only = [&](const kube::NodeName& node, std::string_view body) {
    printed.push_back(fmt::format("{} {}", node.str(), body));
  };
  give(examples({"fatal-gpu0", "healthy-check-level"}));
  EXPECT_EQ(run_to_the_end(), 0U);
  EXPECT_THAT(statuses(), ElementsAre("Quarantined", "UnQuarantined"));
  ASSERT_THAT(printed, SizeIs(2));
  EXPECT_THAT(printed[0], HasSubstr(R"("unschedulable":true)"));
  EXPECT_THAT(printed[1], HasSubstr(R"("unschedulable":false)"));
  EXPECT_THAT(verbs(), IsEmpty());
}

TEST_F(FaultQuarantineLoop, TheGaugeKnowsNodesQuarantinedBeforeTheStartAndForgetsDeletedOnes) {
  api_.put(example_node("gpu-a-003"));
  give(examples({"fatal-gpu0"}), false);
  start();
  source_->wait_settled(1);
  EXPECT_THAT(registry_.text(), HasSubstr("current_quarantined_nodes{node=\"gpu-a-003\"} 1"));
  api_.remove("gpu-a-003");
  while (registry_.text().find("gpu-a-003") != std::string::npos) std::this_thread::yield();
}

TEST_F(FaultQuarantineLoop, ReadinessSaysThatTheNodesCannotBeReadNow) {
  api_.hide_nodes(true);
  give({}, false);
  start();
  while (loop_->readiness().text == "not read yet: nodes\n") std::this_thread::yield();
  EXPECT_THAT(loop_->readiness().text, ::testing::StartsWith("not read yet: nodes\ncannot be read now: nodes: "));
}

TEST_F(FaultQuarantineLoop, TenThousandEventsOfOneNodeAreAFewWrites) {
  std::vector<HealthEvent> storm(10'000, example_event("fatal-gpu0"));
  for (std::size_t i = 0; i < storm.size(); ++i) storm[i].id = fmt::format("row-{}", i);
  give(deliveries(std::move(storm)));
  EXPECT_EQ(run_to_the_end(), 0U);
  EXPECT_THAT(source_->settled(), SizeIs(10'000));
  EXPECT_THAT(verbs(), ElementsAre("PATCH"));
  const auto settled = source_->settled();
  for (std::size_t i = 0; i < settled.size(); ++i) ASSERT_EQ(settled[i].first.position, i + 1);     // in order
}

}  // namespace
}  // namespace nodeward::quarantine::testing
