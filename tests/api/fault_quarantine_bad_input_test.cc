// What fault-quarantine does with wrong flags, wrong rule files and wrong event lines: configuration ends it before any write, with
// the place and what would be right; a wrong line is counted, reported and passed.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <fstream>

#include "api/fault_quarantine_fixture.h"
#include "base/text.h"
#include "base/version.h"

namespace nodeward::api {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

constexpr auto kNode = "gpu-a-001";
constexpr auto kHead = "label-prefix = \"ops.example.com/\"\n[circuitBreaker]\npercentage = 50\nduration = \"5m\"\n";

class FaultQuarantineBadInput : public FaultQuarantineOnTheServer {
 protected:
  void SetUp() override {
    FaultQuarantineOnTheServer::SetUp();
    admin().create_node(example_node(kNode));
    append(example_event("fatal-gpu0"));  // what one that gets through would act on
    before_ = admin().node(kNode);
  }

  Json before_;

  std::filesystem::path rule_file(const std::string& text) {
    std::filesystem::path file = folder_ / "rules.toml";
    std::ofstream(file) << text;
    return file;
  }
  void expect_nothing_written() {
    EXPECT_THAT(controller().audit(), IsEmpty());
    EXPECT_EQ(admin().node(kNode), before_);
  }
  // Exit code 1 before any write; every finding is a line of its own.
  void expect_refused(const std::filesystem::path& rules, const testing::Matcher<std::string>& findings) {
    launch(flags(Input::kEnds, rules));
    EXPECT_EQ(controller().wait_for_exit(), 1);
    EXPECT_THAT(controller().output(), findings);
    EXPECT_THAT(controller().log_of("fault-quarantine cannot run"), SizeIs(1));
    expect_nothing_written();
  }
  void expect_refused(const std::string& rules, const testing::Matcher<std::string>& findings) {
    expect_refused(rule_file(rules), findings);
  }
  // Only what is said, and the exit code: no cluster is named.
  void expect_sentence(const std::vector<std::string>& flags, int exit_code, const testing::Matcher<std::string>& sentence,
                       const std::vector<std::string>& environment = {}) {
    SCOPED_TRACE(fmt::format("{}", fmt::join(flags, " ")));
    ControllerProcess process("fault-quarantine", folder_, flags, environment);
    EXPECT_EQ(process.wait_for_exit(), exit_code);
    EXPECT_THAT(process.output(), sentence);
  }
};

std::string rule_set(const std::string& name, const std::string& kind, const std::string& expression) {
  return fmt::format(
      "[[rule-sets]]\nenabled = true\nversion = \"1\"\nname = \"{}\"\n[[rule-sets.match.all]]\nkind = \"{}\"\nexpression = "
      "\"{}\"\n"
      "[rule-sets.cordon]\nshouldCordon = true\n",
      name, kind, expression);
}

TEST_F(FaultQuarantineBadInput, ASyntaxErrorNamesFileLineAndColumn) {
  expect_refused(std::string(kHead) + "[[rule-sets]\n", HasSubstr("rules.toml:5:"));
  expect_refused(std::filesystem::path(NW_SOURCE_DIR "/tests/data/config/two-same-key.toml"), HasSubstr("two-same-key.toml:"));
  expect_refused(std::filesystem::path(NW_SOURCE_DIR "/tests/data/config/bare-cr.toml"), HasSubstr("bare-cr.toml:"));
  expect_refused(std::filesystem::path(NW_SOURCE_DIR "/tests/data/config/utf16.toml"), HasSubstr("UTF-8"));
  expect_refused(std::filesystem::path("/nowhere/rules.toml"),
                 AllOf(HasSubstr("/nowhere/rules.toml"), HasSubstr("No such file")));
}

TEST_F(FaultQuarantineBadInput, EverythingThatIsWrongWithTheRulesIsToldAtOnceWithItsPlace) {
  const std::string rules = kHead + rule_set("broken", "HealthEvent", "event.isFatal &&") +
                            rule_set("no-bool", "HealthEvent", "1 + 1") + rule_set("of-pods", "Pod", "true") +
                            rule_set("twice", "HealthEvent", "true") + rule_set("twice", "HealthEvent", "true");
  expect_refused(rules, AllOf(HasSubstr("rules.toml:11:"), HasSubstr("rules.toml:20:"), HasSubstr("bool"),
                              HasSubstr("rules.toml:28:"), HasSubstr("Pod"), HasSubstr("rules.toml:44:"), HasSubstr("twice")));
}

TEST_F(FaultQuarantineBadInput, ByteOrderMarkLineEndsAndUnknownKeysDoNotStopIt) {
  std::ofstream(events()).flush();
  for (const char* file : {"bom-crlf.toml", "crlf-mixed.toml", "no-final-newline.toml", "tab-and-comment.toml"}) {
    launch(flags(Input::kEnds, std::filesystem::path(NW_SOURCE_DIR "/tests/data/config") / file));
    EXPECT_EQ(controller().wait_for_exit(), 0) << file << controller().output();
  }
  launch(flags(Input::kEnds, rule_file(std::string(kHead) + "colour = \"red\"\n" + rule_set("good", "HealthEvent", "false"))));
  EXPECT_EQ(controller().wait_for_exit(), 0);
  EXPECT_THAT(controller().output(), AllOf(HasSubstr("rules.toml:5:1: warning:"), HasSubstr("colour")));
}

TEST_F(FaultQuarantineBadInput, ABadLineIsCountedReportedAndPassed) {
  const std::string nul = R"({"nodeName":"gpu-a-001","message":"a)" + std::string(1, '\0') + R"(b"})";
  const struct {
    std::string line;
    const char* why;
  } bad[] = {{"no json", "JSON"},
             {R"({"nodeName": "gpu-a-001", "isFatal": )", "JSON"},
             {R"({"nodeName": 7})", "nodeName"},
             {R"({"nodeName":"gpu-a-001","isFatal":"perhaps"})", "isFatal"},
             {R"({"nodeName":"gpu-a-001","entitiesImpacted":"GPU"})", "entitiesImpacted"},
             {"[1, 2]", ""},
             {nul, "NUL"},
             {"{\"nodeName\":\"gpu-a-001\",\"message\":\"\xff\xfe\"}", "UTF-8"},
             {R"({"nodeName":"gpu-a-001","message":")" + std::string(10 << 20, 'x') + "\"}", "longer than 1048576 bytes"}};
  std::map<int, std::string> wanted;
  for (const auto& each : bad) wanted[append(each.line)] = each.why;
  const int last = append(example_event("fatal-gpu1"));

