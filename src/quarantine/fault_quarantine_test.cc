// The whole loop on an API server in memory: what is sent, what the source is told, what is counted.
#include "quarantine/fault_quarantine.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <future>
#include <mutex>
#include <thread>

#include "base/fake_clock.h"
#include "base/json.h"
#include "base/text.h"
#include "events/event_json.h"
#include "quarantine/keys.h"
#include "quarantine/memory_api_fixture.h"
#include "quarantine/scenario.h"

namespace nodeward::quarantine::testing {
namespace {

using events::Arrived;
using events::HealthEvent;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Gives what it was given, then the end; or, while open, waits.
class ListedSource final : public events::Source {
 public:
  explicit ListedSource(std::vector<events::Delivery> deliveries, bool ends = true)
      : deliveries_(std::move(deliveries)), ends_(ends) {}

  Result<events::Delivery> next(const std::stop_token& stop) override {
    if (at_ == 0) before_the_first();
    if (at_ < deliveries_.size()) return deliveries_[at_++];
    std::unique_lock lock(mutex_);
    if (!ends_) changed_.wait(lock, stop, [] { return false; });
    if (fails_) return fail(ErrorCode::kUnavailable, "the store is gone");
    return events::End{};
  }
  void settle(const Arrived& arrived, const events::Outcome& outcome) override {
    const std::lock_guard lock(mutex_);
    settled_.emplace_back(arrived, outcome);
    changed_.notify_all();
  }
  std::function<void()> before_the_first = [] {};
  void fails_at_its_end() { fails_ = true; }
  void wait_settled(std::size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return settled_.size() >= count; });
  }
  std::vector<std::pair<Arrived, events::Outcome>> settled() const {
    const std::lock_guard lock(mutex_);
    return settled_;
  }

 private:
  const std::vector<events::Delivery> deliveries_;
  const bool ends_;
  bool fails_ = false;
  std::size_t at_ = 0;
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  std::vector<std::pair<Arrived, events::Outcome>> settled_;
};

std::vector<events::Delivery> deliveries(std::vector<HealthEvent> events) {
  std::vector<events::Delivery> all;
  for (HealthEvent& event : events) all.emplace_back(Arrived{all.size() + 1, std::move(event)});
  return all;
}
std::vector<events::Delivery> examples(std::initializer_list<std::string_view> names) {
  std::vector<HealthEvent> events;
  for (const std::string_view name : names) events.push_back(example_event(name));
  return deliveries(std::move(events));
}

