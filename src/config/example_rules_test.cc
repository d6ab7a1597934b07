// The acceptance rows that are about rules alone: the example rule file, events and nodes (FQ spec, section 18).
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json.h"
#include "base/text.h"
#include "config/fault_quarantine.h"
#include "events/event_json.h"
#include "kube/decode.h"

namespace nodeward::config {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::string example_file(std::string_view name) {
  auto text = read_file(fmt::format("{}/tests/data/examples/{}", NW_SOURCE_DIR, name));
  EXPECT_TRUE(text) << text.error().message;
  return std::move(*text);
}

const rules::RuleBook& book() {
  static const FaultQuarantine kConfig = read_fault_quarantine(example_file("fault-quarantine.toml"), {});
  return kConfig.book;
}

events::HealthEvent event(std::string_view name) {
  for (const std::string& line : split(example_file("events.jsonl"), '\n')) {
    if (!line.empty() && parse_json(line).value()["name"] == name) return events::read_events(line).value().at(0);
  }
  ADD_FAILURE() << "no example " << name;
  return {};
}

kube::Node node(std::string_view name) {
  const Json list = parse_json(example_file("nodes.json")).value();
  for (const Json& one : list["items"]) {
    if (one["metadata"]["name"] == name)
      return kube::make_node_decoder(node_selection(book()))->object(nodeward::to_text(one)).value();
  }
  ADD_FAILURE() << "no example " << name;
  return {};
}

rules::Verdict judge(const events::HealthEvent& event) { return book().judge(event, node(event.node_name)); }
rules::Verdict judge(std::string_view name) { return judge(event(name)); }

const kube::Taint kFault{"gpu.example.com/fault", "fatal", "NoSchedule", ""};
const kube::Taint kXid{"gpu.example.com/xid", "hard", "NoSchedule", ""};
const kube::Taint kSoft{"gpu.example.com/soft", "degraded", "PreferNoSchedule", ""};
const rules::RuleLabel kStateFatal{"gpu.example.com/state", "fatal", 100, 0};

TEST(FqCase01, AFatalHardCodeMatchesTwoSets) {
  const rules::Verdict verdict = judge("fatal-gpu0");
  EXPECT_THAT(verdict.matched, ElementsAre("gpu-fatal", "xid-hard-codes"));
  EXPECT_THAT(verdict.cordon_reasons, ElementsAre("gpu-fatal", "xid-hard-codes"));
  EXPECT_THAT(verdict.taints, ElementsAre(kFault, kXid));
  EXPECT_THAT(verdict.labels, ElementsAre(kStateFatal));
  EXPECT_TRUE(verdict.cordon);
  EXPECT_THAT(verdict.errors, IsEmpty());
}

TEST(FqCase04, TheEscalatedActionAddsALabel) {
  EXPECT_THAT(judge("fatal-gpu0-escalated").labels,
              ElementsAre(kStateFatal, rules::RuleLabel{"ops.example.com/replace", "requested", 70, 7}));
}

TEST(FqCase05, ASoftFaultTaintsAndLabelsWithoutCordon) {
  const rules::Verdict verdict = judge("soft-thermal");
  EXPECT_THAT(verdict.taints, ElementsAre(kSoft));
  EXPECT_THAT(verdict.labels, ElementsAre(rules::RuleLabel{"gpu.example.com/state", "degraded", 10, 1}));
  EXPECT_FALSE(verdict.cordon);
}

TEST(FqCase11, AFailureThatIsNotFatalMatchesNothing) {
  events::HealthEvent soft = event("fatal-gpu0");
  soft.is_fatal = false;
  soft.error_codes.reset();
  const rules::Verdict verdict = judge(soft);
  EXPECT_FALSE(verdict.acts());
  EXPECT_THAT(verdict.errors, IsEmpty());
}

TEST(FqCase12, AKernelLogFaultWithAHardCodeGivesTheTaintOfTheCode) {
  const rules::Verdict verdict = judge("multi-entity-precordoned");
  EXPECT_THAT(verdict.cordon_reasons, ElementsAre("kernel-log-fatal", "xid-hard-codes"));
  EXPECT_THAT(verdict.taints, ElementsAre(kXid));
}

TEST(FqCase15, AFatalFaultWithoutCodeGivesTheFaultTaintAlone) {
  events::HealthEvent fault = event("fatal-gpu0");
  fault.node_name = "gpu-b-002";
  fault.error_codes.reset();
  EXPECT_THAT(judge(fault).taints, ElementsAre(kFault));
}

TEST(FqCase17, ANodeThatOptedOutMatchesNoGuardedSet) {
  const rules::Verdict verdict = judge("opted-out-node");
  EXPECT_FALSE(verdict.acts());
  EXPECT_THAT(verdict.errors, IsEmpty());
}

TEST(FqCase18, ASetWithoutNodeConditionMatchesOnANodeThatOptedOut) {
  events::HealthEvent fault = event("opted-out-node");
  fault.agent = "nic-health-monitor";
  fault.is_fatal = true;
  fault.error_codes.reset();
  const rules::Verdict verdict = judge(fault);
  EXPECT_THAT(verdict.matched, ElementsAre("nic-fatal"));
  EXPECT_THAT(verdict.taints, ElementsAre(kube::Taint{"net.example.com/link", "down", "NoExecute", ""}));
}

TEST(FqCase29, TheSkipOverrideIsIgnored) { EXPECT_TRUE(judge("skip-override").cordon); }

TEST(FqCase31, AnEventWithoutStrategyIsJudgedLikeAnyOther) {
  EXPECT_THAT(judge("no-strategy-field").cordon_reasons, ElementsAre("maintenance"));
}

}  // namespace
}  // namespace nodeward::config
