#include "kube/objects.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

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

SymbolMap map_of(std::vector<SymbolMap::Entry> entries) { return SymbolMap(entries); }
std::string text_of(const SymbolMap& map) {
  std::string text;
  for (const auto& [key, value] : map) text.append(key.view()).append("=").append(value.view()).append(";");
  return text;
}

TEST(SymbolMap, SortsItsKeysAndKeepsTheLastValueOfEach) {
  EXPECT_EQ(text_of(map_of({{"b", "1"}, {"c", "2"}, {"b", "3"}, {"a", "4"}, {"b", "5"}})), "a=4;b=5;c=2;");
  EXPECT_EQ(text_of(map_of({{"a", "1"}, {"a", "2"}})), "a=2;");
  EXPECT_EQ(text_of(map_of({})), "");
}

TEST(SymbolMap, FindsEachOfManyKeysAndNoOther) {
  std::vector<std::string> keys;
  for (int i = 0; i < 50; ++i) keys.push_back("key-" + std::to_string(i));
  std::vector<SymbolMap::Entry> entries;
  for (const std::string& key : keys) entries.emplace_back(key, std::string_view(key).substr(4));
  const SymbolMap map(entries);
  EXPECT_EQ(map.size(), keys.size());
  for (const std::string& key : keys) EXPECT_EQ(map.get(key), key.substr(4));
  for (const std::string_view other : {"", "key", "key-", "key-1x", "key-50", "zzz"}) EXPECT_FALSE(map.get(other)) << other;
}

TEST(SymbolMap, KeysMayHoldAnyBytes) {
  using namespace std::string_view_literals;
  const SymbolMap map = map_of({{"\0"sv, "zero"}, {"", "none"}, {"\xff\n"sv, "high"}});
  EXPECT_EQ(map.get("\0"sv), "zero");
  EXPECT_EQ(map.get(""), "none");
  EXPECT_EQ(map.get("\xff\n"sv), "high");
  EXPECT_FALSE(map.get("\0\0"sv));
}

TEST(SymbolMap, IsEqualToAnotherOfTheSameEntriesHoweverMade) {
  SymbolMap map = map_of({{"a", "1"}, {"c", "3"}});
  map.set("b", "2");
  EXPECT_EQ(map, map_of({{"c", "3"}, {"b", "2"}, {"a", "1"}}));
  EXPECT_NE(map, map_of({{"a", "1"}, {"b", "2"}}));
  EXPECT_NE(map, map_of({{"a", "1"}, {"b", "2"}, {"c", "4"}}));
  EXPECT_NE(map, map_of({{"a", "1"}, {"b", "2"}, {"d", "3"}}));
  for (const char* key : {"a", "b", "c"}) map.erase(key);
  EXPECT_EQ(map, SymbolMap());
  EXPECT_TRUE(map.empty());
}

TEST(SymbolMap, ACopyIsItsOwn) {
  const SymbolMap map = map_of({{"a", "1"}});
  SymbolMap copy = map;
  copy.set("a", "2");
  copy.set("b", "3");
  EXPECT_EQ(text_of(map), "a=1;");
  EXPECT_EQ(text_of(copy), "a=2;b=3;");
  const SymbolMap moved = std::move(copy);
  EXPECT_EQ(text_of(moved), "a=2;b=3;");
}

TEST(SymbolMap, TheKeysOfAFleetAreKeptOnceAndGoWithTheLastNode) {
  const auto before = interned_count();
  {
    std::vector<SymbolMap> fleet;
    for (int i = 0; i < 100; ++i) fleet.push_back(map_of({{"os", "linux"}, {"hostname", "gpu-" + std::to_string(i)}}));
    EXPECT_EQ(interned_count(), before + 1 + 1 + 100);      // the keys, "linux", the names
    for (SymbolMap& map : fleet) map.set("gpu", "linux");
    EXPECT_EQ(interned_count(), before + 1 + 1 + 100);      // the old keys are gone
  }
  EXPECT_EQ(interned_count(), before);
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
