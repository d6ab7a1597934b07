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

}  // namespace
}  // namespace nodeward::config
