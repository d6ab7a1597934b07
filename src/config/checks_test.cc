#include "config/checks.h"

#include <gtest/gtest.h>

#include <string>

namespace nodeward::config {
namespace {

TEST(Checks, KnowLabelKeys) {
  for (const auto key : {"a", "A_b.c-9", "gpu.example.com/fault", "x/y", "a-b.c/d"}) EXPECT_TRUE(is_label_key(key)) << key;
  for (const auto key : {"", "/", "a/", "/a", "a/b/c", "-a", "a-", "A.example/x", "a..b/x", "a b",
                         "gr\xc3\xb6\xc3\x9f"
                         "e"})
    EXPECT_FALSE(is_label_key(key)) << key;
  EXPECT_TRUE(is_label_key(std::string(63, 'a')));
  EXPECT_FALSE(is_label_key(std::string(64, 'a')));
  EXPECT_TRUE(is_label_key(std::string(253, 'a') + "/x"));
  EXPECT_FALSE(is_label_key(std::string(254, 'a') + "/x"));
}

TEST(Checks, KnowLabelValuesAndEffects) {
  EXPECT_TRUE(is_label_value(""));
  EXPECT_TRUE(is_label_value("a_b.c"));
  EXPECT_FALSE(is_label_value("a/b"));
  EXPECT_FALSE(is_label_value("a."));
  EXPECT_TRUE(is_taint_effect("PreferNoSchedule"));
  EXPECT_FALSE(is_taint_effect("noschedule"));
  EXPECT_FALSE(is_taint_effect(""));
}

TEST(Checks, ReadDurationsAsGoDoes) {
  EXPECT_EQ(parse_go_duration("300s"), 300s);
  EXPECT_EQ(parse_go_duration("1h30m"), 90min);
  EXPECT_EQ(parse_go_duration("1.5h"), 90min);
  EXPECT_EQ(parse_go_duration(".5s"), 500ms);
  EXPECT_EQ(parse_go_duration("-2ms"), -2ms);
  EXPECT_EQ(parse_go_duration("+7us3ns"), 7003ns);
  EXPECT_EQ(parse_go_duration("1\xc2\xb5s"), 1us);
  EXPECT_EQ(parse_go_duration("0"), 0s);
  for (const auto text : {"", "5", "5 minutes", "m", "-", "1h30", "1..5s", ".s", "1d", "s5", "3000000h"})
    EXPECT_FALSE(parse_go_duration(text)) << text;
}

}  // namespace
}  // namespace nodeward::config
