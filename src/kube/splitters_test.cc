#include "kube/splitters.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/json.h"

namespace nodeward::kube {
namespace {

std::vector<std::string> items_of(std::string_view text, std::size_t chunk, std::string* envelope = nullptr) {
  ItemSplitter splitter;
  std::vector<std::string> items;
  for (std::size_t at = 0; at < text.size(); at += chunk) {
    EXPECT_TRUE(splitter.feed(text.substr(at, chunk), [&](std::string_view item) -> Result<> {
      items.emplace_back(item);
      return {};
    }));
  }
  EXPECT_TRUE(splitter.complete());
  if (envelope != nullptr) *envelope = splitter.envelope();
  return items;
}

constexpr std::string_view kList =
    R"({"kind":"NodeList","metadata":{"resourceVersion":"7","items":["no","{"]},"x":"items","items":[)"
    R"({"a":"}]\"{","b":[{"c":"\\"}]} , {"d":{"items":[{}]}},{}],"apiVersion":"v1"})";

TEST(ItemSplitter, CutsTheSameItemsHoweverTheBytesArrive) {
  for (std::size_t chunk = 1; chunk <= kList.size(); ++chunk) {
    std::string envelope;
    const auto items = items_of(kList, chunk, &envelope);
    ASSERT_EQ(items, (std::vector<std::string>{R"({"a":"}]\"{","b":[{"c":"\\"}]})", R"({"d":{"items":[{}]}})", "{}"})) << chunk;
    EXPECT_EQ(
        parse_json(envelope)->dump(),
        R"({"apiVersion":"v1","items":[],"kind":"NodeList","metadata":{"items":["no","{"],"resourceVersion":"7"},"x":"items"})");
  }
}

TEST(ItemSplitter, AnEmptyOrNullListHasNoItems) {
  EXPECT_TRUE(items_of(R"({"items":[],"metadata":{}})", 3).empty());
  EXPECT_TRUE(items_of(R"({"items":null,"metadata":{}})", 3).empty());
}

TEST(ItemSplitter, HalfAListIsNotComplete) {
  ItemSplitter splitter;
  EXPECT_TRUE(splitter.feed(R"({"items":[{"a":1},{"b")", [](std::string_view) -> Result<> { return {}; }));
  EXPECT_FALSE(splitter.complete());
}

TEST(LineSplitter, CutsTheSameLinesHoweverTheBytesArrive) {
  const std::string text = "one\n\n  \r\ntwo\nthree " + std::string(5000, 'x') + "\nhalf";
  for (std::size_t chunk = 1; chunk < 40; ++chunk) {
    LineSplitter splitter;
    std::vector<std::string> lines;
    for (std::size_t at = 0; at < text.size(); at += chunk) {
      ASSERT_TRUE(splitter.feed(std::string_view(text).substr(at, chunk), [&](std::string_view line) -> Result<> {
        lines.emplace_back(line);
        return {};
      }));
    }
    EXPECT_EQ(lines, (std::vector<std::string>{"one", "two", "three " + std::string(5000, 'x')}));
  }
}

TEST(LineSplitter, TheEndOfTheStreamEndsAWholeLineAndDropsHalfALine) {
  const auto lines_of = [](std::string_view text) {
    LineSplitter splitter;
    std::vector<std::string> lines;
    const auto on_line = [&](std::string_view line) -> Result<> {
      lines.emplace_back(line);
      return {};
    };
    EXPECT_TRUE(splitter.feed(text, on_line));
    EXPECT_TRUE(splitter.finish(on_line));
    return lines;
  };
  EXPECT_EQ(lines_of("{\"a\":1}\n{\"b\":\"}\"}"), (std::vector<std::string>{R"({"a":1})", R"({"b":"}"})"}));
  for (const char* const half : {"{", "{\"b\":2", "{\"b\":\"}", "{\"b\":{}", ""}) {
    EXPECT_EQ(lines_of(std::string("{\"a\":1}\n") + half), (std::vector<std::string>{R"({"a":1})"})) << half;
  }
}

TEST(LineSplitter, ALineWithoutEndIsRefused) {
  LineSplitter splitter;
  const std::string megabyte(1 << 20, 'x');
  Result<> result;
  for (int i = 0; i < 70 && result; ++i) result = splitter.feed(megabyte, [](std::string_view) -> Result<> { return {}; });
  EXPECT_FALSE(result);
}

}  // namespace
}  // namespace nodeward::kube
