#include "base/base64.h"

#include <gtest/gtest.h>

namespace nodeward {
namespace {

TEST(Base64, DecodesWhatIsPaddedAndPassesOverBlanks) {
  EXPECT_EQ(decode_base64(""), "");
  EXPECT_EQ(decode_base64("aA=="), "h");
  EXPECT_EQ(decode_base64("aGU="), "he");
  EXPECT_EQ(decode_base64("aGVs\r\n bG8\t=\n"), "hello");
  EXPECT_EQ(decode_base64("+/+/"), "\xfb\xff\xbf");
}

TEST(Base64, EncodesWhatItDecodes) {
  for (const char* text : {"", "h", "he", "hel", "hell", "\xfb\xff\xbf"}) EXPECT_EQ(decode_base64(encode_base64(text)), text);
  EXPECT_EQ(encode_base64("he"), "aGU=");
}

TEST(Base64, RefusesWhatIsNotStandard) {
  for (const char* text : {"a", "aG", "aGV", "aA=", "aA===", "aA==aA==", "=", "====", "a=b=", "aG!s", "-_-_"}) {
    EXPECT_EQ(decode_base64(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace nodeward
