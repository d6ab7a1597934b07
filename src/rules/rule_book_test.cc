#include "rules/rule_book.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json.h"
#include "base/text.h"
#include "events/event_json.h"
#include "kube/decode.h"

namespace nodeward::rules {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

constexpr ConditionKind kEvent = ConditionKind::kHealthEvent;
constexpr ConditionKind kNode = ConditionKind::kNode;

RuleSet rule(std::string name, std::vector<Condition> all) {
  RuleSet set;
  set.enabled = true;
  set.name = std::move(name);
  set.all = std::move(all);
  return set;
}
RuleSet with_taint(RuleSet set, int priority, kube::Taint taint) {
  set.priority = priority;
  set.taint = std::move(taint);
  return set;
}
RuleSet with_label(RuleSet set, int priority, std::string key, std::string value) {
  set.priority = priority;
  set.label = LabelAction{std::move(key), std::move(value)};
  return set;
}
RuleSet always(std::string name) { return rule(std::move(name), {{kEvent, "true"}}); }

RuleBook book_of(const std::vector<RuleSet>& sets) {
  Compiled compiled = compile(sets);
  for (const Problem& problem : compiled.problems) ADD_FAILURE() << problem.message;
  return std::move(compiled.book);
}
Verdict judge(const std::vector<RuleSet>& sets, const events::HealthEvent& event = {}, const kube::Node& node = {}) {
  return book_of(sets).judge(event, node);
}
kube::Taint taint(std::string key, std::string value, std::string effect) {
  return {std::move(key), std::move(value), std::move(effect), ""};
}

kube::Node node_of(std::string_view json, const RuleBook& book) {
  const auto node = kube::make_node_decoder(node_selection(book))->object(json);
  EXPECT_TRUE(node) << node.error().message;
  return *node;
}

std::vector<std::string> reads(std::string expression) {
  const RuleBook book = book_of({rule("r", {{kNode, std::move(expression)}})});
  const kube::NodeSelection kept = node_selection(book);
  std::vector<std::string> all;
  const auto list = [&](std::string_view name, const kube::KeySet& keys) {
    if (keys.all) all.push_back(std::string(name) + "*");
    for (const std::string& key : keys.keys) all.push_back(std::string(name) + key);
  };
  list("label ", kept.labels);
  list("annotation ", kept.annotations);
  list("metadata.", kept.metadata_members);
  list("spec.", kept.spec_members);
  if (kept.spec) all.push_back("spec");
  return all;
}

// ---- One set ------------------------------------------------------------------------------------------------------------------

TEST(RuleBook, WithoutRulesNothingMatches) {
  const Verdict verdict = RuleBook{}.judge({}, {});
  EXPECT_FALSE(verdict.acts());
  EXPECT_THAT(verdict.matched, IsEmpty());
}

TEST(RuleBook, AllNeedsEveryConditionAndStopsAtTheFirstFailure) {
  EXPECT_THAT(judge({rule("r", {{kEvent, "true"}, {kNode, "true"}})}).matched, ElementsAre("r"));
  EXPECT_THAT(judge({rule("r", {{kEvent, "true"}, {kNode, "false"}})}).matched, IsEmpty());
  const Verdict failed = judge({rule("r", {{kEvent, "event.errorCode.exists(c, c == '1')"}, {kEvent, "event.none"}})});
  ASSERT_EQ(failed.errors.size(), 1U);
  EXPECT_THAT(failed.errors[0].rule_set, "r");
  EXPECT_THAT(failed.errors[0].reason, HasSubstr("match.all[0]: "));
  EXPECT_THAT(failed.errors[0].reason, ::testing::Not(HasSubstr("match.all[1]")));
  EXPECT_THAT(judge({rule("r", {{kEvent, "false"}, {kEvent, "event.none"}})}).errors, IsEmpty());
}

TEST(RuleBook, AnyReportsEveryFailureWhenNothingIsTrue) {
  RuleSet set = rule("r", {});
  set.any = {{kEvent, "event.none == 1"}, {kEvent, "false"}, {kNode, "node.none == 1"}};
  const Verdict verdict = judge({set});
  ASSERT_EQ(verdict.errors.size(), 1U);
  EXPECT_EQ(verdict.errors[0].reason, "match.any[0]: no such key: none; match.any[2]: no such key: none");
}

TEST(RuleBook, AnyAndAllAreTwoWaysToMatchOnce) {
  RuleSet set = rule("r", {{kEvent, "event.isFatal"}});
  set.any = {{kEvent, "event.isHealthy"}};
  set.cordon = true;
  events::HealthEvent event;
  EXPECT_THAT(judge({set}, event).matched, IsEmpty());
  event.is_fatal = true;
  EXPECT_THAT(judge({set}, event).matched, ElementsAre("r"));
  event.is_healthy = true;
  EXPECT_THAT(judge({set}, event).cordon_reasons, ElementsAre("r"));
  set.any = {{kEvent, "event.none"}};
  EXPECT_THAT(judge({set}, event).errors, IsEmpty()) << "a match drops what failed before it";
}

TEST(RuleBook, AConditionThatYieldsNoBooleanFails) {
  const Verdict verdict = judge({rule("r", {{kEvent, "event.agent"}})});
  ASSERT_EQ(verdict.errors.size(), 1U);
  EXPECT_EQ(verdict.errors[0].reason, "match.all[0]: expression did not return a boolean");
}

TEST(RuleBook, ADisabledSetIsNeitherCompiledNorJudgedButCounted) {
  RuleSet off = with_label(rule("off", {{kEvent, "this is (no expression"}}), 0, "k", "off");
  off.enabled = false;
  const RuleBook book = book_of({off, with_label(always("on"), 0, "k", "on")});
  EXPECT_THAT(book.names(), ElementsAre("on"));
  EXPECT_THAT(book.label_keys(), ElementsAre("k"));
  EXPECT_THAT(book.judge({}, {}).labels, ElementsAre(RuleLabel{"k", "on", 0, 1}));
}

TEST(Compile, NamesEveryProblemAndItsPlace) {
  RuleSet mixed = rule("b", {{kEvent, "event.isFatal &&\n  node.x"}});
  mixed.any = {{kEvent, "true"}, {kNode, "node.a +"}};
  const Compiled compiled = compile(std::vector{always("a"), mixed, rule("c", {{kEvent, "'text'"}})});
  ASSERT_EQ(compiled.problems.size(), 3U);
  EXPECT_THAT(compiled.book.names(), ElementsAre("a"));
  const Problem& syntax = compiled.problems[0];
  EXPECT_TRUE(syntax.rule_set == 1 && syntax.in_any && syntax.condition == 1) << syntax.message;
  const Problem& unknown = compiled.problems[1];
  EXPECT_TRUE(unknown.rule_set == 1 && !unknown.in_any && unknown.condition == 0);
  EXPECT_THAT(unknown.message, HasSubstr("unknown name 'node'"));
  EXPECT_EQ(unknown.line, 2U);
  EXPECT_EQ(unknown.column, 3U);
  EXPECT_EQ(compiled.problems[2].rule_set, 2U);
}

// ---- Several sets -------------------------------------------------------------------------------------------------------------

TEST(Merge, ReasonsAndTaintsStandInTheOrderOfTheFile) {
  RuleSet first = with_taint(always("first"), 1, taint("b", "1", "NoSchedule"));
  RuleSet second = with_taint(always("second"), 9, taint("a", "1", "NoSchedule"));
  first.cordon = second.cordon = true;
  const Verdict verdict = judge({first, always("quiet"), second});
  EXPECT_THAT(verdict.matched, ElementsAre("first", "quiet", "second"));
  EXPECT_THAT(verdict.cordon_reasons, ElementsAre("first", "second"));
  EXPECT_THAT(verdict.taints, ElementsAre(taint("b", "1", "NoSchedule"), taint("a", "1", "NoSchedule")));
}

TEST(Merge, TaintsThatDifferInValueAndEffectAllApply) {
  EXPECT_THAT(
      judge({with_taint(always("x"), 1, taint("k", "1", "NoSchedule")), with_taint(always("y"), 2, taint("k", "2", "NoExecute"))})
          .taints,
      ElementsAre(taint("k", "1", "NoSchedule"), taint("k", "2", "NoExecute")));
}

TEST(Merge, OneValuePerKeyAndEffect) {
  const auto merged = [](int first, int second) {
    return judge({with_taint(always("x"), first, taint("k", "1", "NoSchedule")),
                  with_taint(always("y"), second, taint("k", "2", "NoSchedule"))})
        .taints;
  };
  EXPECT_THAT(merged(1, 2), ElementsAre(taint("k", "2", "NoSchedule")));
  EXPECT_THAT(merged(2, 2), ElementsAre(taint("k", "1", "NoSchedule")));
}

// A set that lost its effect to a better one does not come back with it.
TEST(Merge, EffectsAreSettledBeforeValues) {
  EXPECT_THAT(
      judge({with_taint(always("x"), 1, taint("k", "1", "NoSchedule")), with_taint(always("y"), 3, taint("k", "1", "NoExecute")),
             with_taint(always("z"), 2, taint("k", "2", "NoSchedule"))})
          .taints,
      ElementsAre(taint("k", "1", "NoExecute"), taint("k", "2", "NoSchedule")));
}

TEST(FqCase21, OneTaintWithTheEffectOfTheHigherPriority) {
  EXPECT_THAT(judge({with_taint(always("x"), 5, taint("k", "v", "NoSchedule")),
                     with_taint(always("y"), 10, taint("k", "v", "NoExecute"))})
                  .taints,
              ElementsAre(taint("k", "v", "NoExecute")));
}

TEST(FqCase22, AtEqualPriorityTheEffectOfTheEarlierSet) {
  EXPECT_THAT(
      judge({with_taint(always("x"), 5, taint("k", "v", "NoSchedule")), with_taint(always("y"), 5, taint("k", "v", "NoExecute"))})
          .taints,
      ElementsAre(taint("k", "v", "NoSchedule")));
}

TEST(FqCase23, AtEqualPriorityTheLabelOfTheLaterSet) {
  EXPECT_THAT(judge({with_label(always("x"), 5, "k", "early"), with_label(always("y"), 5, "k", "late")}).labels,
              ElementsAre(RuleLabel{"k", "late", 5, 1}));
  EXPECT_THAT(judge({with_label(always("x"), 6, "k", "early"), with_label(always("y"), 5, "k", "late"),
                     with_label(always("z"), 0, "a", "b")})
                  .labels,
              ElementsAre(RuleLabel{"a", "b", 0, 2}, RuleLabel{"k", "early", 6, 0}));
}

TEST(FqCase24, ASetWithNothingButALabelDoesNotCordon) {
  const Verdict verdict = judge({with_label(always("x"), 5, "k", "v")});
  EXPECT_TRUE(verdict.acts());
  EXPECT_FALSE(verdict.cordon);
  EXPECT_THAT(verdict.cordon_reasons, IsEmpty());
}

// ---- What events and nodes are to a rule --------------------------------------------------------------------------------------

TEST(FqCase19, ANodeWithoutLabelsIsAnErrorToARuleThatLooksIntoThem) {
  const RuleBook book = book_of({rule("r", {{kNode, "'x' in node.metadata.labels"}})});
  const Verdict bare = book.judge({}, node_of(R"({"metadata":{"name":"n"}})", book));
  ASSERT_EQ(bare.errors.size(), 1U);
  EXPECT_EQ(bare.errors[0].reason, "match.all[0]: no such key: labels");
  const Verdict other = book.judge({}, node_of(R"({"metadata":{"name":"n","labels":{"not-kept":"1"}}})", book));
  EXPECT_THAT(other.errors, IsEmpty());
  EXPECT_THAT(other.matched, IsEmpty());
  EXPECT_THAT(book.judge({}, node_of(R"({"metadata":{"name":"n","labels":{"x":""}}})", book)).matched, ElementsAre("r"));
}

TEST(FqCase20, AFailureBeforeTheTrueConditionIsNotCounted) {
  RuleSet set = rule("r", {});
  set.any = {{kEvent, "'79' in event.errorCode"}, {kEvent, "event.isFatal"}};
  events::HealthEvent event;
  event.is_fatal = true;
  const Verdict verdict = judge({set}, event);
  EXPECT_THAT(verdict.matched, ElementsAre("r"));
  EXPECT_THAT(verdict.errors, IsEmpty());
}

TEST(NodeSelection, KeepsTheKeysThatRulesName) {
  EXPECT_THAT(reads("'a/b' in node.metadata.labels && node.metadata.labels['a/b'] == 'x' && node.metadata.labels.c == ''"),
              UnorderedElementsAre("label a/b", "label c"));
  EXPECT_THAT(reads("node.metadata.annotations['note'] == 'x'"), ElementsAre("annotation note"));
  EXPECT_THAT(reads("node.metadata.labels.all(k, k != 'x')"), ElementsAre("label *"));
  EXPECT_THAT(reads("has(node.metadata.labels)"), IsEmpty());
  EXPECT_THAT(reads("!has(node.spec.unschedulable) || has(node.spec.taints)"), ElementsAre("spec"));
  EXPECT_THAT(reads("node.spec.providerID.startsWith('aws') && node.metadata.generation > 1"),
              UnorderedElementsAre("spec.providerID", "spec", "metadata.generation"));
  EXPECT_THAT(reads("node.spec != {}"), ElementsAre("spec.*", "spec"));
  EXPECT_THAT(reads("size(node) > 0"), UnorderedElementsAre("label *", "annotation *", "metadata.*", "spec.*", "spec"));
  EXPECT_THAT(reads("has(node.status)"), IsEmpty());
}

TEST(NodeSelection, KeepsWhatMakesTheVerdictTheSame) {
  constexpr std::string_view kJson =
      R"({"metadata":{"name":"n","uid":"u-1","generation":3,"labels":{"a":"1","b":"2"},"annotations":{"note":"x","other":"y"}},)"
      R"("spec":{"providerID":"aws:///i-1","podCIDRs":["10.0.0.0/24"],"unschedulable":true,)"
      R"("taints":[{"key":"k","effect":"NoSchedule","timeAdded":"2026-08-31T08:30:00Z"}]},"status":{"phase":"x"}})";
  for (const std::string expression :
       {"node.metadata.labels.a == '1'", "node.metadata.labels == {'a': '1', 'b': '2'}",
        "'note' in node.metadata.annotations && !('z' in node.metadata.annotations)", "has(node.metadata.annotations)",
        "node.metadata.name == 'n' && node.metadata.uid == 'u-1'", "node.metadata.generation + 1 == 4",
        "node.spec.providerID == 'aws:///i-1' && node.spec.podCIDRs[0] == '10.0.0.0/24'",
        "node.spec.unschedulable && has(node.spec.taints)",
        "node.spec.taints.exists(t, t.key == 'k' && !has(t.value) && timestamp(t.timeAdded).getFullYear() == 2026)",
        "size(node.spec) == 4", "!has(node.status)", "int(node.metadata.labels['a']) == 1",
        "!has(node.kind) && size(node) == 2"}) {
    const RuleBook book = book_of({rule("r", {{kNode, expression}})});
    const Verdict verdict = book.judge({}, node_of(kJson, book));
    EXPECT_THAT(verdict.matched, ElementsAre("r"))
        << expression << (verdict.errors.empty() ? "" : ": " + verdict.errors[0].reason);
  }
}

}  // namespace
}  // namespace nodeward::rules
