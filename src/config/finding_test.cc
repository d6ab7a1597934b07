#include "config/finding.h"

#include <gtest/gtest.h>

namespace nodeward::config {
namespace {

TEST(Finding, ShowsTheLineAndThePlace) {
  const std::string text =
      "a = 1\n\tgr\xc3\xb6\xc3\x9f"
      "e = x y\r\n\nlast";
  EXPECT_EQ(to_text({Severity::kError, {2, 11}, "what"}, "f.toml", text),
            "f.toml:2:11: error: what\n    \tgr\xc3\xb6\xc3\x9f"
            "e = x y\n    \t         ^");
  EXPECT_EQ(to_text({Severity::kWarning, {1, 1}, "what"}, "f", text), "f:1:1: warning: what\n    a = 1\n    ^");
  EXPECT_EQ(to_text({Severity::kError, {4, 5}, "at the end"}, "f", text), "f:4:5: error: at the end\n    last\n        ^");
  EXPECT_EQ(to_text({Severity::kError, {3, 1}, "empty"}, "f", text), "f:3:1: error: empty");
  EXPECT_EQ(to_text({Severity::kError, {9, 1}, "beyond"}, "f", text), "f:9:1: error: beyond");
}

TEST(Finding, CutsALongLineAroundThePlace) {
  const std::string text = std::string(500, 'a') + "B" + std::string(500, 'c');
  const std::string shown = to_text({Severity::kError, {1, 501}, "x"}, "f", text);
  EXPECT_EQ(shown, "f:1:501: error: x\n    " + std::string(60, 'a') + "B" + std::string(59, 'c') + "\n    " +
                       std::string(60, ' ') + "^");
}

TEST(Finding, StaysOnOneLineWhateverTheFileHolds) {
  EXPECT_EQ(to_text({Severity::kError, {1, 1}, "\"a\nb\x1b[31m\" is no name"}, "f", ""),
            "f:1:1: error: \"a\\u000ab\\u001b[31m\" is no name");
  EXPECT_EQ(to_text({Severity::kError, {1, 1}, "x"}, "f", "\x1b[2Ja\tb"), "f:1:1: error: x\n    ?[2Ja\tb\n    ^");
  const std::string value(100'000, 'k');
  const std::string shown = to_text({Severity::kError, {1, 1}, "key: \"" + value + "\" is no label key"}, "f", "");
  EXPECT_LT(shown.size(), 1100U);
  EXPECT_TRUE(shown.ends_with("kk\" is no label key"));
}

}  // namespace
}  // namespace nodeward::config
