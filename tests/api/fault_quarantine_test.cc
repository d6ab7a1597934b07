// Acceptance rows of fault-quarantine's specification (section 18, numbered as there) and field cases, on the real API server: the
// node as the server has it, and what the server counted. Every row is one PATCH or none, no GET and no PUT of a node.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <fstream>
#include <functional>

#include "api/fault_quarantine_fixture.h"
#include "api/labeler_objects.h"

namespace nodeward::api {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

const std::string kA1 = "gpu-a-001";
const std::string kA2 = "gpu-a-002";
const std::string kB1 = "gpu-b-001";
const std::string kB2 = "gpu-b-002";
constexpr auto kFault = "gpu.example.com/fault=fatal:NoSchedule, gpu.example.com/xid=hard:NoSchedule";
constexpr auto kState = "dgxc.nvidia.com/nvsentinel-state";

std::string p(std::string_view suffix) { return "ops.example.com/" + std::string(suffix); }

Json changed(Json line, const std::function<void(Json&)>& change) {
  change(event_of(line));
  line.erase("recordId");
  return line;
}

class FqCases : public FaultQuarantineOnTheServer {
 protected:
  void SetUp() override {
    FaultQuarantineOnTheServer::SetUp();
    create_examples();
    start();
  }
  void given(std::initializer_list<std::string_view> events) {
    for (const std::string_view event : events) send(example_event(event));
    writes();
  }
};
using FqCase01OnTheServer = FqCases;
using FqCase02OnTheServer = FqCases;
using FqCase03OnTheServer = FqCases;
using FqCase04OnTheServer = FqCases;
using FqCase05OnTheServer = FqCases;
using FqCase06OnTheServer = FqCases;
using FqCase07And08OnTheServer = FqCases;
using FqCase10OnTheServer = FqCases;
using FqCase12To14OnTheServer = FqCases;
using FqCase15And16OnTheServer = FqCases;
using FqCase17OnTheServer = FqCases;
using FqCase24OnTheServer = FaultQuarantineOnTheServer;
using FqCase30OnTheServer = FqCases;
using FqCase31OnTheServer = FqCases;

TEST_F(FqCase01OnTheServer, AFatalEventQuarantinesACleanNodeInOneWrite) {
  const Json outcome = send(example_event("fatal-gpu0"));
  EXPECT_EQ(outcome["decision"], "quarantine");
  EXPECT_EQ(outcome["status"], "Quarantined");
  EXPECT_EQ(outcome["rules"], Json({"gpu-fatal", "xid-hard-codes"}));
  EXPECT_EQ(outcome["requests"], 1);
  EXPECT_EQ(writes(), 1);
  const FaultNode after = node(kA1);
  EXPECT_TRUE(after.cordoned());
  EXPECT_EQ(after.taints(), kFault);
  EXPECT_EQ(after.label(p("cordon-by")), "NVSentinel");
  EXPECT_EQ(after.label(p("cordon-reason")), "gpu-fatal-xid-hard-codes");
  EXPECT_THAT(after.label(p("cordon-timestamp")).value(),
              testing::MatchesRegex("[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}-[0-9]{2}-[0-9]{2}Z"));
  EXPECT_EQ(after.label("gpu.example.com/state"), "fatal");
  EXPECT_EQ(after.label(kState), "quarantined");
  ASSERT_THAT(after.tracked(), SizeIs(1));
  EXPECT_EQ(after.tracked()[0]["id"], "64c66bba-e9a6-390d-9eff-122bc1bcd116");
  EXPECT_EQ(after.annotation("quarantineHealthEventAppliedTaints"),
            R"([{"key":"gpu.example.com/fault","value":"fatal","effect":"NoSchedule","preExisting":false},)"
            R"({"key":"gpu.example.com/xid","value":"hard","effect":"NoSchedule","preExisting":false}])");
  EXPECT_EQ(after.annotation("quarantineHealthEventAppliedLabels"),
            R"([{"key":"gpu.example.com/state","value":"fatal","priority":100}])");
  EXPECT_EQ(after.annotation("quarantineHealthEventIsCordoned"), "True");
  EXPECT_FALSE(after.annotation("quarantineHealthEventCordonPreExisting"));
}

TEST_F(FqCase02OnTheServer, ASecondFailureIsAddedInOrderOfArrival) {
  given({"fatal-gpu0"});
  const Json spec = node(kA1).json()["spec"];
  EXPECT_EQ(status("fatal-gpu1"), "AlreadyQuarantined");
  EXPECT_EQ(writes(), 1);
  const FaultNode after = node(kA1);
  ASSERT_THAT(after.tracked(), SizeIs(2));
  EXPECT_EQ(after.tracked()[0]["errorCode"], Json({"79"}));
  EXPECT_EQ(after.tracked()[1]["errorCode"], Json({"48"}));
  EXPECT_EQ(after.json()["spec"], spec);
}

TEST_F(FqCase03OnTheServer, TheSameFailureAgainWritesNothing) {
  given({"fatal-gpu0"});
  const Json before = node(kA1).json();
  EXPECT_EQ(status("fatal-gpu0-again"), "AlreadyQuarantined");
  EXPECT_EQ(writes(), 0);
  EXPECT_EQ(node(kA1).json(), before);
}

TEST_F(FqCase04OnTheServer, AnEscalationReplacesTheStoredEventAndAddsItsLabel) {
  given({"fatal-gpu0"});
  EXPECT_EQ(status("fatal-gpu0-escalated"), "AlreadyQuarantined");
  EXPECT_EQ(writes(), 1);
  const FaultNode after = node(kA1);
  ASSERT_THAT(after.tracked(), SizeIs(1));
  EXPECT_EQ(after.tracked()[0]["recommendedAction"], 24);
  EXPECT_EQ(after.tracked()[0]["id"], "e88caf57-de2e-2727-8ee6-8bc9d0771eb0");
  EXPECT_EQ(after.label(p("replace")), "requested");
  EXPECT_EQ(after.annotation("quarantineHealthEventAppliedLabels"),
            R"([{"key":"gpu.example.com/state","value":"fatal","priority":100},)"
            R"({"key":"ops.example.com/replace","value":"requested","priority":70,"order":7}])");
}

TEST_F(FqCase05OnTheServer, AWeakerRuleAddsItsTaintAndLeavesTheStrongerLabel) {
  given({"fatal-gpu0"});
  EXPECT_EQ(status("soft-thermal"), "AlreadyQuarantined");
  EXPECT_EQ(writes(), 1);
  const FaultNode after = node(kA1);
  EXPECT_EQ(after.label("gpu.example.com/state"), "fatal");
  EXPECT_THAT(after.tracked(), SizeIs(2));
  EXPECT_EQ(after.taints(), std::string(kFault) + ", gpu.example.com/soft=degraded:PreferNoSchedule");
  EXPECT_THAT(after.annotation("quarantineHealthEventAppliedTaints").value(), testing::HasSubstr("gpu.example.com/soft"));
}

TEST_F(FqCase06OnTheServer, ARecoveryOfWhatIsNotTrackedWritesNothing) {
  given({"fatal-gpu0"});
  const Json before = node(kA1).json();
  EXPECT_EQ(status("healthy-untracked"), "-");
  EXPECT_EQ(writes(), 0);
  EXPECT_EQ(node(kA1).json(), before);
}

TEST_F(FqCase07And08OnTheServer, APartialRecoveryKeepsTheMarksAndAFullOneReleasesInOneWrite) {
  const Json kubelets{
      {"key", "node.kubernetes.io/unschedulable"}, {"effect", "NoSchedule"}, {"timeAdded", "2026-08-31T08:30:00Z"}};
  ASSERT_EQ(admin().merge_patch("/api/v1/nodes/" + kA1, {{"spec", {{"taints", {kubelets}}}}}).status, 200);
  given({"fatal-gpu0", "fatal-gpu1"});
  const FaultNode before = node(kA1);
  // row 7
  EXPECT_EQ(status("healthy-gpu0"), "AlreadyQuarantined");
  EXPECT_EQ(writes(), 1);
  const FaultNode between = node(kA1);
  ASSERT_THAT(between.tracked(), SizeIs(1));
  EXPECT_EQ(between.tracked()[0]["id"], "524b9340-53ea-e242-90fd-648dc70ad840");
  EXPECT_EQ(between.json()["spec"], before.json()["spec"]);
  EXPECT_EQ(between.json()["metadata"]["labels"], before.json()["metadata"]["labels"]);
  // row 8
  EXPECT_EQ(controller().metric(R"(fault_quarantine_current_quarantined_nodes{node="gpu-a-001"})"), 1);
  EXPECT_EQ(status("healthy-check-level"), "UnQuarantined");
  EXPECT_EQ(writes(), 1);
  EXPECT_EQ(controller().metric(R"(fault_quarantine_current_quarantined_nodes{node="gpu-a-001"})"), 0);
  const FaultNode after = node(kA1);
  EXPECT_FALSE(after.cordoned());
  EXPECT_EQ(after.json()["spec"]["taints"], Json::array({kubelets}));
  EXPECT_THAT(after.traces(), IsEmpty());
  EXPECT_EQ(after.label(p("uncordon-by")), "NVSentinel");
  EXPECT_EQ(after.label(p("uncordon-reason")), "gpu-fatal-xid-hard-codes-removed");
  EXPECT_TRUE(after.label(p("uncordon-timestamp")));
}

TEST_F(FqCase10OnTheServer, ARecoveryAheadOfItsFailureDoesNotHoldItBack) {
  EXPECT_EQ(status("healthy-gpu0"), "-");
  EXPECT_EQ(writes(), 0);
  EXPECT_EQ(status("fatal-gpu0"), "Quarantined");
  EXPECT_EQ(writes(), 1);
  EXPECT_TRUE(node(kA1).cordoned());
}

TEST_F(FqCase12To14OnTheServer, AnOperatorsCordonIsRecordedAndOutlivesTheRelease) {
  const std::string before = node(kA2).taints();
  // row 12
  EXPECT_EQ(status("multi-entity-precordoned"), "Quarantined");
  EXPECT_EQ(writes(), 1);
  const FaultNode quarantined = node(kA2);
  EXPECT_TRUE(quarantined.cordoned());
  EXPECT_EQ(quarantined.taints(), before + ", gpu.example.com/xid=hard:NoSchedule");
  EXPECT_THAT(quarantined.traces(),
              ElementsAre("quarantineHealthEvent", "quarantineHealthEventAppliedTaints", "quarantineHealthEventCordonPreExisting",
                          "quarantineHealthEventIsCordoned", kState))
      << "no cordon-* labels";
  ASSERT_THAT(quarantined.tracked(), SizeIs(1));
  EXPECT_THAT(quarantined.tracked()[0]["entitiesImpacted"], SizeIs(2));
  // row 13
  EXPECT_EQ(status("multi-entity-half-healthy"), "AlreadyQuarantined");
  EXPECT_EQ(writes(), 1);
  ASSERT_THAT(node(kA2).tracked(), SizeIs(1));
  const Json left = node(kA2).tracked()[0]["entitiesImpacted"];
  ASSERT_THAT(left, SizeIs(1));
  EXPECT_EQ(left[0]["entityType"], "GPUID");
  // row 14
  EXPECT_EQ(status(changed(example_event("multi-entity-half-healthy"), [&](Json& event) { event["entitiesImpacted"] = left; })),
            "UnQuarantined");
  EXPECT_EQ(writes(), 1);
  const FaultNode after = node(kA2);
  EXPECT_TRUE(after.cordoned());
  EXPECT_EQ(after.taints(), before);
  EXPECT_THAT(after.traces(), IsEmpty());
  EXPECT_FALSE(after.label(p("uncordon-by")));
  EXPECT_EQ(after.label(p("maintenance-ticket")), "T-1042");
}

TEST_F(FqCase15And16OnTheServer, ATaintThatWasThereIsMarkedAndOutlivesTheRelease) {
  const Json fatal = changed(example_event("fatal-gpu0"), [](Json& event) {
    event["nodeName"] = kB2;
    event.erase("errorCode");
  });
  constexpr auto kTaints = "gpu.example.com/fault=fatal:NoSchedule, dedicated=training:NoSchedule";
  // row 15
  EXPECT_EQ(status(fatal), "Quarantined");
  EXPECT_EQ(writes(), 1);
  const FaultNode quarantined = node(kB2);
  EXPECT_TRUE(quarantined.cordoned());
  EXPECT_EQ(quarantined.taints(), kTaints);
  EXPECT_EQ(quarantined.annotation("quarantineHealthEventAppliedTaints"),
            R"([{"key":"gpu.example.com/fault","value":"fatal","effect":"NoSchedule","preExisting":true}])");
  EXPECT_FALSE(quarantined.annotation("quarantinedNodeUncordonedManually"));
  // row 16
  EXPECT_EQ(status(recovery_of(fatal)), "UnQuarantined");
  EXPECT_EQ(writes(), 1);
  const FaultNode after = node(kB2);
  EXPECT_FALSE(after.cordoned());
  EXPECT_EQ(after.taints(), kTaints);
  EXPECT_THAT(after.traces(), IsEmpty());
}

TEST_F(FqCase17OnTheServer, ANodeThatOptedOutIsLeftAlone) {
  const Json before = node(kB1).json();
  const Json outcome = send(example_event("opted-out-node"));
  EXPECT_EQ(outcome["status"], nullptr);
  EXPECT_FALSE(outcome["reason"].is_null()) << outcome;
  EXPECT_EQ(writes(), 0);
  EXPECT_EQ(node(kB1).json(), before);
  EXPECT_EQ(controller().metric(R"(fault_quarantine_ruleset_evaluations_total{ruleset="gpu-fatal",status="failed"})"), 1);
}

TEST_F(FqCase24OnTheServer, ARuleThatOnlyLabelsCordonsNothing) {
  create_examples();
  start("fault-quarantine/label-only.toml");
  EXPECT_EQ(status("fatal-gpu0"), "Quarantined");
  EXPECT_EQ(writes(), 1);
  const FaultNode labelled = node(kA1);
  EXPECT_EQ(labelled.label("gpu.example.com/state"), "seen");
  EXPECT_FALSE(labelled.cordoned());
  EXPECT_THAT(labelled.traces(),
              ElementsAre("quarantineHealthEvent", "quarantineHealthEventAppliedLabels", kState, "gpu.example.com/state"));
  EXPECT_EQ(status("healthy-check-level"), "UnQuarantined");
  EXPECT_EQ(writes(), 1);
  EXPECT_THAT(node(kA1).traces(), IsEmpty());
  EXPECT_FALSE(node(kA1).label(p("uncordon-by")));
  EXPECT_EQ(controller().metric("fault_quarantine_cordons_applied_total"), 0);
  EXPECT_EQ(controller().metric("fault_quarantine_cordons_removed_total"), 0);
}

TEST_F(FqCase30OnTheServer, OtherStrategiesDoNotAct) {
  const Json before = node(kB2).json();
  EXPECT_EQ(status("store-only"), "-");
  EXPECT_EQ(status("store-and-analyse"), "-");
  EXPECT_EQ(writes(), 0);
  EXPECT_EQ(node(kB2).json(), before);
  EXPECT_EQ(controller().metric("fault_quarantine_events_received_total"), 0);
}

TEST_F(FqCase31OnTheServer, AnAbsentStrategyMeansRemediate) {
  EXPECT_EQ(status("no-strategy-field"), "Quarantined");
  EXPECT_EQ(writes(), 1);
  EXPECT_TRUE(node("cpu-c-001").cordoned());
  EXPECT_EQ(node("cpu-c-001").label(p("cordon-reason")), "maintenance");
}

// ---- Field cases, on the rules of tests/data/config/fq-base.toml ----------------------------------------------------------------

class FieldCases : public FaultQuarantineOnTheServer {
 protected:
  static constexpr auto kRules = "config/fq-base.toml";

