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

TEST(Text, AFileThatFailsWhileItIsReadIsNoEmptyFile) {
  const auto broken = read_file("/proc/self/mem");   // opens, and fails at the first byte
  ASSERT_FALSE(broken);
  EXPECT_EQ(broken.error().message, "/proc/self/mem: cannot be read: Input/output error");
  EXPECT_EQ(read_file("/dev/null").value(), "");
  const auto endless = read_file("/dev/zero");
  ASSERT_FALSE(endless);
  EXPECT_EQ(endless.error().message, "/dev/zero: is larger than 256 MiB");
}

TEST(Text, ShortensInTheMiddle) {
  EXPECT_EQ(shortened("abcdefghij", 10), "abcdefghij");
  EXPECT_EQ(shortened("abcdefghijk", 10), "abc...ijk");
  EXPECT_EQ(shortened("ab\xc3\xa4-------\xc3\xa4yz", 10), "ab...yz") << "no half characters";
  EXPECT_EQ(shortened("abcdef", 2), "...");
}

}  // namespace
}  // namespace nodeward
