#include "quarantine/plan.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>

#include "base/text.h"
#include "events/event_json.h"
#include "quarantine/keys.h"
#include "quarantine/scenario.h"

namespace nodeward::quarantine::testing {
namespace {

using events::HealthEvent;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

const std::string kEventData = NW_SOURCE_DIR "/tests/data/events/";
constexpr std::string_view kGpuTaint = "gpu.example.com/fault=fatal:NoSchedule";
constexpr std::string_view kNicTaint = "net.example.com/link=down:NoExecute";

// One rule that taints and cordons, one that only taints.
std::vector<Rule> two_rules() {
  return {{.name = "gpu-fatal",
           .priority = 100,
           .when = [](const auto& e, const auto&) { return e.agent == "gpu-health-monitor" && e.is_fatal; },
           .taint = kube::Taint{"gpu.example.com/fault", "fatal", "NoSchedule", {}},
           .cordon = true},
          {.name = "nic-fatal",
           .priority = 40,
           .when = [](const auto& e, const auto&) { return e.agent == "nic-health-monitor" && e.is_fatal; },
           .taint = kube::Taint{"net.example.com/link", "down", "NoExecute", {}}}};
}

std::vector<HealthEvent> events_of(const std::string& file) {
  std::vector<HealthEvent> all;
  for (const std::string& line : split(read_file(kEventData + file).value(), '\n')) {
    if (line.empty()) continue;
    all.push_back(events::read_events(line).value().front());
    all.back().id = fmt::format("{}-{}", file, all.size());
  }
  return all;
}

HealthEvent recovery_of(HealthEvent failure) {
  failure.is_healthy = true;
  failure.is_fatal = false;
  failure.id += "-recovery";
  return failure;
}

class PlanR03 : public ::testing::Test {
 protected:
  PlanR03() : scenario_(two_rules()) { scenario_.add(bare_node("gpu-a-017")); }
  const std::vector<HealthEvent> both_ = events_of("two-failures-same-node.jsonl");
  Scenario scenario_;
};

TEST_F(PlanR03, EachFailureSeesWhatTheOneBeforeItWrote) {
  EXPECT_EQ(scenario_.send({both_[0]}), "Quarantined");
  EXPECT_EQ(scenario_.send({both_[1]}), "AlreadyQuarantined");
  EXPECT_EQ(scenario_.writes(), 2);
  EXPECT_EQ(scenario_.tracked("gpu-a-017").size(), 2U);
  EXPECT_EQ(scenario_.taints("gpu-a-017"), fmt::format("{}, {}", kGpuTaint, kNicTaint));
  EXPECT_THAT(*scenario_.annotation("gpu-a-017", kAppliedTaints), HasSubstr("net.example.com/link"));

  EXPECT_EQ(scenario_.send(events_of("first-recovers.jsonl")), "AlreadyQuarantined");
  EXPECT_EQ(scenario_.tracked("gpu-a-017").size(), 1U);
  EXPECT_EQ(scenario_.send({recovery_of(both_[1])}), "UnQuarantined");
  EXPECT_THAT(scenario_.traces("gpu-a-017"), IsEmpty());
  EXPECT_EQ(scenario_.taints("gpu-a-017"), "");
}

TEST_F(PlanR03, FailuresThatWaitTogetherAreOneWriteWithTheSameEnd) {
  Scenario one_by_one(two_rules());
  one_by_one.add(bare_node("gpu-a-017"));
  for (const HealthEvent& event : both_) one_by_one.send({event});
  EXPECT_EQ(scenario_.send(both_), "Quarantined, AlreadyQuarantined");
  EXPECT_EQ(scenario_.writes(), 1);
  EXPECT_EQ(scenario_.node("gpu-a-017"), one_by_one.node("gpu-a-017"));
}

TEST_F(PlanR03, AFoldEndsBeforeAReleaseAndAfterIt) {
  const auto first = both_[0];
  EXPECT_EQ(scenario_.send({first, recovery_of(first), first, both_[1]}),
            "Quarantined, UnQuarantined, Quarantined, AlreadyQuarantined");
  EXPECT_EQ(scenario_.writes(), 3);
  EXPECT_EQ(scenario_.tracked("gpu-a-017").size(), 2U);
}

TEST_F(PlanR03, IgnoredEventsDoNotEndAFold) {
  scenario_.send({both_[0]});
  scenario_.writes();
  HealthEvent nobodys = recovery_of(both_[1]);
  EXPECT_EQ(scenario_.send({nobodys, nobodys, recovery_of(both_[0])}), "-, -, UnQuarantined");
  EXPECT_EQ(scenario_.writes(), 1);
}

TEST_F(PlanR03, ARepeatedStormIsOneWrite) {
  std::vector<HealthEvent> storm(100, both_[0]);
  for (std::size_t i = 0; i < storm.size(); ++i) storm[i].id = fmt::format("row-{}", i);
  const std::string statuses = scenario_.send(storm);
  EXPECT_TRUE(statuses.starts_with("Quarantined, AlreadyQuarantined, AlreadyQuarantined")) << statuses;
  EXPECT_EQ(scenario_.writes(), 1);
  EXPECT_EQ(scenario_.tracked("gpu-a-017").size(), 1U);
}

TEST(PlanR06, OurValueStandsInThePlaceOfAnothersAndIsTakenOff) {
  Scenario s(two_rules());
  s.add(parse_json(read_file(NW_SOURCE_DIR "/tests/data/fault-quarantine/node-same-key-other-value.json").value()).value());
  const auto fatal = events_of("one-fatal-018.jsonl");
  EXPECT_EQ(s.send(fatal), "Quarantined");
  EXPECT_EQ(
      s.taints("gpu-a-018"),
      "gpu.example.com/fault=fatal:NoSchedule, gpu.example.com/fault=watch:PreferNoSchedule, nvidia.com/gpu=present:NoSchedule");
  HealthEvent recovery = recovery_of(fatal[0]);
  recovery.entities.reset();
  recovery.error_codes.reset();
  EXPECT_EQ(s.send({recovery}), "UnQuarantined");
  EXPECT_EQ(s.taints("gpu-a-018"), "gpu.example.com/fault=watch:PreferNoSchedule, nvidia.com/gpu=present:NoSchedule");
}

TEST(PlanR07, DerivedLabelValuesAreAlwaysLegal) {
  const std::regex legal("([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?");
  const std::string many(62, 'a');
  for (const std::string& name : {many + "_b", std::string("gpu-fatal."), std::string("größe"), std::string(80, 'x'),
                                  std::string("--"), std::string("_"), std::string()}) {
    for (const std::string& creator : {std::string("ops@example.org"), std::string("-"), std::string(200, 'c')}) {
      Scenario s({{.name = name, .cordon = true}});
      s.add(bare_node("gpu-a-001"));
      HealthEvent hold = example_event("force-hold");
      hold.message = name;
      hold.metadata = {{"creator_id", creator}};
      s.send({hold});
      HealthEvent recovery = recovery_of(hold);
      for (const auto* suffix : {"cordon-by", "cordon-reason", "cordon-timestamp"}) {
        const auto value = s.label("gpu-a-001", fmt::format("ops.example.com/{}", suffix));
        ASSERT_TRUE(value) << suffix;
        EXPECT_TRUE(std::regex_match(*value, legal)) << suffix << '=' << *value;
      }
      s.send({recovery});
      const auto reason = s.label("gpu-a-001", "ops.example.com/uncordon-reason");
      ASSERT_TRUE(reason);
      EXPECT_TRUE(std::regex_match(*reason, legal) && reason->ends_with("removed")) << *reason;
    }
  }
}

TEST(PlanR22, EveryStepOfTheMatchingTableEndsAsWanted) {
  Scenario s(two_rules());
  s.add(bare_node("gpu-m-1"));
  // Per step: status, entries tracked afterwards, writes.
  struct Step {
    std::string_view status;
    std::size_t entries;
    int writes;
  };
  constexpr Step kSteps[] = {{"-", 0, 0},                  // nothing to recover
                             {"Quarantined", 1, 1},
                             {"AlreadyQuarantined", 1, 0},       // same failure, new text
                             {"AlreadyQuarantined", 2, 1},       // other code
                             {"AlreadyQuarantined", 1, 1},       // one code recovers
                             {"-", 1, 0},                  // another agent
                             {"-", 1, 0},                  // another version
                             {"UnQuarantined", 0, 1},            // an empty code list means any code
                             {"Quarantined", 1, 1},
                             {"AlreadyQuarantined", 1, 1},       // one of two entities
                             {"-", 1, 0},                  // another check
                             {"UnQuarantined", 0, 1},            // check level
                             {"Quarantined", 1, 1},              // without entity
                             {"-", 1, 0},                  // one entity does not clear a failure of the whole check
                             {"UnQuarantined", 0, 1}};
  const std::string text = read_file(kEventData + "matching.jsonl").value();
  std::size_t at = 0;
  for (const std::string& line : split(text, '\n')) {
    if (line.empty()) continue;
    const Json step = parse_json(line).value();
    SCOPED_TRACE(to_text(step["step"]) + ": " + step["wanted"].get<std::string>());
    HealthEvent event = events::read_events(to_text(step["event"])).value().front();
    event.id = "step-" + to_text(step["step"]);
    const Step& wanted = kSteps[at++];
    EXPECT_EQ(s.send({event}), wanted.status);
    EXPECT_EQ(s.tracked("gpu-m-1").size(), wanted.entries);
    EXPECT_EQ(s.writes(), wanted.writes);
    EXPECT_EQ(s.unschedulable("gpu-m-1"), wanted.entries > 0);
    EXPECT_EQ(s.taints("gpu-m-1"), wanted.entries > 0 ? kGpuTaint : "");
    if (at == 9) {
      EXPECT_THAT(*s.annotation("gpu-m-1", kEvents), HasSubstr(R"("entityValue":"/dev/\"odd\"\\name 🧯")"));
    }
  }
  EXPECT_EQ(at, std::size(kSteps));
  EXPECT_THAT(s.traces("gpu-m-1"), IsEmpty());
}

TEST(PlanR24, AHarderRuleAddsItsTaintAndItsCordon) {
  const auto both = events_of("two-failures-same-node.jsonl");
  for (const int first_to_recover : {0, 1}) {
    Scenario s(two_rules());
    s.add(bare_node("gpu-a-017"));
    EXPECT_EQ(s.send({both[1]}), "Quarantined");
    EXPECT_FALSE(s.unschedulable("gpu-a-017"));
    EXPECT_EQ(s.send({both[0]}), "AlreadyQuarantined");
    EXPECT_EQ(s.writes(), 2);
    EXPECT_TRUE(s.unschedulable("gpu-a-017"));
    EXPECT_EQ(s.taints("gpu-a-017"), fmt::format("{}, {}", kNicTaint, kGpuTaint));
    EXPECT_EQ(s.annotation("gpu-a-017", kIsCordoned), "True");
    EXPECT_FALSE(s.annotation("gpu-a-017", kCordonPreExisting));
    EXPECT_EQ(s.label("gpu-a-017", "ops.example.com/cordon-reason"), "gpu-fatal");
    const auto added = std::get<Merge>(s.judgements()[1].decision).added;
    EXPECT_TRUE(added.cordon);
    EXPECT_EQ(added.taints.size(), 1U);

    EXPECT_EQ(s.send({recovery_of(both[static_cast<std::size_t>(first_to_recover)])}), "AlreadyQuarantined");
    EXPECT_TRUE(s.unschedulable("gpu-a-017"));
    EXPECT_EQ(s.taints("gpu-a-017"), fmt::format("{}, {}", kNicTaint, kGpuTaint));
    EXPECT_EQ(s.send({recovery_of(both[static_cast<std::size_t>(1 - first_to_recover)])}), "UnQuarantined");
    EXPECT_FALSE(s.unschedulable("gpu-a-017"));
    EXPECT_EQ(s.taints("gpu-a-017"), "");
    EXPECT_THAT(s.traces("gpu-a-017"), IsEmpty());
  }
}

TEST(Plan, AFirstRecordWithoutTaintsNamesNoVersionAndALaterOneDoes) {
  Scenario s({{.name = "cordon", .cordon = true}});
  s.add(example_node("gpu-a-001"));
  s.send("fatal-gpu0");
  EXPECT_THAT(s.bodies().back(), Not(HasSubstr("resourceVersion")));
  s.send("fatal-gpu1");
  EXPECT_THAT(s.bodies().back(), HasSubstr("resourceVersion"));
  s.send("healthy-check-level");
  EXPECT_THAT(s.bodies().back(), HasSubstr("resourceVersion"));
}

TEST(Plan, TheOpenerAgainIsQuarantinedOthersAreNot) {
  Scenario s;
  s.add(example_node("gpu-a-001"));
  s.send("fatal-gpu0");
  s.send("fatal-gpu1");
  s.writes();
  EXPECT_EQ(s.send("fatal-gpu0"), "Quarantined");
  EXPECT_EQ(s.send("fatal-gpu1"), "AlreadyQuarantined");
  EXPECT_EQ(s.writes(), 0);
}

TEST(Plan, ARecordThatCannotBeReadIsStartedAfresh) {
  Scenario s;
  s.add(example_node("gpu-a-001"))["metadata"]["annotations"][std::string(kEvents)] = "{broken";
  EXPECT_EQ(s.send("healthy-check-level"), "-");
  EXPECT_EQ(s.writes(), 0);
  EXPECT_EQ(s.send("fatal-gpu0"), "Quarantined");
  EXPECT_THAT(s.bodies().back(), HasSubstr("resourceVersion"));
  EXPECT_EQ(s.tracked("gpu-a-001").size(), 1U);
}

TEST(Plan, ANodeIsNotFreedByHalfWhenTheRecordDoesNotSayOfWhat) {
  Scenario s;
  s.add(example_node("gpu-a-001"));
  s.send("fatal-gpu0");
  const std::string good = *s.annotation("gpu-a-001", kAppliedTaints);
  s.node("gpu-a-001")["metadata"]["annotations"][std::string(kAppliedTaints)] = "[{broken";
  s.writes();
  EXPECT_EQ(s.send("healthy-check-level"), "AlreadyQuarantined");
  EXPECT_EQ(s.writes(), 0);
  EXPECT_TRUE(std::holds_alternative<Stuck>(s.judgements().back().decision));
  s.node("gpu-a-001")["metadata"]["annotations"][std::string(kAppliedTaints)] = good;
  EXPECT_EQ(s.send("healthy-check-level"), "UnQuarantined");
  EXPECT_EQ(s.taints("gpu-a-001"), "");
}

TEST(Plan, ALabelOfARuleThatIsNoMoreIsTakenOffUnseen) {
  Scenario s;     // its cache does not keep this key
  Json& metadata = s.add(example_node("gpu-a-003"))["metadata"];
  metadata["labels"]["old.example.com/rule"] = "x";
  metadata["annotations"][std::string(kAppliedLabels)] = R"([{"key":"old.example.com/rule","value":"x"}])";
  HealthEvent recovery = example_event("healthy-check-level");
  recovery.node_name = "gpu-a-003";
  HealthEvent nic = recovery;
  nic.agent = "nic-health-monitor";
  nic.component_class = "NIC";
  nic.check_name = "NicLinkState";
  EXPECT_EQ(s.send({nic, recovery}), "AlreadyQuarantined, UnQuarantined");
  EXPECT_FALSE(s.label("gpu-a-003", "old.example.com/rule"));
}

TEST(Plan, AnEventIsJudgedOnTheNodeThatTheOnesBeforeItLeave) {
  Scenario s({{.name = "once", .when = [](const auto&, const kube::Node& node) { return !node.unschedulable; }, .cordon = true}});
  s.add(example_node("gpu-a-001"));
  EXPECT_EQ(s.send({example_event("fatal-gpu0"), example_event("fatal-gpu1")}), "Quarantined, -");
}

TEST(Plan, ATaintTakenOffByHandIsPutBackByTheNextFailure) {
  Scenario s(two_rules());
  s.add(bare_node("gpu-a-017"));
  const auto both = events_of("two-failures-same-node.jsonl");
  s.send({both[0]});
  s.node("gpu-a-017")["spec"].erase("taints");
  s.send({both[0]});
  EXPECT_EQ(s.taints("gpu-a-017"), kGpuTaint);
  EXPECT_THAT(*s.annotation("gpu-a-017", kAppliedTaints), HasSubstr(R"("preExisting":false)"));
}

}  // namespace
}  // namespace nodeward::quarantine::testing
