#include "apps/nodeward/event_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apps/nodeward/cel_command.h"

namespace nodeward::apps {
namespace {

Json view(const char* text) { return *event_view(*parse_json(text)); }
std::string problem(const char* text) {
  const auto viewed = event_view(*parse_json(text));
  return viewed ? "accepted" : viewed.error().message;
}

TEST(EventView, FillsMissingMembersWithTheirZero) {
  const Json event = view(R"({"agent": "a"})");
  EXPECT_EQ(event.size(), 18U);
  EXPECT_EQ(event["agent"], "a");
  EXPECT_EQ(event["message"], "");
  EXPECT_EQ(event["isFatal"], false);
  EXPECT_EQ(event["recommendedAction"], 0);
  for (const char* const member :
       {"errorCode", "entitiesImpacted", "metadata", "generatedTimestamp", "quarantineOverrides", "drainOverrides"}) {
    EXPECT_TRUE(event[member].is_null()) << member;
  }
}

TEST(EventView, KeepsExplicitNullAndEmpty) {
  const Json event = view(R"({"errorCode": [], "metadata": {}, "entitiesImpacted": null})");
  EXPECT_EQ(event["errorCode"], Json::array());
  EXPECT_EQ(event["metadata"], Json::object());
  EXPECT_TRUE(event["entitiesImpacted"].is_null());
}

TEST(EventView, ReadsADatabaseDocumentAndNamesInAnyCase) {
  const Json event = view(R"({"createdAt": "2026-08-31T10:00:01Z", "healthevent": {"nodename": "gpu-07", "ISFATAL": true,
      "generatedtimestamp": {"seconds": 5}, "quarantineoverrides": {"force": true}, "entitiesimpacted": [{"entitytype": "GPU"}]}})");
  EXPECT_EQ(event["nodeName"], "gpu-07");
  EXPECT_EQ(event["isFatal"], true);
  EXPECT_EQ(event["generatedTimestamp"], (Json{{"seconds", 5}, {"nanos", 0}}));
  EXPECT_EQ(event["quarantineOverrides"], (Json{{"force", true}, {"skip", false}}));
  EXPECT_EQ(event["entitiesImpacted"], (Json::array({{{"entityType", "GPU"}, {"entityValue", ""}}})));
}

TEST(EventView, NamesTheMemberThatIsWrong) {
  EXPECT_EQ(problem(R"({"isFatal": "yes"})"), "event.isFatal must be true or false");
  EXPECT_EQ(problem(R"({"errorCode": [79]})"), "event.errorCode must be a list of strings");
  EXPECT_EQ(problem(R"({"entitiesImpacted": [{"entityType": 1}]})"), "event.entitiesImpacted[0].entityType must be a string");
  EXPECT_EQ(problem("[]"), "an event must be a JSON object");
}

TEST(EventView, ReadsARecord) {
  EXPECT_EQ(view(R"({"recordId": "1", "document": {"healthevent": {"agent": "a"}}})")["agent"], "a");
  EXPECT_EQ(view(R"({"recordId": "1", "document": {"agent": "a"}})")["agent"], "a");
}

TEST(EventView, RefusesAFileThatIsNoEventAtAll) {
  const char* const no_event = "no event: none of its members is there (agent, checkName, nodeName, ...)";
  EXPECT_EQ(problem("{}"), no_event);
  EXPECT_EQ(problem(R"({"kind": "Node", "metadata_": {}})"), no_event);
  EXPECT_EQ(problem(R"({"version": 1, "events": [{"agent": "a"}]})"), no_event);
}

TEST(NodeView, RefusesAList) {
  const auto list = node_view(*parse_json(R"({"kind": "List", "metadata": {}, "items": []})"));
  ASSERT_FALSE(list);
  EXPECT_EQ(list.error().message, "kind \"List\" is no Node; give one node, as kubectl get node NAME -o json prints it");
}

TEST(NodeView, DropsTheStatus) {
  EXPECT_EQ(*node_view(*parse_json(R"({"metadata": {"name": "n"}, "status": {"phase": "x"}})")),
            *parse_json(R"({"metadata": {"name": "n"}})"));
  EXPECT_FALSE(node_view(*parse_json("{}")));
}

struct Ran {
  int exit_code = 0;
  std::string out, err;
};
Ran run(std::vector<std::string> arguments) {
  CLI::App app("test");
  Ran ran;
  add_cel_command(app, ran.exit_code);
  std::reverse(arguments.begin(), arguments.end());
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  app.parse(arguments);
  ran.out = testing::internal::GetCapturedStdout();
  ran.err = testing::internal::GetCapturedStderr();
  return ran;
}

TEST(CelEval, PrintsTheValueAsCelText) {
  const Ran ran = run({"cel", "eval", "[1, 2.0, 'a\\n', 7u, null, {'k': true}]"});
  EXPECT_EQ(ran.exit_code, 0);
  EXPECT_EQ(ran.out, "[1, 2.0, \"a\\n\", 7u, null, {\"k\": true}]\n");
}

TEST(CelEval, ShowsThePlaceOfAnErrorAndExitsWithOne) {
  const Ran refused = run({"cel", "eval", "event.isFatal"});
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_EQ(refused.out, "");
  EXPECT_EQ(refused.err,
            "1:1: unknown name 'event'\n  event.isFatal\n  ^\n"
            "no variable is known without a file: --event FILE gives event, --node FILE gives node\n");
  const Ran failed = run({"cel", "eval", "1 + 2 == 3 && [1, 2].map(x, 4 / (x - 2)) == []"});
  EXPECT_EQ(failed.exit_code, 1);
  EXPECT_EQ(failed.err,
            "1:31: division by zero\n  1 + 2 == 3 && [1, 2].map(x, 4 / (x - 2)) == []\n                                ^\n");
}

TEST(CelEval, OffersTheRulesEnvironmentUnlessAskedForAll) {
  EXPECT_EQ(run({"cel", "eval", "math.greatest(1, 2)"}).exit_code, 1);
  EXPECT_EQ(run({"cel", "eval", "--ext", "all", "math.greatest(1, 2)"}).out, "2\n");
  EXPECT_EQ(run({"cel", "eval", "'a-b'.split('-')"}).out, "[\"a\", \"b\"]\n");
}

TEST(CelEval, ExplainsWhatWasNotReached) {
  EXPECT_EQ(run({"cel", "eval", "--explain", "1 < 2 || 3 < 4"}).out,
            "1 < 2 || 3 < 4  =>  true\n  1 < 2  =>  true\n  3 < 4  =>  not reached\n");
}

TEST(CelEval, ExplainCutsLongValues) {
  EXPECT_THAT(run({"cel", "eval", "--explain", "'" + std::string(200, 'x') + "' + 'y'"}).out,
              testing::EndsWith("  =>  \"" + std::string(119, 'x') + "...\n"));
}

}  // namespace
}  // namespace nodeward::apps