  launch(flags(Input::kFollowed, example_rules()));
  EXPECT_EQ(outcome(last)["status"], "AlreadyQuarantined");
  EXPECT_EQ(outcome(1)["status"], "Quarantined");
  for (const auto& [line, why] : wanted) {
    const Json became = outcome(line);
    EXPECT_EQ(became["decision"], "unreadable") << became;
    EXPECT_THAT(became["error"].get<std::string>(), AllOf(HasSubstr(why), Not(IsEmpty()))) << became;
    EXPECT_LT(became["error"].get<std::string>().size(), 300U) << "a line is not quoted whole";
  }
  EXPECT_EQ(controller().metric(R"(fault_quarantine_processing_errors_total{error_type="unmarshal_error"})"), std::size(bad));
  const std::vector<Json> told = controller().log_of("an event cannot be read");
  ASSERT_THAT(told, SizeIs(std::size(bad)));
  EXPECT_THAT(told[0]["where"].get<std::string>(), HasSubstr("events.jsonl:2"));
  EXPECT_EQ(stop(), 0);

  launch(flags(Input::kEnds, example_rules()));
  EXPECT_EQ(controller().wait_for_exit(), 0) << "bad lines are no failure of the program";
  EXPECT_THAT(outcomes(), SizeIs(std::size(bad) + 2));
}

TEST_F(FaultQuarantineBadInput, WhatIsNotThereYetIsRefusedInASentence) {
  expect_sentence({"--event-source", "postgres"}, 2, AllOf(HasSubstr("PostgreSQL"), HasSubstr("file:PATH")));
  expect_sentence({}, 2, HasSubstr("DATASTORE_PROVIDER"), {"DATASTORE_PROVIDER=postgresql"});
  expect_sentence({"--dry-run", "--event-source=file:-"}, 2, AllOf(HasSubstr("--dry-run"), HasSubstr("--print-only")));
}

TEST_F(FaultQuarantineBadInput, WithoutASourceOfEventsTheChoicesAreNamed) {
  const auto choices = AllOf(HasSubstr("--event-source file:PATH"), HasSubstr("PostgreSQL"),
                             HasSubstr("\"msg\":\"fault-quarantine cannot run\""));
  expect_sentence({}, 1, choices);
  expect_sentence({}, 1, choices, {"MONGODB_URI=mongodb://user:very-secret@db"});
  expect_sentence({}, 1, AllOf(choices, HasSubstr("mongodb")), {"DATASTORE_PROVIDER=mongodb"});
}

