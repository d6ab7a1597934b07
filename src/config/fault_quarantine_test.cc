#include "config/fault_quarantine.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"

namespace nodeward::config {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

FaultQuarantine load(std::string_view name, const LoadOptions& options = {}) {
  auto config = load_fault_quarantine(fmt::format("{}/tests/data/{}", NW_SOURCE_DIR, name), options);
  EXPECT_TRUE(config) << config.error().message;
  return std::move(*config);
}

std::vector<std::string> shown(const FaultQuarantine& config) {
  std::vector<std::string> all;
  for (const Finding& one : config.findings) {
    all.push_back(fmt::format("{}:{} {}{}", one.place.line, one.place.column,
                              one.severity == Severity::kWarning ? "warning: " : "", one.message));
  }
  return all;
}

constexpr std::string_view kBreaker = "[circuitBreaker]\npercentage = 50\nduration = '5m'\n";
constexpr std::string_view kMatch = "match.all = [{kind = 'HealthEvent', expression = 'event.isFatal'}]\n";

std::vector<std::string> findings_of(std::string_view text, const LoadOptions& options = {}) {
  return shown(read_fault_quarantine(std::string(text), options));
}
// Of a file whose breaker is in order; `text` begins in line 4.
std::vector<std::string> findings_behind_breaker(std::string_view text) {
  return findings_of(std::string(kBreaker) + std::string(text));
}

// ---- Files as people have them ------------------------------------------------------------------------------------------------

TEST(R37Config, PlainFileLoads) {
  const FaultQuarantine config = load("config/plain.toml");
  EXPECT_THAT(shown(config), IsEmpty());
  ASSERT_EQ(config.rule_sets.size(), 1U);
  const rules::RuleSet& set = config.rule_sets[0];
  EXPECT_EQ(set.all.size(), 2U);
  EXPECT_TRUE(set.any.empty() && set.enabled && set.cordon);
  EXPECT_EQ(set.priority, 100);
  EXPECT_EQ(set.taint, (kube::Taint{"gpu.example.com/fault", "fatal", "NoSchedule", ""}));
  EXPECT_EQ(config.label_prefix, "ops.example.com/");
  EXPECT_EQ(config.breaker.percentage, 50);
  EXPECT_EQ(config.breaker.duration, 5min);
}

TEST(R37Config, LineEndsAndAByteOrderMarkMakeNoDifference) {
  const FaultQuarantine plain = load("config/plain.toml");
  for (const auto* file : {"bom-crlf.toml", "crlf-mixed.toml", "no-final-newline.toml", "tab-and-comment.toml"}) {
    const FaultQuarantine config = load(std::string("config/") + file);
    EXPECT_THAT(shown(config), IsEmpty()) << file;
    EXPECT_EQ(config.label_prefix, plain.label_prefix) << file;
    ASSERT_EQ(config.rule_sets.size(), 1U) << file;
    EXPECT_EQ(config.rule_sets[0].name, "gpu-fatal") << file;
    EXPECT_EQ(config.rule_sets[0].priority, 100) << file;
    EXPECT_EQ(config.rule_sets[0].taint, plain.rule_sets[0].taint) << file;
    for (std::size_t i = 0; i < 2; ++i)
      EXPECT_EQ(config.rule_sets[0].all[i].expression, plain.rule_sets[0].all[i].expression) << file;
  }
}

TEST(R37Config, WhatCannotLoadIsRefusedWithItsPlace) {
  EXPECT_THAT(shown(load("config/bare-cr.toml")),
              ElementsAre("1:34 a carriage return alone ends no line; use LF or CRLF line ends"));
  EXPECT_THAT(shown(load("config/utf16.toml")), ElementsAre("1:1 not UTF-8 but UTF-16; save the file as UTF-8"));
  EXPECT_THAT(shown(load("config/two-same-key.toml")),
              ElementsAre(AllOf(HasSubstr("36:1 "), HasSubstr("cannot redefine existing table 'circuitBreaker'"))));
}

// Chosen: an empty file is an error as long as the breaker is on, because its bounds are missing; else it runs and warns.
TEST(R37Config, AnEmptyFileRunsOnlyWithoutTheBreaker) {
  EXPECT_THAT(shown(load("config/empty.toml")), ElementsAre(HasSubstr("1:1 circuitBreaker: missing; ")));
  const FaultQuarantine config = load("config/empty.toml", {.breaker_enabled = false});
  EXPECT_TRUE(config.good());
  EXPECT_THAT(shown(config), ElementsAre("1:1 warning: no rule set is enabled: no node will ever be quarantined"));
}

TEST(Config, TheBaseFileOfTheFieldCasesLoads) {
  const FaultQuarantine config = load("config/fq-base.toml");
  EXPECT_THAT(shown(config), IsEmpty());
  EXPECT_THAT(config.book.names(), ElementsAre("gpu-fatal", "nic-fatal", "cordon-only"));
}

TEST(Config, TheExampleRuleFileLoads) {
  const FaultQuarantine config = load("examples/fault-quarantine.toml");
  EXPECT_THAT(shown(config), IsEmpty());
  EXPECT_EQ(config.rule_sets.size(), 9U);
  EXPECT_THAT(config.book.names(), ElementsAre("gpu-fatal", "gpu-degraded", "kernel-log-fatal", "xid-hard-codes", "nic-fatal",
                                               "maintenance", "preflight-fatal", "needs-replacement"));
  EXPECT_THAT(node_selection(config.book).labels.keys,
              ElementsAre("nvsentinel.dgxc.nvidia.com/managed", "nvidia.com/gpu.present"));
  EXPECT_FALSE(config.rule_sets[8].enabled);
  EXPECT_EQ(config.rule_sets[5].any.size(), 2U);
}

TEST(Config, AFileThatIsNotThereIsNamed) {
  EXPECT_THAT(load_fault_quarantine("/none/rules.toml", {}).error().message,
              HasSubstr("/none/rules.toml: cannot be read: No such file"));
}

// ---- What is wrong with them --------------------------------------------------------------------------------------------------

TEST(Config, EverythingThatIsWrongIsToldAtOnceInTheOrderOfTheFile) {
  EXPECT_THAT(
      findings_of(R"(label-prefix = "x y/"
[[rule-sets]]
enabled = true
name = "a"
priority = -1
taint = {key = "k!", value = "v", effect = "NoRun"}
label = {key = "l", value = "-"}
[[rule-sets.match.all]]
kind = "Pod"
expression = "true"
[[rule-sets.match.any]]
kind = "HealthEvent"
expression = '''
  event.isFatal &&
  evnt.agent == "x"
'''
[[rule-sets]]
enabled = true
name = "b"
[circuitBreaker]
percentage = 101
duration = "5 minutes"
)"),
      ElementsAre(
          HasSubstr("1:16 label-prefix: \"x y/cordon-timestamp\" is no label key; "),
          "5:12 rule set \"a\": priority: -1 is out of range; it is 0 or more",
          HasSubstr("6:16 rule set \"a\": taint.key: \"k!\" is no label key; "),
          "6:44 rule set \"a\": taint.effect: \"NoRun\" is no taint effect; it is NoSchedule, PreferNoSchedule or NoExecute",
          HasSubstr("7:29 rule set \"a\": label.value: \"-\" is no label value; "),
          "9:8 rule set \"a\": match.all[0].kind: unknown kind \"Pod\"; it is HealthEvent or Node",
          HasSubstr("15:3 rule set \"a\": match.any[0].expression: unknown name 'evnt'"),
          HasSubstr("17:1 rule set \"b\": never matches; "),
          "21:14 circuitBreaker.percentage: 101 is out of range; it is 1 to 100, or 0 with maxNodes or maxCordonedNodes",
          "22:12 circuitBreaker.duration: invalid circuit breaker duration \"5 minutes\"; write it as 300s, 5m or 1h30m"));
}

TEST(FqCase59, ARuleThatCannotWorkIsRefusedByName) {
  EXPECT_THAT(
      findings_behind_breaker(
          "[[rule-sets]]\nenabled = true\nname = 'bad'\nmatch.all = [{kind = 'HealthEvent', expression = 'event.agent =='}]\n"),
      ElementsAre(AllOf(HasSubstr("7:"), HasSubstr("rule set \"bad\": match.all[0].expression: "))));
  EXPECT_THAT(
      findings_behind_breaker("[[rule-sets]]\nenabled = true\nname = 'bad'\nmatch.all = [{kind = 'Pod', expression = 'true'}]\n"),
      ElementsAre(HasSubstr("rule set \"bad\": match.all[0].kind: unknown kind \"Pod\"")));
  const std::string twice = fmt::format(
      "[[rule-sets]]\nenabled = true\nname = 'same'\n{0}[[rule-sets]]\nenabled = true\nname = 'same'\n{0}", kMatch);
  EXPECT_THAT(findings_behind_breaker(twice), ElementsAre("10:8 rule set \"same\": name: taken by the rule set in line 6"));
}

TEST(Config, AnExpressionThatIsNeverABooleanIsRefused) {
  EXPECT_THAT(findings_behind_breaker(
                  "[[rule-sets]]\nenabled = true\nname = 'n'\nmatch.any = [{kind = 'Node', expression = \"'text'\"}]\n"),
              ElementsAre(HasSubstr("7:44 rule set \"n\": match.any[0].expression: ")));
}

TEST(Config, ADisabledSetMayBeWrong) {
  EXPECT_THAT(findings_behind_breaker("[[rule-sets]]\nname = 'off'\npriority = -1\ntaint = {key = '!', effect = 'x'}\nmatch.all "
                                      "= [{kind = 'Pod', expression = '('}]\n"
                                      "[[rule-sets]]\nname = 'off'\n"),
              ElementsAre(HasSubstr("warning: no rule set is enabled")));
}

TEST(Config, UnknownKeysAreWarnings) {
  const std::string text = fmt::format(
      "{}colour = 'red'\n[[rule-sets]]\nenabled = true\nprio = 1\n{}[rule-sets.cordon]\ncordon = true\n[validation]\nenabled = "
      "true\n",
      kBreaker, kMatch);
  const FaultQuarantine config = read_fault_quarantine(text, {});
  EXPECT_TRUE(config.good());
  EXPECT_THAT(shown(config), ElementsAre("4:1 warning: circuitBreaker.colour: unknown key, ignored",
                                         "7:1 warning: rule set 1: prio: unknown key, ignored",
                                         "10:1 warning: rule set 1: cordon.cordon: unknown key, ignored",
                                         "11:2 warning: validation: unknown key, ignored"));
}

TEST(Config, KeysMatchWithoutRegardToCase) {
  const FaultQuarantine config = read_fault_quarantine(
      "Label-Prefix = 'p/'\n[CIRCUITBREAKER]\nPercentage = 1\nDURATION = '1s'\n[[Rule-Sets]]\nEnabled = true\nNAME = "
      "'n'\nmatch.ALL = [{Kind = 'Node', Expression = 'true'}]\n"
      "cordon.shouldcordon = true\n",
      {});
  EXPECT_THAT(shown(config), IsEmpty());
  EXPECT_EQ(config.label_prefix, "p/");
  EXPECT_TRUE(config.rule_sets.at(0).cordon);
  EXPECT_THAT(config.book.names(), ElementsAre("n"));
}

TEST(Config, WrongTypesAreNamed) {
  EXPECT_THAT(findings_of("label-prefix = 1\ncircuitBreaker = 5\nrule-sets = {}\n"),
              ElementsAre("1:16 label-prefix: must be text, not a whole number",
                          "2:18 circuitBreaker: must be a table, as in [circuitBreaker], not a whole number",
                          "2:18 circuitBreaker: missing; give percentage and duration, or switch the breaker off with "
                          "--circuit-breaker-enabled=false",
                          "3:13 rule-sets: must be a list of tables, as in [[rule-sets]], not a table"));
}

TEST(Config, ManySetsWithOneTaintAreOneWarningEach) {
  std::string text;
  for (int i = 0; i < 300; ++i) {
    text += fmt::format(
        "[[rule-sets]]\nenabled = true\nname = 'r{}'\n{}taint = {{key = 'k', value = 'v{}', effect = 'NoSchedule'}}\n", i, kMatch,
        i);
  }
  EXPECT_EQ(findings_behind_breaker(text).size(), 299U);
}

TEST(Config, ATaintWithAnotherValueForTheSameKeyAndEffectIsAWarning) {
  const auto set = [](std::string_view name, std::string_view value) {
    return fmt::format(
        "[[rule-sets]]\nenabled = true\nname = '{}'\ntaint = {{key = 'k', value = '{}', effect = 'NoSchedule'}}\n{}", name, value,
        kMatch);
  };
  EXPECT_THAT(
      findings_behind_breaker(set("a", "1") + set("b", "1") + set("c", "2")),
      ElementsAre(HasSubstr("17:9 warning: rule set \"c\": taint: same key and effect as in rule set \"a\" and 1 more,")));
}

TEST(Config, ATaintOrLabelWithoutKeyIsNone) {
  const FaultQuarantine config = read_fault_quarantine(
      fmt::format("{}[[rule-sets]]\nenabled = true\ntaint = {{key = '', effect = 'x'}}\nlabel = {{value = 'v'}}\n{}", kBreaker,
                  kMatch),
      {});
  EXPECT_TRUE(config.good());
  EXPECT_FALSE(config.rule_sets.at(0).taint || config.rule_sets.at(0).label);
}

TEST(Config, TheBreakerNeedsABoundAndADuration) {
  EXPECT_THAT(findings_of("[circuitBreaker]\nduration = '5m'\n"),
              ElementsAre(HasSubstr("1:1 circuitBreaker.percentage: no bound is given; ")));
  EXPECT_THAT(findings_of("[circuitBreaker]\npercentage = 0\nmaxNodes = 3\n"),
              ElementsAre("1:1 circuitBreaker.duration: invalid circuit breaker duration \"\"; write it as 300s, 5m or 1h30m"));
  EXPECT_THAT(findings_of("[circuitBreaker]\nmaxNodes = -1\nduration = '-5m'\n"),
              ElementsAre(HasSubstr("2:12 circuitBreaker.maxNodes: -1 is out of range"), HasSubstr("3:12")));
  const FaultQuarantine bounded = read_fault_quarantine("[circuitBreaker]\nmaxNodes = 3\nmaxCordonedNodes = 4\nduration = '1m'\n",
                                                        {});
  EXPECT_TRUE(bounded.good());
  EXPECT_EQ(bounded.breaker.max_nodes, 3);
  EXPECT_EQ(bounded.breaker.max_cordoned_nodes, 4);
}

TEST(Config, WithTheBreakerOffItsSectionCannotStopTheProgram) {
  const FaultQuarantine config = read_fault_quarantine("[circuitBreaker]\npercentage = 0\nduration = 'x'\n",
                                                       {.breaker_enabled = false});
  EXPECT_TRUE(config.good());
  EXPECT_THAT(shown(config), Not(IsEmpty()));
}

}  // namespace
}  // namespace nodeward::config
