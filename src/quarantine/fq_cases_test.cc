// The acceptance rows of fault-quarantine's specification (section 18), numbered as there, on the pure core: events and a node
// in, a patch and statuses out.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>

#include "quarantine/keys.h"
#include "quarantine/scenario.h"

namespace nodeward::quarantine::testing {
namespace {

using events::Entity;
using events::HealthEvent;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::string_view kA1 = "gpu-a-001";
constexpr auto kFault = "gpu.example.com/fault=fatal:NoSchedule, gpu.example.com/xid=hard:NoSchedule";

std::string p(std::string_view suffix) { return "ops.example.com/" + std::string(suffix); }

HealthEvent changed(HealthEvent event, const std::function<void(HealthEvent&)>& change) {
  change(event);
  return event;
}
HealthEvent healthy(HealthEvent failure) {
  return changed(std::move(failure), [](HealthEvent& event) {
    event.is_healthy = true;
    event.is_fatal = false;
    event.recommended_action = 0;
    event.id = "healthy-row";
  });
}
std::vector<std::string> ids(const std::vector<HealthEvent>& events) {
  std::vector<std::string> found;
  for (const HealthEvent& event : events) found.push_back(event.id);
  return found;
}

class FqCase : public ::testing::Test {
 protected:
  Scenario given(std::string_view node, std::initializer_list<std::string_view> before = {}) {
    Scenario scenario;
    scenario.add(example_node(node));
    for (const std::string_view event : before) scenario.send(event);
    scenario.writes();
    scenario.judgements();
    return scenario;
  }
};
using FqCase01 = FqCase;
using FqCase02 = FqCase;
using FqCase03 = FqCase;
using FqCase04 = FqCase;
using FqCase05 = FqCase;
using FqCase06 = FqCase;
using FqCase07 = FqCase;
using FqCase08 = FqCase;
using FqCase09 = FqCase;
using FqCase10 = FqCase;
using FqCase11 = FqCase;
using FqCase12 = FqCase;
using FqCase13 = FqCase;
using FqCase14 = FqCase;
using FqCase15 = FqCase;
using FqCase16 = FqCase;
using FqCase17 = FqCase;
using FqCase18 = FqCase;
using FqCase19 = FqCase;
using FqCase20 = FqCase;
using FqCase21 = FqCase;
using FqCase22 = FqCase;
using FqCase23 = FqCase;
using FqCase24 = FqCase;
using FqCase25 = FqCase;
using FqCase26 = FqCase;
using FqCase27 = FqCase;
using FqCase28 = FqCase;
using FqCase29 = FqCase;
using FqCase30 = FqCase;
using FqCase31 = FqCase;
using FqCase38 = FqCase;
using FqCase40 = FqCase;
using FqCase41 = FqCase;

TEST_F(FqCase01, AFatalEventQuarantinesACleanNodeInOneWrite) {
  Scenario s = given(kA1);
  EXPECT_EQ(s.send("fatal-gpu0"), "Quarantined");
  EXPECT_EQ(s.writes(), 1);
  EXPECT_TRUE(s.unschedulable(kA1));
  EXPECT_EQ(s.taints(kA1), kFault);
  EXPECT_EQ(s.label(kA1, p("cordon-by")), "NVSentinel");
  EXPECT_EQ(s.label(kA1, p("cordon-reason")), "gpu-fatal-xid-hard-codes");
  EXPECT_EQ(s.label(kA1, p("cordon-timestamp")), "2026-08-31T10-00-02Z");
  EXPECT_EQ(s.label(kA1, "gpu.example.com/state"), "fatal");
  EXPECT_EQ(s.label(kA1, "dgxc.nvidia.com/nvsentinel-state"), "quarantined");
  // As other programs of the family write and read it, byte for byte.
  EXPECT_EQ(
      s.annotation(kA1, "quarantineHealthEvent"),
      R"([{"version":1,"agent":"gpu-health-monitor","componentClass":"GPU","checkName":"GpuXidError","isFatal":true,)"
      R"("message":"Hard fault code 79 on GPU 0","recommendedAction":2,"errorCode":["79"],)"
      R"("entitiesImpacted":[{"entityType":"GPU","entityValue":"0"}],"metadata":{"trace_id":"7e3c38fbfebf806006fddcd473e06800"},)"
      R"("generatedTimestamp":{"seconds":1788170400,"nanos":120000000},"nodeName":"gpu-a-001","processingStrategy":1,)"
      R"("id":"64c66bba-e9a6-390d-9eff-122bc1bcd116"}])");
  EXPECT_EQ(s.annotation(kA1, "quarantineHealthEventAppliedTaints"),
            R"([{"key":"gpu.example.com/fault","value":"fatal","effect":"NoSchedule","preExisting":false},)"
            R"({"key":"gpu.example.com/xid","value":"hard","effect":"NoSchedule","preExisting":false}])");
  EXPECT_EQ(s.annotation(kA1, "quarantineHealthEventAppliedLabels"),
            R"([{"key":"gpu.example.com/state","value":"fatal","priority":100}])");
  EXPECT_EQ(s.annotation(kA1, "quarantineHealthEventIsCordoned"), "True");
  EXPECT_FALSE(s.annotation(kA1, "quarantineHealthEventCordonPreExisting"));
}

TEST_F(FqCase01, NewTaintsComeAfterThoseThatAreThere) {
  Scenario s;
  Json node = example_node(kA1);
  node["spec"]["taints"] = {{{"key", "dedicated"}, {"value", "x"}, {"effect", "NoSchedule"}}};
  s.add(node);
  s.send("fatal-gpu0");
  EXPECT_EQ(s.taints(kA1), std::string("dedicated=x:NoSchedule, ") + kFault);
}

TEST_F(FqCase02, ASecondFailureIsAddedInOrderOfArrival) {
  Scenario s = given(kA1, {"fatal-gpu0"});
  const Json spec = s.node(kA1)["spec"];
  EXPECT_EQ(s.send("fatal-gpu1"), "AlreadyQuarantined");
  EXPECT_EQ(s.writes(), 1);
  EXPECT_THAT(ids(s.tracked(kA1)), ElementsAre("64c66bba-e9a6-390d-9eff-122bc1bcd116", "524b9340-53ea-e242-90fd-648dc70ad840"));
  EXPECT_EQ(s.node(kA1)["spec"], spec);
}

TEST_F(FqCase03, TheSameFailureAgainWritesNothing) {
  Scenario s = given(kA1, {"fatal-gpu0"});
  EXPECT_EQ(s.send("fatal-gpu0-again"), "AlreadyQuarantined");
  EXPECT_EQ(s.writes(), 0);
}

TEST_F(FqCase04, AnEscalationReplacesTheStoredEventAndAddsItsLabel) {
  Scenario s = given(kA1, {"fatal-gpu0"});
  EXPECT_EQ(s.send("fatal-gpu0-escalated"), "AlreadyQuarantined");
  EXPECT_EQ(s.writes(), 1);
  const auto tracked = s.tracked(kA1);
  ASSERT_EQ(tracked.size(), 1U);
  EXPECT_EQ(tracked[0].recommended_action, 24);
  EXPECT_EQ(tracked[0].id, "e88caf57-de2e-2727-8ee6-8bc9d0771eb0");
  EXPECT_EQ(s.label(kA1, p("replace")), "requested");
  EXPECT_EQ(s.annotation(kA1, kAppliedLabels),
            R"([{"key":"gpu.example.com/state","value":"fatal","priority":100},)"
            R"({"key":"ops.example.com/replace","value":"requested","priority":70,"order":7}])");
}

TEST_F(FqCase05, AWeakerRuleAddsItsTaintAndLeavesTheStrongerLabel) {
  Scenario s = given(kA1, {"fatal-gpu0"});
  EXPECT_EQ(s.send("soft-thermal"), "AlreadyQuarantined");
  EXPECT_EQ(s.writes(), 1);
  EXPECT_EQ(s.label(kA1, "gpu.example.com/state"), "fatal");
  EXPECT_EQ(s.tracked(kA1).size(), 2U);
  EXPECT_EQ(s.taints(kA1), std::string(kFault) + ", gpu.example.com/soft=degraded:PreferNoSchedule");
  EXPECT_TRUE(
      s.annotation(kA1, kAppliedTaints)
          ->ends_with(R"({"key":"gpu.example.com/soft","value":"degraded","effect":"PreferNoSchedule","preExisting":false}])"));
}

TEST_F(FqCase06, ARecoveryOfWhatIsNotTrackedWritesNothing) {
  Scenario s = given(kA1, {"fatal-gpu0"});
  EXPECT_EQ(s.send("healthy-untracked"), "-");
  EXPECT_EQ(s.writes(), 0);
}

TEST_F(FqCase07, APartialRecoveryKeepsTheMarks) {
  Scenario s = given(kA1, {"fatal-gpu0", "fatal-gpu1"});
  const Json before = s.node(kA1);
  EXPECT_EQ(s.send("healthy-gpu0"), "AlreadyQuarantined");
  EXPECT_EQ(s.writes(), 1);
  EXPECT_THAT(ids(s.tracked(kA1)), ElementsAre("524b9340-53ea-e242-90fd-648dc70ad840"));
  EXPECT_EQ(s.node(kA1)["spec"], before["spec"]);
  EXPECT_EQ(s.node(kA1)["metadata"]["labels"], before["metadata"]["labels"]);
}

TEST_F(FqCase08, ACheckLevelRecoveryReleasesInOneWrite) {
  Scenario s;
  Json node = example_node(kA1);
  node["spec"]["taints"] = {
      {{"key", "node.kubernetes.io/unschedulable"}, {"effect", "NoSchedule"}, {"timeAdded", "2026-08-31T08:30:00Z"}}};
  s.add(node);
  s.send("fatal-gpu0");
  s.send("fatal-gpu1");
  s.writes();
  EXPECT_EQ(s.send("healthy-check-level"), "UnQuarantined");
  EXPECT_EQ(s.writes(), 1);
  EXPECT_FALSE(s.unschedulable(kA1));
  EXPECT_EQ(s.node(kA1)["spec"]["taints"], node["spec"]["taints"]);
  EXPECT_THAT(s.traces(kA1), IsEmpty());
  EXPECT_FALSE(s.label(kA1, "gpu.example.com/state"));
  EXPECT_EQ(s.label(kA1, p("uncordon-by")), "NVSentinel");
  EXPECT_EQ(s.label(kA1, p("uncordon-reason")), "gpu-fatal-xid-hard-codes-removed");
  EXPECT_EQ(s.label(kA1, p("uncordon-timestamp")), "2026-08-31T10-00-02Z");
}

TEST_F(FqCase09, ARecoveryOnACleanNodeWritesNothing) {
  Scenario s = given(kA1);
  EXPECT_EQ(s.send("healthy-check-level"), "-");
  EXPECT_EQ(s.writes(), 0);
}

TEST_F(FqCase10, ARecoveryAheadOfItsFailureDoesNotHoldItBack) {
  Scenario s = given(kA1);
  EXPECT_EQ(s.send({example_event("healthy-gpu0"), example_event("fatal-gpu0")}), "-, Quarantined");
  EXPECT_TRUE(s.unschedulable(kA1));
}

TEST_F(FqCase11, AnEventThatNoRuleWantsWritesNothing) {
  Scenario s = given(kA1);
  EXPECT_EQ(s.send({changed(example_event("fatal-gpu0"),
                            [](HealthEvent& event) {
                              event.is_fatal = false;
                              event.error_codes.reset();
                            })}),
            "-");
  EXPECT_EQ(s.writes(), 0);
}

TEST_F(FqCase12, AnOperatorsCordonIsRecordedAsPreExisting) {
  Scenario s = given("gpu-a-002");
  EXPECT_EQ(s.send("multi-entity-precordoned"), "Quarantined");
  EXPECT_EQ(s.writes(), 1);
  EXPECT_TRUE(s.unschedulable("gpu-a-002"));
  EXPECT_EQ(s.taints("gpu-a-002"), "node.kubernetes.io/unschedulable=:NoSchedule, gpu.example.com/xid=hard:NoSchedule");
  EXPECT_EQ(s.annotation("gpu-a-002", kCordonPreExisting), "True");
  EXPECT_EQ(s.annotation("gpu-a-002", kIsCordoned), "True");
  for (const auto* suffix : {"cordon-by", "cordon-reason", "cordon-timestamp"})
    EXPECT_FALSE(s.label("gpu-a-002", p(suffix))) << suffix;
  EXPECT_EQ(s.label("gpu-a-002", kState), "quarantined");
  ASSERT_EQ(s.tracked("gpu-a-002").size(), 1U);
  EXPECT_EQ(s.tracked("gpu-a-002")[0].entities->size(), 2U);
}

TEST_F(FqCase13, OneOfTwoEntitiesRecoversForGood) {
  Scenario s = given("gpu-a-002", {"multi-entity-precordoned"});
  EXPECT_EQ(s.send("multi-entity-half-healthy"), "AlreadyQuarantined");
  ASSERT_EQ(s.tracked("gpu-a-002").size(), 1U);
  EXPECT_EQ(s.tracked("gpu-a-002")[0].entities,
            (std::vector<Entity>(1, Entity{"GPUID", "GPU-1f0c2d3e-0000-4a4a-8b8b-00000000a002"})));
}

TEST_F(FqCase14, TheOtherEntityReleasesAndLeavesTheOperatorsCordon) {
  Scenario s = given("gpu-a-002", {"multi-entity-precordoned", "multi-entity-half-healthy"});
  const auto last = changed(example_event("multi-entity-half-healthy"), [](HealthEvent& event) {
    event.entities = std::vector<Entity>(1, Entity{"GPUID", "GPU-1f0c2d3e-0000-4a4a-8b8b-00000000a002"});
  });
  EXPECT_EQ(s.send({last}), "UnQuarantined");
  EXPECT_EQ(s.writes(), 1);
  EXPECT_TRUE(s.unschedulable("gpu-a-002"));
  EXPECT_THAT(s.traces("gpu-a-002"), IsEmpty());
  for (const auto* suffix : {"uncordon-by", "uncordon-reason", "uncordon-timestamp"})
    EXPECT_FALSE(s.label("gpu-a-002", p(suffix))) << suffix;
  EXPECT_EQ(s.label("gpu-a-002", p("maintenance-ticket")), "T-1042");
  EXPECT_EQ(s.taints("gpu-a-002"), "node.kubernetes.io/unschedulable=:NoSchedule");
}

HealthEvent fatal_on_b2() {
  return changed(example_event("fatal-gpu0"), [](HealthEvent& event) {
    event.node_name = "gpu-b-002";
    event.error_codes.reset();
  });
}

TEST_F(FqCase15, ATaintThatWasThereIsMarkedAndAnOldManualMarkGoes) {
  Scenario s = given("gpu-b-002");
  EXPECT_EQ(s.send({fatal_on_b2()}), "Quarantined");
  EXPECT_EQ(s.writes(), 1);
  EXPECT_EQ(s.taints("gpu-b-002"), "gpu.example.com/fault=fatal:NoSchedule, dedicated=training:NoSchedule");
  EXPECT_EQ(s.annotation("gpu-b-002", kAppliedTaints),
            R"([{"key":"gpu.example.com/fault","value":"fatal","effect":"NoSchedule","preExisting":true}])");
  EXPECT_FALSE(s.annotation("gpu-b-002", kUncordonedManually));
  EXPECT_TRUE(s.unschedulable("gpu-b-002"));
  EXPECT_EQ(s.label("gpu-b-002", p("uncordon-by")), "NVSentinel");     // of an earlier release: stays until the next
}

TEST_F(FqCase16, TheReleaseLeavesATaintThatWasThere) {
  Scenario s = given("gpu-b-002");
  s.send({fatal_on_b2()});
  EXPECT_EQ(s.send({healthy(fatal_on_b2())}), "UnQuarantined");
  EXPECT_FALSE(s.unschedulable("gpu-b-002"));
  EXPECT_EQ(s.taints("gpu-b-002"), "gpu.example.com/fault=fatal:NoSchedule, dedicated=training:NoSchedule");
  EXPECT_THAT(s.traces("gpu-b-002"), IsEmpty());
}

TEST_F(FqCase17, ANodeThatOptedOutIsLeftAlone) {
  Scenario s = given("gpu-b-001");
  EXPECT_EQ(s.send("opted-out-node"), "-");
  EXPECT_EQ(s.writes(), 0);
  const auto judgements = s.judgements();
  EXPECT_TRUE(judgements[0].fresh);                       // so the rule set counts as failed
  EXPECT_THAT(judgements[0].verdict->matched, IsEmpty());
}

HealthEvent nic_fatal(std::string_view node) {
  return changed(example_event("fatal-gpu0"), [&](HealthEvent& event) {
    event.node_name = node;
    event.agent = "nic-health-monitor";
    event.component_class = "NIC";
    event.check_name = "NicLinkState";
    event.error_codes.reset();
    event.entities = std::vector<Entity>(1, Entity{"NIC", "mlx5_2"});
    event.id = "nic-row";
  });
}

TEST_F(FqCase18, ARuleWithoutANodeClauseQuarantinesItAllTheSame) {
  Scenario s = given("gpu-b-001");
  EXPECT_EQ(s.send({nic_fatal("gpu-b-001")}), "Quarantined");
  EXPECT_EQ(s.taints("gpu-b-001"), "net.example.com/link=down:NoExecute");
}

TEST_F(FqCase19, ARuleThatCannotBeEvaluatedIsAnErrorAndNoMatch) {
  Scenario s({{.name = "needs-label", .cordon = true, .fails_with = "no such key: labels"}});
  s.add(bare_node("bare-001"));
  const auto event = changed(example_event("fatal-gpu0"), [](HealthEvent& each) { each.node_name = "bare-001"; });
  EXPECT_EQ(s.send({event}), "-");
  EXPECT_EQ(s.writes(), 0);
  const auto judgements = s.judgements();
  ASSERT_EQ(judgements[0].verdict->errors.size(), 1U);
  EXPECT_EQ(judgements[0].verdict->errors[0].rule_set, "needs-label");
}

TEST_F(FqCase20, TheRuleThatHoldsDecides) {
  Scenario s({{.name = "two-any", .when = [](const auto& event, const auto&) { return event.is_fatal; }, .cordon = true}});
  s.add(example_node(kA1));
  EXPECT_EQ(s.send({changed(example_event("fatal-gpu0"), [](HealthEvent& event) { event.error_codes.reset(); })}), "Quarantined");
  EXPECT_THAT(s.judgements()[0].verdict->errors, IsEmpty());
}

Rule taint_rule(std::string name, int priority, std::string effect) {
  return {.name = std::move(name), .priority = priority, .taint = kube::Taint{"t.example.com/k", "v", std::move(effect), {}}};
}

TEST_F(FqCase21, TheHigherPriorityGivesTheEffect) {
  Scenario s({taint_rule("soft", 5, "NoSchedule"), taint_rule("hard", 10, "NoExecute")});
  s.add(example_node(kA1));
  EXPECT_EQ(s.send("fatal-gpu0"), "Quarantined");
  EXPECT_EQ(s.taints(kA1), "t.example.com/k=v:NoExecute");
}

TEST_F(FqCase22, AtEqualPriorityTheEarlierSetGivesTheEffect) {
  Scenario s({taint_rule("first", 5, "NoSchedule"), taint_rule("second", 5, "NoExecute")});
  s.add(example_node(kA1));
  s.send("fatal-gpu0");
  EXPECT_EQ(s.taints(kA1), "t.example.com/k=v:NoSchedule");
}

TEST_F(FqCase23, AtEqualPriorityTheLaterSetGivesTheLabel) {
  Scenario s({{.name = "first", .priority = 5, .label = {{"l.example.com/k", "one"}}},
              {.name = "second", .priority = 5, .label = {{"l.example.com/k", "two"}}},
              {.name = "third", .priority = 4, .label = {{"l.example.com/k", "three"}}}});
  s.add(example_node(kA1));
  EXPECT_EQ(s.send("fatal-gpu0"), "Quarantined");
  EXPECT_EQ(s.label(kA1, "l.example.com/k"), "two");
  EXPECT_EQ(s.annotation(kA1, kAppliedLabels), R"([{"key":"l.example.com/k","value":"two","priority":5,"order":1}])");
}

TEST_F(FqCase24, ARuleThatOnlyLabelsCordonsNothing) {
  Scenario s({{.name = "only-label", .label = {{"l.example.com/k", "v"}}}});
  s.add(example_node(kA1));
  EXPECT_EQ(s.send("fatal-gpu0"), "Quarantined");
  EXPECT_EQ(s.label(kA1, "l.example.com/k"), "v");
  EXPECT_FALSE(s.unschedulable(kA1));
  EXPECT_THAT(s.traces(kA1), ElementsAre(kEvents, kAppliedLabels, kState));
  EXPECT_FALSE(std::get<Quarantine>(s.judgements()[0].decision).applied.cordon);
  EXPECT_EQ(s.send("healthy-check-level"), "UnQuarantined");
  EXPECT_THAT(s.traces(kA1), IsEmpty());
  EXPECT_FALSE(s.label(kA1, "l.example.com/k"));
  EXPECT_FALSE(s.label(kA1, p("uncordon-by")));
  EXPECT_FALSE(std::get<Release>(s.judgements()[0].decision).removed.cordon);
}

TEST_F(FqCase25, ALabelOfTheNodeIsOverwrittenAndGoneAfterTheRelease) {
  Scenario s({{.name = "only-label", .label = {{"l.example.com/k", "v"}}, .cordon = true}});
  s.add(example_node(kA1))["metadata"]["labels"]["l.example.com/k"] = "mine";
  EXPECT_EQ(s.send("fatal-gpu0"), "Quarantined");
  EXPECT_EQ(s.label(kA1, "l.example.com/k"), "v");
  EXPECT_EQ(s.send("healthy-check-level"), "UnQuarantined");
  EXPECT_FALSE(s.label(kA1, "l.example.com/k"));
}

TEST_F(FqCase26, AForcedHoldCordonsInTheNameOfItsCreator) {
  Scenario s = given(kA1);
  EXPECT_EQ(s.send("force-hold"), "Quarantined");
  EXPECT_TRUE(s.unschedulable(kA1));
  EXPECT_EQ(s.label(kA1, p("cordon-by")), "ops-console-operator-7");
  EXPECT_EQ(s.label(kA1, p("cordon-reason")), "Hold-for-firmware-update");
  EXPECT_FALSE(s.annotation(kA1, kAppliedTaints));
  EXPECT_FALSE(s.annotation(kA1, kAppliedLabels));
}

TEST_F(FqCase27, AForcedHoldWithOddTextsIsMadeLegal) {
  Scenario s = given(kA1);
  EXPECT_EQ(s.send({changed(example_event("force-hold"),
                            [](HealthEvent& event) {
                              event.metadata.reset();
                              event.message = "Stop now.";
                            })}),
            "Quarantined");
  EXPECT_EQ(s.label(kA1, p("cordon-by")), "ops-console");
  EXPECT_EQ(s.label(kA1, p("cordon-reason")), "Stop-now");
}

TEST_F(FqCase28, AForcedHoldOnAQuarantinedNodeIsAddedOnly) {
  Scenario s = given(kA1, {"fatal-gpu0"});
  EXPECT_EQ(s.send("force-hold"), "AlreadyQuarantined");
  EXPECT_EQ(s.tracked(kA1).size(), 2U);
  EXPECT_EQ(s.label(kA1, p("cordon-by")), "NVSentinel");
  EXPECT_EQ(s.label(kA1, p("cordon-reason")), "gpu-fatal-xid-hard-codes");
}

TEST_F(FqCase29, SkipIsIgnoredAndTravelsIntoTheRecord) {
  Scenario s = given(kA1);
  EXPECT_EQ(s.send("skip-override"), "Quarantined");
  EXPECT_THAT(*s.annotation(kA1, kEvents), ::testing::HasSubstr(R"("quarantineOverrides":{"skip":true})"));
}

TEST_F(FqCase30, OtherStrategiesDoNotAct) {
  Scenario s = given("gpu-b-002");
  EXPECT_EQ(s.send({example_event("store-only"), example_event("store-and-analyse")}), "");     // never come into a plan
  EXPECT_EQ(s.writes(), 0);
  EXPECT_FALSE(to_act_on(changed(example_event("fatal-gpu0"), [](HealthEvent& event) { event.processing_strategy = 99; })));
  EXPECT_TRUE(to_act_on(changed(example_event("fatal-gpu0"), [](HealthEvent& event) { event.processing_strategy = 0; })));
}

TEST_F(FqCase31, AnAbsentStrategyMeansRemediate) {
  Scenario s = given("cpu-c-001");
  EXPECT_EQ(s.send("no-strategy-field"), "Quarantined");
  EXPECT_TRUE(s.unschedulable("cpu-c-001"));
  EXPECT_EQ(s.label("cpu-c-001", p("cordon-reason")), "maintenance");
}

HealthEvent healthy_gpu0_on_a3() {
  return changed(example_event("healthy-gpu0"), [](HealthEvent& event) { event.node_name = "gpu-a-003"; });
}

TEST_F(FqCase38, TheShapesOfOlderWritersAreReadAndReleased) {
  Scenario s;
  Json& annotations = s.add(example_node("gpu-a-003"))["metadata"]["annotations"];
  const Json stored = parse_json(annotations[std::string(kEvents)].get<std::string>()).value();
  annotations[std::string(kEvents)] = to_text(stored[0]);
  annotations[std::string(kAppliedTaints)] =
      R"([{"Key":"gpu.example.com/fault","Value":"fatal","Effect":"NoSchedule"},{"Key":"gpu.example.com/xid","Value":"hard","Effect":"NoSchedule"}])";
  EXPECT_EQ(s.send({healthy_gpu0_on_a3()}), "UnQuarantined");
  EXPECT_THAT(s.traces("gpu-a-003"), IsEmpty());
  EXPECT_EQ(s.taints("gpu-a-003"), "node.kubernetes.io/unschedulable=:NoSchedule");
  EXPECT_FALSE(s.unschedulable("gpu-a-003"));
}

TEST_F(FqCase40, TheCordonOfAHalfDoneReleaseIsOurs) {
  Scenario s;
  s.add(example_node("gpu-a-003"))["metadata"]["annotations"][std::string(kEvents)] = "[]";
  const auto on_a3 = [](HealthEvent& event) { event.node_name = "gpu-a-003"; };
  EXPECT_EQ(s.send({changed(example_event("fatal-gpu0"), on_a3)}), "Quarantined");
  EXPECT_FALSE(s.annotation("gpu-a-003", kCordonPreExisting));
  EXPECT_EQ(s.send({changed(example_event("healthy-check-level"), on_a3)}), "UnQuarantined");
  EXPECT_FALSE(s.unschedulable("gpu-a-003"));
  EXPECT_THAT(s.traces("gpu-a-003"), IsEmpty());
  EXPECT_EQ(s.taints("gpu-a-003"), "node.kubernetes.io/unschedulable=:NoSchedule");
}

TEST_F(FqCase41, AListedTaintThatIsGoneIsNoErrorAtTheRelease) {
  Scenario s = given(kA1, {"fatal-gpu0"});
  s.node(kA1)["spec"].erase("taints");
  EXPECT_EQ(s.send("healthy-check-level"), "UnQuarantined");
  EXPECT_FALSE(s.unschedulable(kA1));
  EXPECT_THAT(s.traces(kA1), IsEmpty());
}

}  // namespace
}  // namespace nodeward::quarantine::testing