TEST_F(FaultQuarantineBadInput, AValueThatCannotBeIsRefusedBeforeAnyWrite) {
  const struct {
    const char* flag;
    const char* would_be_right;
  } cases[] = {{"--metrics-port=abc", "0 to 65535"},
               {"--workers=0", "1 to 256"},
               {"--kube-api-burst=-1", "0 (= 10) or more"},
               {"--gpu-node-label=gpu", "KEY=VALUE"},
               {"--config-path=", "path of the rule file"},
               {"--event-source=events.jsonl", "file:PATH"},
               {"--event-source=file:/nowhere/events", "/nowhere/events"},
               {"--outcomes=/nowhere/outcomes", "/nowhere/outcomes"}};
  for (const auto& each : cases) {
    SCOPED_TRACE(each.flag);
    auto all = flags(Input::kEnds, example_rules());
    all.emplace_back(each.flag);
    launch(all);
    EXPECT_EQ(controller().wait_for_exit(), 1);
    ASSERT_THAT(controller().log_of("fault-quarantine cannot run"), SizeIs(1)) << controller().output();
    const std::string error = controller().log_of("fault-quarantine cannot run")[0].at("error");
    const std::string flag(each.flag);
    EXPECT_THAT(error, AllOf(HasSubstr(flag.substr(0, flag.find('='))), HasSubstr(each.would_be_right), Not(HasSubstr("\n"))));
    expect_nothing_written();
  }
  expect_sentence({"--no-such-flag"}, 2, HasSubstr("no-such-flag"));
  expect_sentence({"--circuit-breaker-enabled", "false", "--print-only"}, 2, HasSubstr("--circuit-breaker-enabled=false"));
  expect_sentence({"--version"}, 0, fmt::format("fault-quarantine {}\n", version()));
}

TEST_F(FaultQuarantineBadInput, OutcomesNeverOverwriteTheEvents) {
  const std::string before = read_file(events()).value();
  auto all = flags(Input::kEnds, example_rules());
  all.push_back("--outcomes=" + events().string());
  launch(all);
  EXPECT_EQ(controller().wait_for_exit(), 1);
  EXPECT_THAT(controller().output(), AllOf(HasSubstr("--outcomes"), HasSubstr("is the file that the events are read from")));
  EXPECT_EQ(read_file(events()).value(), before);
  expect_nothing_written();
}

TEST_F(FaultQuarantineBadInput, AFullDiskForOutcomesIsToldAndMakesItExitOne) {
  auto all = flags(Input::kEnds, example_rules());
  all.emplace_back("--outcomes=/dev/full");
  launch(all);
  EXPECT_EQ(controller().wait_for_exit(), 1);
  EXPECT_THAT(controller().log_of("not every outcome could be written"), SizeIs(1));
  EXPECT_TRUE(node(kNode).cordoned()) << "the event itself is acted on";
}

TEST_F(FaultQuarantineBadInput, AFollowedFileThatIsDeletedEndsIt) {
  launch(flags(Input::kFollowed, example_rules()));
  EXPECT_EQ(outcome(1)["status"], "Quarantined");
  std::filesystem::remove(events());
  EXPECT_EQ(controller().wait_for_exit(), 1);
  EXPECT_THAT(controller().output(), HasSubstr("events.jsonl: was deleted or replaced while it was followed"));
}

TEST_F(FaultQuarantineBadInput, AnEnabledBreakerWarnsAtTheStart) {
  auto all = flags(Input::kEnds, example_rules());
  launch(all);
  EXPECT_EQ(controller().wait_for_exit(), 0);
  EXPECT_THAT(controller().output(), Not(HasSubstr("circuit breaker")));
  all.emplace_back("--circuit-breaker-enabled=true");
  launch(all);
  EXPECT_EQ(controller().wait_for_exit(), 0);
  EXPECT_THAT(controller().output(), HasSubstr("this version has no circuit breaker"));
}

TEST_F(FaultQuarantineBadInput, PrintOnlyShowsTheWriteAndSendsNone) {
  auto all = flags(Input::kEnds, example_rules());
  all.emplace_back("--print-only");
  launch(all);
  EXPECT_EQ(controller().wait_for_exit(), 0);
  EXPECT_THAT(controller().log_of("fault-quarantine starts; print-only: nothing is written"), SizeIs(1));
  EXPECT_THAT(controller().printed(), Contains(AllOf(HasSubstr("gpu-a-001: {"), HasSubstr("\"unschedulable\":true"))));
  expect_nothing_written();
}

}  // namespace
}  // namespace nodeward::api
