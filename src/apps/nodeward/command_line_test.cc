#include "apps/nodeward/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace nodeward::apps {
namespace {

using ::testing::HasSubstr;

struct Ran {
  int exit_code = -1;
  std::string out, err;
};

Ran run(std::vector<const char*> words) {
  words.insert(words.begin(), "build/bin/nodeward");
  Ran ran;
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  ran.exit_code = run_nodeward(static_cast<int>(words.size()), words.data());
  ran.out = testing::internal::GetCapturedStdout();
  ran.err = testing::internal::GetCapturedStderr();
  return ran;
}

TEST(NodewardCommandLine, SaysInOneLineWhatIsWrongWithIt) {
  struct Case {
    std::vector<const char*> words;
    const char* wanted;
  };
  const Case cases[] = {
      {{}, "nodeward: a command is missing; there are: cel, rules, sim (nodeward --help says more)\n"},
      {{"rulse", "check"}, "nodeward: unknown command \"rulse\"; there are: cel, rules, sim (nodeward --help says more)\n"},
      {{"--verison"}, "nodeward: unknown flag --verison (nodeward --help says more)\n"},
      {{"cel", "evl", "1"}, "nodeward cel: unknown command \"evl\"; there are: eval (nodeward cel --help says more)\n"},
      {{"cel", "eval"}, "nodeward cel eval: expression is required (nodeward cel eval --help says more)\n"},
      {{"cel", "eval", "1", "--evnt", "x"}, "nodeward cel eval: unknown flag --evnt (nodeward cel eval --help says more)\n"},
      {{"rules", "check", "a", "b"}, "nodeward rules check: \"b\" is too much (nodeward rules check --help says more)\n"},
      {{"rules", "check", "--circuit-breaker-enabled=maybe", "a"},
       "nodeward rules check: --circuit-breaker-enabled: maybe not in {true,false} (nodeward rules check --help says more)\n"}};
  for (const Case& one : cases) {
    const Ran ran = run(one.words);
    EXPECT_EQ(ran.exit_code, 2);
    EXPECT_EQ(ran.err, one.wanted);
    EXPECT_EQ(ran.out, "");
  }
}

TEST(NodewardCommandLine, HelpListsTheCommandsWithASentenceEach) {
  const Ran ran = run({"--help"});
  EXPECT_EQ(ran.exit_code, 0);
  EXPECT_THAT(ran.out,
              HasSubstr("cel                         Try an expression of the rule language: nodeward cel eval EXPRESSION"));
  EXPECT_THAT(ran.out, HasSubstr("rules                       Check a rule file of fault-quarantine: nodeward rules check FILE"));
}

TEST(NodewardCommandLine, EndsWithTheExitCodeOfItsCommand) {
  EXPECT_EQ(run({"cel", "eval", "1 + 1"}).out, "2\n");
  EXPECT_EQ(run({"cel", "eval", "1 +"}).exit_code, 1);
}

}  // namespace
}  // namespace nodeward::apps
