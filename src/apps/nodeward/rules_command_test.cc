#include "apps/nodeward/rules_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace nodeward::apps {
namespace {

using ::testing::HasSubstr;

struct Ran {
  int exit_code = -1;
  std::string out, err;
};

Ran run(const std::string& arguments) {
  CLI::App app;
  Ran ran;
  add_rules_command(app, ran.exit_code);
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  app.parse(arguments);
  ran.out = testing::internal::GetCapturedStdout();
  ran.err = testing::internal::GetCapturedStderr();
  return ran;
}

const std::string kData = NW_SOURCE_DIR "/tests/data/";

TEST(RulesCheck, SaysWhatAGoodFileHolds) {
  const Ran ran = run("rules check " + kData + "examples/fault-quarantine.toml");
  EXPECT_EQ(ran.exit_code, 0);
  EXPECT_EQ(ran.out, kData + "examples/fault-quarantine.toml: 9 rule sets, 8 of them enabled with 12 conditions\n");
  EXPECT_EQ(ran.err, "");
}

TEST(RulesCheck, ShowsThePlaceOfEachError) {
  const Ran ran = run("rules check " + kData + "config/bare-cr.toml");
  EXPECT_EQ(ran.exit_code, 1);
  EXPECT_EQ(ran.out, "");
  EXPECT_EQ(ran.err, kData + "config/bare-cr.toml:1:34: error: a carriage return alone ends no line; use LF or CRLF line ends\n" +
                         "    label-prefix = \"ops.example.com/\"\n" + std::string(4 + 33, ' ') + "^\n" + kData +
                         "config/bare-cr.toml: 1 error\n");
}

TEST(RulesCheck, KnowsThatTheBreakerMayBeOff) {
  EXPECT_EQ(run("rules check " + kData + "config/empty.toml").exit_code, 1);
  const Ran ran = run("rules check --circuit-breaker-enabled=false " + kData + "config/empty.toml");
  EXPECT_EQ(ran.exit_code, 0);
  EXPECT_THAT(ran.err, HasSubstr("config/empty.toml:1:1: warning: no rule set is enabled"));
}

TEST(RulesCheck, NamesAFileThatIsNotThere) {
  const Ran ran = run("rules check /none.toml");
  EXPECT_EQ(ran.exit_code, 1);
  EXPECT_EQ(ran.err, "/none.toml: cannot be read: No such file or directory\n");
}

}  // namespace
}  // namespace nodeward::apps
