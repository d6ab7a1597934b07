// The list, the table and the neutral form, each alone.
#include <gmock/gmock.h>

#include "differential/differences.h"
#include "differential/neutral.h"
#include "differential/steps.h"

namespace nodeward::differential {
namespace {

using testing::HasSubstr;

TEST(DifferentialList, HasARequestALineWithOptionsAndABodyThatGoesOn) {
  const auto steps = parse_steps("== group\n# why\none PATCH /x?a=b @merge @take:3 {\"a\":\n  1}\n\ntwo GET /y\n");
  ASSERT_TRUE(steps);
  ASSERT_EQ(steps->size(), 2U);
  EXPECT_EQ((*steps)[0].group, "group");
  EXPECT_EQ((*steps)[0].id, "one");
  EXPECT_EQ((*steps)[0].path, "/x?a=b");
  EXPECT_TRUE((*steps)[0].has("merge"));
  EXPECT_EQ((*steps)[0].option("take"), "3");
  EXPECT_EQ((*steps)[0].body, "{\"a\":1}");
  EXPECT_EQ((*steps)[1].body, "");
}

TEST(DifferentialList, SaysWhichLineItDoesNotUnderstand) {
  EXPECT_THAT(parse_steps("one GET\n").error().message, HasSubstr("line 1: a request is"));
  EXPECT_THAT(parse_steps("\none GET /x @colour:red\n").error().message, HasSubstr("line 2: no option @colour"));
}

Json node(const char* uid, const char* version) { return {{"metadata", {{"uid", uid}, {"resourceVersion", version}}}}; }

TEST(DifferentialNeutral, KeepsWhatAVersionSays) {
  constexpr auto kUid = "aaaaaaaa-0000-0000-0000-000000000001";
  Neutral neutral;
  neutral.begin("make");
  EXPECT_EQ(neutral.body(node(kUid, "7"))["metadata"]["resourceVersion"], "<version of make>");
  neutral.begin("change");
  EXPECT_EQ(neutral.body(node(kUid, "9"))["metadata"]["resourceVersion"], "<version of change>");
  neutral.begin("look");
  EXPECT_EQ(neutral.body(node(kUid, "7"))["metadata"]["resourceVersion"], "<version of make>");
  EXPECT_EQ(neutral.body(node(kUid, "8"))["metadata"]["resourceVersion"], "<version of look, out of order>");
  EXPECT_EQ(neutral.body(node(kUid, "9"))["metadata"]["uid"], "<uid of make>");
}

TEST(DifferentialNeutral, TellsAListThatIsOlderThanWhatWasSeen) {
  Neutral neutral;
  neutral.body(node("aaaaaaaa-0000-0000-0000-000000000001", "9"));
  const auto version = [&](const char* text, std::string_view same = "") {
    return neutral.body({{"metadata", {{"resourceVersion", text}}}}, same)["metadata"]["resourceVersion"];
  };
  EXPECT_EQ(version("9"), "<now>");
  EXPECT_EQ(version("8"), "<earlier>");
  EXPECT_EQ(version("8", "8"), "<the same>");
  EXPECT_EQ(version("9", "8"), "<another>");
}

TEST(DifferentialNeutral, TakesOutTimesUidsAndManagedFields) {
  Neutral neutral;
  neutral.begin("step");
  EXPECT_EQ(neutral.body({{"metadata", {{"managedFields", {1}}, {"creationTimestamp", "2026-01-01T00:00:00Z"}}},
                          {"message", "uid aaaaaaaa-0000-0000-0000-000000000001 at 2026-01-01T00:00:00.123456Z"}}),
            (Json{{"metadata", {{"creationTimestamp", "<time>"}}}, {"message", "uid <uid of step> at <micro time>"}}));
  EXPECT_EQ(neutral.text("too old resource version: 12 (345)"), "too old resource version: <version> (<oldest>)");
}

TEST(DifferentialTable, NamesStepsAndTheirReason) {
  const auto table = parse_differences(
      "# x\n| `no` | outside |\n## Differences\n| step | why |\n|---|---|\n| `a`, `b` | because |\n## y\n");
  ASSERT_TRUE(table);
  EXPECT_EQ(*table, (std::map<std::string, std::string>{{"a", "because"}, {"b", "because"}}));
}

TEST(DifferentialTable, RefusesARowWithoutAReasonAndAStepNamedTwice) {
  EXPECT_FALSE(parse_differences("no section"));
  EXPECT_THAT(parse_differences("## Differences\n| `a` | |\n").error().message, HasSubstr("without a reason"));
  EXPECT_THAT(parse_differences("## Differences\n| `a` | x |\n| `a` | y |\n").error().message, HasSubstr("a: listed twice"));
}

}  // namespace
}  // namespace nodeward::differential
