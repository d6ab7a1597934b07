#include "base/go_duration.h"

#include <gtest/gtest.h>

namespace nodeward {
namespace {

TEST(GoDuration, IsReadAsGoDoes) {
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
}  // namespace nodeward
