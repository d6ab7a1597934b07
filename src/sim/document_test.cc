#include "sim/document.h"

#include <gtest/gtest.h>

namespace nodeward::sim {
namespace {

TEST(Doc, WritesWhatItRead) {
  const Json value = {{"b", {1, -2.5, true, "ü\"\\\n"}}, {"a", Json::object()}, {"c", Json::array()}, {"d", {{"x", "y"}}}};
  EXPECT_EQ(Doc::from(value).json_text(), value.dump());
  EXPECT_EQ(Doc::from(value).json(), value);
  EXPECT_EQ(Doc().json_text(), "null");
}

TEST(Doc, AChangeCopiesThePathAndSharesTheRest) {
  const Doc before = Doc::from({{"metadata", {{"labels", {{"a", "1"}}}}}, {"status", {{"big", {1, 2, 3}}}}});
  const Doc after = before.with({"metadata", "labels", "b"}, Doc::string("2"));
  EXPECT_EQ(before.json()["metadata"]["labels"].size(), 1U);
  EXPECT_EQ(after.json()["metadata"]["labels"], Json({{"a", "1"}, {"b", "2"}}));
  EXPECT_TRUE(after.at("status").same(before.at("status")));
  EXPECT_TRUE(after.at({"metadata", "labels", "a"}).same(before.at({"metadata", "labels", "a"})));
  EXPECT_EQ(after.with({"metadata", "labels", "b"}, Doc()), before);
}

TEST(Doc, ReadingLikeAnotherSharesWhatIsEqual) {
  const Json value = {{"metadata", {{"name", "a"}}}, {"items", {{{"x", 1}}, {{"y", 2}}}}};
  const Doc first = Doc::from(value);
  EXPECT_TRUE(Doc::from(value, first).same(first));
  Json changed = value;
  changed["items"][1]["y"] = 3;
  const Doc second = Doc::from(changed, first);
  EXPECT_TRUE(second.at("metadata").same(first.at("metadata")));
  EXPECT_TRUE(second.at("items").items()[0].same(first.at("items").items()[0]));
  EXPECT_EQ(second.json(), changed);
}

TEST(Doc, TheTextOfAPartWithManyHoldersStaysRight) {
  const Doc shared = Doc::from({{"long", std::string(200, 'x')}});
  std::vector<Doc> holders;
  for (int i = 0; i < 20; ++i) holders.push_back(Doc::empty_object().with("part", shared));
  for (const Doc& holder : holders) EXPECT_EQ(holder.json_text(), holder.json().dump());
  EXPECT_EQ(holders[0].with({"part", "more"}, Doc::string("y")).json()["part"].size(), 2U);
}

}  // namespace
}  // namespace nodeward::sim