  void with_node(const std::string& file) {
    admin().create_nodes(objects_of_file(file));
    start(kRules);
  }
};
using R03OnTheServer = FieldCases;
using R06OnTheServer = FieldCases;
using R07OnTheServer = FaultQuarantineOnTheServer;
using R22OnTheServer = FieldCases;
using R24OnTheServer = FieldCases;
using R35OnTheServer = FieldCases;

constexpr auto kGpuTaint = "gpu.example.com/fault=fatal:NoSchedule";
constexpr auto kNicTaint = "net.example.com/link=down:NoExecute";

TEST_F(R03OnTheServer, ASecondFailureSeesTheWriteOfTheFirst) {
  with_node("nodes/node-three-foreign-taints.json");
  const std::string name = "gpu-a-017";
  const std::string foreign = node(name).taints();
  const std::vector<Json> two = lines_of("events/two-failures-same-node.jsonl");
  for (const Duration gap : {0ms, 1ms, 5ms, 50ms, 0ms, 1ms, 5ms, 50ms}) {
    SCOPED_TRACE(fmt::format("{} ms apart", gap / 1ms));
    asked();
    const int first = append(two[0]);
    Clock::real().sleep_for(gap, {});
    const int second = append(two[1]);
    EXPECT_EQ(outcome(first)["status"], "Quarantined");
    EXPECT_EQ(outcome(second)["status"], "AlreadyQuarantined");
    const Counters cost = asked();
    EXPECT_LE(cost.count("PATCH", "nodes"), 2);
    EXPECT_LE(cost.count("GET", "nodes"), 1);
    EXPECT_EQ(cost.count("PUT", "nodes"), 0);
    EXPECT_THAT(node(name).tracked(), SizeIs(2));
    EXPECT_EQ(node(name).taints(), fmt::format("{}, {}, {}", foreign, kGpuTaint, kNicTaint));
    EXPECT_EQ(parse_json(node(name).annotation("quarantineHealthEventAppliedTaints").value()).value().size(), 2U);

    EXPECT_EQ(status(lines_of("events/first-recovers.jsonl")[0]), "AlreadyQuarantined");
    EXPECT_TRUE(node(name).cordoned());
    EXPECT_THAT(node(name).tracked(), SizeIs(1));
    EXPECT_EQ(status(recovery_of(two[1])), "UnQuarantined");
    EXPECT_FALSE(node(name).cordoned());
    EXPECT_EQ(node(name).taints(), foreign);
    EXPECT_THAT(node(name).traces(), IsEmpty());
  }
}

TEST_F(R06OnTheServer, OurValueStandsInThePlaceOfAnothersAndIsTakenOff) {
  with_node("fault-quarantine/node-same-key-other-value.json");
  const Json fatal = lines_of("events/one-fatal-018.jsonl")[0];
  EXPECT_EQ(status(fatal), "Quarantined");
  EXPECT_EQ(writes(), 1) << "a 422 would cost another";
  EXPECT_EQ(node("gpu-a-018").taints(),
            fmt::format("{}, gpu.example.com/fault=watch:PreferNoSchedule, nvidia.com/gpu=present:NoSchedule", kGpuTaint));
  EXPECT_EQ(status(recovery_of(fatal)), "UnQuarantined");
  EXPECT_EQ(writes(), 1);
  EXPECT_EQ(node("gpu-a-018").taints(), "gpu.example.com/fault=watch:PreferNoSchedule, nvidia.com/gpu=present:NoSchedule");
}

// The server would refuse an illegal label with 422, and the cordon with it.
TEST_F(R07OnTheServer, OddRuleSetNamesNeverCostTheCordon) {
  const std::vector<std::string> names = {
      std::string(62, 'a') + "_b", "gpu-fatal.", "größe", std::string(80, 'x'), "--", "_", "a b/c"};
  std::string rules = "label-prefix = \"ops.example.com/\"\n[circuitBreaker]\npercentage = 50\nduration = \"5m\"\n";
  for (std::size_t i = 0; i < names.size(); ++i) {
    rules += fmt::format(
        "[[rule-sets]]\nenabled = true\nversion = \"1\"\nname = \"{}\"\n[[rule-sets.match.all]]\nkind = \"HealthEvent\"\n"
        "expression = \"event.nodeName == 'odd-{}'\"\n[rule-sets.cordon]\nshouldCordon = true\n",
        names[i], i);
  }
  std::ofstream(folder_ / "rules.toml") << rules;
  for (std::size_t i = 0; i < names.size(); ++i) admin().create_node(node_in_state(fmt::format("odd-{}", i)));
  launch(flags(Input::kFollowed, folder_ / "rules.toml"));
  controller().await_ready();
  for (std::size_t i = 0; i < names.size(); ++i) {
    SCOPED_TRACE(names[i]);
    const std::string name = fmt::format("odd-{}", i);
    const Json fatal = changed(example_event("fatal-gpu0"), [&](Json& event) { event["nodeName"] = name; });
    EXPECT_EQ(status(fatal), "Quarantined");
    EXPECT_TRUE(node(name).cordoned());
    EXPECT_TRUE(node(name).label(p("cordon-reason"))) << "made legal, not left out";
    EXPECT_EQ(status(recovery_of(fatal)), "UnQuarantined");
    EXPECT_TRUE(node(name).label(p("uncordon-reason")));
    EXPECT_EQ(writes(), 2) << "a 422 would cost another";
  }
}

TEST_F(R22OnTheServer, EveryStepOfTheMatchingTableEndsAsWanted) {
  admin().create_node(node_in_state("gpu-m-1"));
  start(kRules);
  const struct {
    const char* status;
    std::size_t entries;
    long writes;
  } wanted[] = {{"-", 0, 0},  // nothing to recover
                {"Quarantined", 1, 1},
                {"AlreadyQuarantined", 1, 0},  // same failure, new text
                {"AlreadyQuarantined", 2, 1},  // other code
                {"AlreadyQuarantined", 1, 1},  // one code recovers
                {"-", 1, 0},  // another agent
                {"-", 1, 0},  // another version
                {"UnQuarantined", 0, 1},  // an empty code list means any code
                {"Quarantined", 1, 1},
                {"AlreadyQuarantined", 1, 1},  // one of two entities
                {"-", 1, 0},  // another check
                {"UnQuarantined", 0, 1},  // check level
                {"Quarantined", 1, 1},  // without entity
                {"-", 1, 0},  // one entity does not clear a failure of the whole check
                {"UnQuarantined", 0, 1}};
  const std::vector<Json> steps = lines_of("events/matching.jsonl");
  ASSERT_EQ(steps.size(), std::size(wanted));
  for (std::size_t i = 0; i < steps.size(); ++i) {
    SCOPED_TRACE(to_text(steps[i]["step"]) + ": " + steps[i]["wanted"].get<std::string>());
    EXPECT_EQ(status(steps[i]["event"]), wanted[i].status);
    EXPECT_EQ(writes(), wanted[i].writes);
    const FaultNode after = node("gpu-m-1");
    EXPECT_THAT(after.tracked(), SizeIs(wanted[i].entries));
    EXPECT_EQ(after.cordoned(), wanted[i].entries > 0);
    EXPECT_EQ(after.taints(), wanted[i].entries > 0 ? kGpuTaint : "");
    if (i == 8) {
      EXPECT_EQ(after.tracked()[0]["entitiesImpacted"][1]["entityValue"], R"(/dev/"odd"\name 🧯)");
    }
  }
  EXPECT_THAT(node("gpu-m-1").traces(), IsEmpty());
}

TEST_F(R24OnTheServer, AHarderRuleAddsItsTaintAndItsCordon) {
  admin().create_node(node_in_state("gpu-a-017"));
  start(kRules);
  const std::vector<Json> both = lines_of("events/two-failures-same-node.jsonl");
  for (const std::size_t first_to_recover : {0U, 1U}) {
    EXPECT_EQ(status(both[1]), "Quarantined");
    EXPECT_FALSE(node("gpu-a-017").cordoned()) << "nic-fatal only taints";
    EXPECT_EQ(status(both[0]), "AlreadyQuarantined");
    EXPECT_EQ(writes(), 2);
    EXPECT_TRUE(node("gpu-a-017").cordoned());
    EXPECT_EQ(node("gpu-a-017").taints(), fmt::format("{}, {}", kNicTaint, kGpuTaint));
    EXPECT_EQ(parse_json(node("gpu-a-017").annotation("quarantineHealthEventAppliedTaints").value()).value().size(), 2U);

    EXPECT_EQ(status(recovery_of(both[first_to_recover])), "AlreadyQuarantined");
    EXPECT_TRUE(node("gpu-a-017").cordoned());
    EXPECT_EQ(node("gpu-a-017").taints(), fmt::format("{}, {}", kNicTaint, kGpuTaint));
    EXPECT_EQ(status(recovery_of(both[1 - first_to_recover])), "UnQuarantined");
    EXPECT_EQ(writes(), 2);
    EXPECT_FALSE(node("gpu-a-017").cordoned());
    EXPECT_EQ(node("gpu-a-017").taints(), "");
    EXPECT_THAT(node("gpu-a-017").traces(), IsEmpty());
  }
}

TEST_F(R35OnTheServer, ANameIsUsedAsItIsAndWhatCannotBeANodeIsFinishedAtOnce) {
  for (const char* file : {"nodes/node-aks-nd96.json", "nodes/node-oke-bm.json", "nodes/node-eks-h100.json"}) {
    admin().create_nodes(objects_of_file(file));
  }
  start(kRules);
  constexpr auto kLate = "no-such-node-1";
  int late = 0;
  for (const Json& line : lines_of("events/names.jsonl")) {
    const std::string name = line["event"]["nodeName"];
    SCOPED_TRACE(name.substr(0, 40));
    if (name == kLate) {
      late = append(line["event"]);
      continue;
    }
    const Json became = send(line["event"]);
    if (name == "10.0.74.31") {
      EXPECT_EQ(became["status"], "Quarantined");
      EXPECT_TRUE(node(name).cordoned());
    } else {
      EXPECT_EQ(became["status"], nullptr);
      EXPECT_EQ(became["decision"], name.empty() ? "unreadable" : "node-not-found") << became;
    }
  }
  EXPECT_EQ(writes(), 1);
  EXPECT_FALSE(outcomes().contains(late)) << "a node may join yet";
  admin().create_node(node_in_state(kLate));
  EXPECT_EQ(outcome(late)["status"], "Quarantined");
  EXPECT_EQ(writes(), 1);
}

}  // namespace
}  // namespace nodeward::api