class FaultQuarantineLoop : public ::testing::Test {
 protected:
  FaultQuarantineLoop() {
    api_.put(example_node("gpu-a-001"));
    for (const Rule& rule : example_rules()) options_.rule_sets.push_back(rule.name);
    options_.quarantine.label_prefix = "ops.example.com/";
    const std::vector<std::string> label_keys = {"gpu.example.com/state", "ops.example.com/replace"};
    options_.selection = own_selection(options_.quarantine, label_keys);
    options_.workers = 4;
  }
  void give(std::vector<events::Delivery> list, bool ends = true) {
    source_ = std::make_unique<ListedSource>(std::move(list), ends);
  }
  void start() {
    loop_ = std::make_unique<FaultQuarantine>(client_, *source_, judge_by(rules_), options_, registry_, clock_);
    runner_ = std::jthread([this](const std::stop_token& stop) { left_ = loop_->run(stop).value(); });
  }
  std::size_t run_to_the_end() {
    start();
    runner_.join();
    return left_;
  }
  // Until the loop ends, time runs at 250 times its speed.
  std::size_t run_through_time() {
    start();
    std::jthread mover([this](const std::stop_token& done) {
      while (!done.stop_requested()) {
        clock_.advance(250ms);
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
    });
    runner_.join();
    return left_;
  }
  std::vector<std::string> verbs() const {
    std::vector<std::string> found;
    for (const net::Request& request : api_.writes()) found.push_back(request.method);
    return found;
  }
  std::vector<std::string> statuses() const {
    std::vector<std::string> found;
    for (const auto& [arrived, outcome] : source_->settled()) found.push_back(outcome.status);
    return found;
  }
  double counted(const std::string& name, const telemetry::MetricLabels& labels = {}) {
    std::vector<std::string> keys;
    for (const auto& [key, value] : labels) keys.push_back(key);
    return registry_.counter("fault_quarantine_" + name, "", keys).value(labels);
  }
  double errors(const std::string& type) { return counted("processing_errors_total", {{"error_type", type}}); }

  void pass(Duration time) {
    for (const MonoTime end = clock_.now() + time; clock_.now() < end; clock_.advance(250ms)) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  // The events come while the nodes cannot be read; `meanwhile` changes them, and then they can be read again.
  void run_out_of_sight(std::vector<HealthEvent> events, const std::function<void()>& meanwhile) {
    const std::size_t count = events.size();
    give(deliveries(std::move(events)), false);
    std::promise<void> out_of_sight;
    source_->before_the_first = [&] {
      while (!loop_->readiness().ready) pass(1s);
      api_.hide_nodes(true);
      while (loop_->readiness().text == "ok") pass(1s);
      meanwhile();
      out_of_sight.set_value();
    };
    start();
    out_of_sight.get_future().wait();
    pass(100s);
    settled_out_of_sight_ = source_->settled().size();
    api_.hide_nodes(false);
    for (int i = 0; i < 1000 && source_->settled().size() < count; ++i) pass(1s);
  }
  Json unmanaged_node() const {
    Json node = api_.node("gpu-a-001");
    node["metadata"]["labels"][kManaged] = "false";
    return node;
  }
  void manage(Json node) {
    node["metadata"]["labels"].erase(kManaged);
    api_.put(std::move(node));
  }

  static constexpr auto kManaged = "nvsentinel.dgxc.nvidia.com/managed";
  std::vector<Rule> rules_ = example_rules();
  std::size_t settled_out_of_sight_ = 0;
  FakeClock clock_;
  MemoryApi api_;
  kube::Client client_{api_, {}, clock_};
  telemetry::Metrics registry_;
  FaultQuarantineOptions options_;
  std::unique_ptr<ListedSource> source_;
  std::unique_ptr<FaultQuarantine> loop_;
  std::size_t left_ = 0;
  std::jthread runner_;                  // last: ends before what it uses
};

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

// What is known of them may be old by then: here the label that spared one node is gone, and the other has come.
TEST_F(FaultQuarantineLoop, NoEventIsDismissedWhileTheNodesCannotBeRead) {
  options_.selection.labels.keys.emplace_back(kManaged);
  api_.put(unmanaged_node());
  HealthEvent spared = example_event("fatal-gpu0");
  spared.error_codes = {"31"};
  HealthEvent early = spared;
  early.node_name = "late-node";
  run_out_of_sight({spared, early}, [&] {
    Json late = example_node("gpu-a-001");
    late["metadata"]["name"] = "late-node";
    late["metadata"].erase("uid");
    api_.put(late);
    manage(api_.node("gpu-a-001"));
  });
  EXPECT_EQ(settled_out_of_sight_, 0U);
  EXPECT_THAT(statuses(), ElementsAre("Quarantined", "Quarantined"));
}

// An operator frees the node while nobody sees it, and the same fault comes again.
TEST_F(FaultQuarantineLoop, NoEventIsSettledByAQuarantineThatMayBeGone) {
  give(examples({"fatal-gpu0"}));
  ASSERT_EQ(run_to_the_end(), 0U);
  HealthEvent again = example_event("fatal-gpu0");
  again.id = "again";
  run_out_of_sight({again}, [&] {
    Json free = example_node("gpu-a-001");
    free["metadata"]["uid"] = api_.node("gpu-a-001")["metadata"]["uid"];
    api_.put(free);
  });
  EXPECT_EQ(settled_out_of_sight_, 0U);
  EXPECT_THAT(statuses(), ElementsAre("Quarantined"));
  EXPECT_EQ(api_.node("gpu-a-001")["spec"]["unschedulable"], true);
}

TEST_F(FaultQuarantineLoop, WhatWaitedOutOfSightIsSettledOnceTheNodesAreSeenAgain) {
  HealthEvent unwanted = example_event("fatal-gpu0");
  unwanted.agent = "nobody";
  unwanted.error_codes = {"31"};
  run_out_of_sight({unwanted}, [] {});
  EXPECT_EQ(settled_out_of_sight_, 0U);
  EXPECT_THAT(source_->settled(), SizeIs(1));
}

// A cordon alone names no version and would get through whatever the node has become.
TEST_F(FaultQuarantineLoop, AWriteOutOfSightNamesItsVersionAndSoDismissesNothingByWhatWas) {
  options_.selection.labels.keys.emplace_back(kManaged);
  rules_.push_back({.name = "cordon-only", .when = [](const auto& e, const auto&) { return e.id == "cordon"; }, .cordon = true});
  api_.put(unmanaged_node());
  HealthEvent spared = example_event("fatal-gpu0");
  spared.error_codes = {"31"};
  HealthEvent cordon = spared;
  cordon.id = "cordon";
  cordon.check_name = "AnotherCheck";
  run_out_of_sight({spared, cordon}, [&] { manage(api_.node("gpu-a-001")); });
  EXPECT_THAT(statuses(), ElementsAre("Quarantined", "AlreadyQuarantined"));
}

TEST_F(FaultQuarantineLoop, BeforeTheNodesAreReadNoNodeIsUnknown) {
  api_.cannot_be_read_until(clock_, clock_.now() + 150s);    // longer than an unknown node is waited for
  give(examples({"fatal-gpu0"}));
  EXPECT_EQ(run_through_time(), 0U);
  EXPECT_THAT(statuses(), ElementsAre("Quarantined"));
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
