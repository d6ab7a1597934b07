#include "telemetry/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "base/json.h"
#include "base/text.h"

namespace nodeward::telemetry {
namespace {

// What `write` logs, as text.
template <class Write>
std::string logged(const LogOptions& options, Write write) {
  start_log(options);
  testing::internal::CaptureStderr();
  write();
  const std::string text = testing::internal::GetCapturedStderr();
  start_log({});
  return text;
}

TEST(Log, WritesOneJsonLineInUpstreamsOrder) {
  const std::string text = logged({.module = "labeler", .version = "1.2"}, [] {
    info("Setting DCGM version label on node", {{"node", "n1"}, {"version", "4.x"}});
  });
  EXPECT_THAT(text,
              testing::MatchesRegex("\\{\"time\":\"[0-9]+-[0-9]+-[0-9]+T[0-9]+:[0-9]+:[0-9]+\\.[0-9]+Z\",\"level\":\"INFO\","
                                    "\"msg\":\"Setting DCGM version label on node\",\"module\":\"labeler\",\"version\":\"1.2\","
                                    "\"node\":\"n1\",\"version\":\"4.x\"\\}\n"));
}

TEST(Log, LeavesOutWhatIsBelowItsLevel) {
  const auto levels_at = [](Level level) {
    std::string levels;
    for (const std::string& line : split(logged({.level = level}, [] { debug("x"), info("x"), warn("x"), error("x"); }), '\n')) {
      if (!line.empty()) levels += parse_json(line).value()["level"].get<std::string>() + " ";
    }
    return levels;
  };
  EXPECT_EQ(levels_at(Level::kDebug), "DEBUG INFO WARN ERROR ");
  EXPECT_EQ(levels_at(Level::kInfo), "INFO WARN ERROR ");
  EXPECT_EQ(levels_at(Level::kError), "ERROR ");
}

TEST(Log, QuotesWhatWouldBreakALine) {
  const std::string text = logged({}, [] { info("a \"b\"\n", {{"k{}ey", "\xff\x01 %v {}"}}); });
  ASSERT_EQ(std::count(text.begin(), text.end(), '\n'), 1);
  const Json line = parse_json(text).value();
  EXPECT_EQ(line["msg"], "a \"b\"\n");
  EXPECT_EQ(line["k{}ey"], "\xEF\xBF\xBD\x01 %v {}");
}

TEST(Log, KeepsTheLinesOfManyThreadsWhole) {
  const std::string text = logged({}, [] {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 8; ++i) {
      threads.emplace_back([] {
        for (int n = 0; n < 100; ++n) info("line", {{"node", std::string(200, 'n')}});
      });
    }
  });
  int lines = 0;
  for (const std::string& line : split(text, '\n')) {
    if (line.empty()) continue;
    ASSERT_TRUE(parse_json(line)) << line;
    ++lines;
  }
  EXPECT_EQ(lines, 800);
}

TEST(Log, ReadsLevelsAsUpstreamDoes) {
  EXPECT_EQ(level_from(" DeBug\n"), Level::kDebug);
  EXPECT_EQ(level_from("warn"), Level::kWarn);
  EXPECT_EQ(level_from("WARNING"), Level::kWarn);
  EXPECT_EQ(level_from("error"), Level::kError);
  for (const char* other : {"", "info", "trace", "fatal", "2"}) EXPECT_EQ(level_from(other), Level::kInfo) << other;
}

}  // namespace
}  // namespace nodeward::telemetry
