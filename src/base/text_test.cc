#include "base/text.h"

#include <gtest/gtest.h>

namespace nodeward {
namespace {

TEST(Text, TrimsAndSplits) {
  EXPECT_EQ(trimmed(" \t a b\r\n"), "a b");
  EXPECT_EQ(trimmed("  "), "");
  EXPECT_EQ(split("a,,b", ','), (std::vector<std::string>{"a", "", "b"}));
  EXPECT_EQ(split("", ','), (std::vector<std::string>{""}));
}

TEST(Text, ReadsWholeIntegersOnly) {
  EXPECT_EQ(parse_int("007"), 7);
  EXPECT_EQ(parse_int("+7"), 7);
  EXPECT_EQ(parse_int("-9223372036854775808"), INT64_MIN);
  for (const auto bad : {"", "8Gi", " 8", "8 ", "9223372036854775808", "+-7", "1.0", "0x8"}) EXPECT_FALSE(parse_int(bad)) << bad;
}

TEST(Text, ReadsBooleansAsGoDoes) {
  EXPECT_EQ(parse_go_bool("T"), true);
  EXPECT_EQ(parse_go_bool("False"), false);
  EXPECT_FALSE(parse_go_bool("yes"));
  EXPECT_FALSE(parse_go_bool("tRUE"));
}

TEST(Text, NamesTheFileThatCannotBeRead) {
  const auto missing = read_file("/nonexistent/file");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().message, "/nonexistent/file: cannot be read: No such file or directory");
}

}  // namespace
}  // namespace nodeward
