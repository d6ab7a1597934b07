#include "base/json.h"

#include <gtest/gtest.h>

namespace nodeward {
namespace {

TEST(Json, WhateverComesIsAValueOrAnError) {
  EXPECT_TRUE(parse_json(R"({"a":[1,null]})"));
  EXPECT_EQ(parse_json("{\"a\":}").error().message, "not JSON at byte 6");
  // This library throws another type for them than for bad syntax.
  for (const char* const text : {"1e999", "[-1e999]", R"({"a":1e400})"}) {
    ASSERT_FALSE(parse_json(text)) << text;
    EXPECT_EQ(parse_json(text).error().code, ErrorCode::kInvalid);
  }
}

TEST(Json, TextAtGivesStringsOnly) {
  const Json object = parse_json(R"({"s":"x","n":1,"z":null,"o":{}})").value();
  EXPECT_EQ(text_at(object, "s"), "x");
  for (const char* const name : {"n", "z", "o", "absent"}) EXPECT_EQ(text_at(object, name), "") << name;
  EXPECT_EQ(text_at(Json::array(), "s"), "");
}

}  // namespace
}  // namespace nodeward
