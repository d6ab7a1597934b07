#include "kube/objects.h"

#include <gtest/gtest.h>

namespace nodeward::kube {
namespace {

std::optional<std::strong_ordering> order(std::string_view a, std::string_view b) {
  return compare(ResourceVersion{a}, ResourceVersion{b});
}

TEST(ResourceVersion, ComparesAsDecimalNumbersOfAnySize) {
  EXPECT_TRUE(*order("9", "10") < 0);
  EXPECT_TRUE(*order("99999999999999999999999", "100000000000000000000000") < 0);
  EXPECT_TRUE(*order("10", "010") == 0);
  EXPECT_TRUE(*order("11", "10") > 0);
}

TEST(ResourceVersion, OtherTextsAreEqualOrIncomparable) {
  EXPECT_TRUE(*order("abc", "abc") == 0);
  EXPECT_FALSE(order("abc", "abd"));
  EXPECT_FALSE(order("12", "abc"));
  EXPECT_FALSE(order("", "1"));
}

TEST(Uid, KeepsUuidsExactlyAndHashesTheRest) {
  EXPECT_EQ(Uid::from("00000000-0000-4000-8000-000100000005"), (Uid{0x4000, 0x8000000100000005}));
  EXPECT_NE(Uid::from("mirror-a"), Uid::from("mirror-b"));
  EXPECT_EQ(Uid::from("mirror-a"), Uid::from("mirror-a"));
  EXPECT_TRUE(Uid::from("").empty());
}

TEST(SymbolMap, SetsGetsAndErases) {
  SymbolMap map;
  map.set("b", "2");
  map.set("a", "1");
  map.set("b", "3");
  EXPECT_EQ(map.get("a"), "1");
  EXPECT_EQ(map.get("b"), "3");
  map.erase("a");
  map.erase("zz");
  EXPECT_FALSE(map.get("a"));
  EXPECT_EQ(map.size(), 1U);
  map.set("empty", "");
  EXPECT_EQ(map.get("empty"), "");
}

TEST(Node, AHeartbeatIsTheSameContent) {
  Node a;
  a.name = NodeName{"n1"};
  a.version = ResourceVersion{"1"};
  Node b = a;
  b.version = ResourceVersion{"2"};
  EXPECT_TRUE(a.same_content(b));
  b.labels.set("k", "v");
  EXPECT_FALSE(a.same_content(b));
}

}  // namespace
}  // namespace nodeward::kube
