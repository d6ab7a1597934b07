#include "cel/value.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "cel/document.h"
#include "cel/number_text.h"
#include "cel/time.h"

namespace nodeward::cel {
namespace {

TEST(Map, FindsKeysWhateverItsSize) {
  for (const std::size_t size : {0U, 1U, 8U, 9U, 100U, 5000U}) {
    Arena arena;
    MapBuilder builder(arena, size);
    for (std::size_t i = 0; i < size; ++i)
      builder.add(Key(arena.copy("key-" + std::to_string(i))), Value::integer(static_cast<std::int64_t>(i)));
    const Value map = builder.finish();
    for (std::size_t i = 0; i < size; ++i) {
      const std::string name = "key-" + std::to_string(i);
      ASSERT_NE(map.entries().find(Key(name)), nullptr) << size;
      EXPECT_EQ(map.entries().find(Value::string(name))->as_int(), static_cast<std::int64_t>(i));
    }
    EXPECT_EQ(map.entries().find(Key("absent")), nullptr);
  }
}

TEST(Map, NumbersAreOneKeyAcrossKindsAndAreRefusedTwice) {
  Arena arena;
  MapBuilder builder(arena, 3);
  EXPECT_TRUE(builder.add(Value::integer(1), Value::string("one")));
  EXPECT_FALSE(builder.add(Value::uint(1), Value::string("again")));
  const Value map = builder.finish();
  EXPECT_NE(map.entries().find(Value::number(1.0)), nullptr);
  EXPECT_EQ(map.entries().find(Value::number(1.5)), nullptr);
  EXPECT_EQ(map.entries().find(Value::string("1")), nullptr);
}

TEST(Value, EqualityCrossesNumbersAndNothingElse) {
  EXPECT_TRUE(equal(Value::integer(1), Value::number(1)));
  EXPECT_TRUE(equal(Value::uint(7), Value::integer(7)));
  EXPECT_FALSE(equal(Value::uint(std::numeric_limits<std::uint64_t>::max()), Value::integer(-1)));
  EXPECT_FALSE(equal(Value::number(NAN), Value::number(NAN)));
  EXPECT_FALSE(equal(Value::string("1"), Value::integer(1)));
  EXPECT_FALSE(equal(Value::string("a"), Value::bytes("a")));
  EXPECT_FALSE(equal(Value::null(), Value::boolean(false)));
}

TEST(Value, TextIsAnExpressionForTheValue) {
  EXPECT_EQ(to_cel_text(Value::number(24)), "24.0");
  EXPECT_EQ(to_cel_text(Value::number(1e300)), "1e+300");
  EXPECT_EQ(to_cel_text(Value::uint(7)), "7u");
  EXPECT_EQ(to_cel_text(Value::string("a\"b\n\x01\u00e9")), "\"a\\\"b\\n\\x01\u00e9\"");
  EXPECT_EQ(to_cel_text(Value::bytes("\xff")), "b\"\\xff\"");
  const Document document = *to_document(*parse_json(R"({"k": [1, null, true]})"), Numbers::kWhole);
  EXPECT_EQ(to_cel_text(document.root()), R"({"k": [1, null, true]})");
}

TEST(Document, RefusesWhatIsNestedTooDeep) {
  const std::string deep = std::string(300, '[') + std::string(300, ']');
  EXPECT_FALSE(to_document(*parse_json(deep), Numbers::kWhole));
}

TEST(Document, ReadsNumbersAsAsked) {
  const Json json = *parse_json("[1, 18446744073709551615, 1.5]");
  EXPECT_EQ(to_cel_text(to_document(json, Numbers::kWhole)->root()), "[1, 18446744073709551615u, 1.5]");
  EXPECT_EQ(to_cel_text(to_document(json, Numbers::kDoubles)->root()), "[1.0, 1.8446744073709552e+19, 1.5]");
}

TEST(NumberText, IsGosShortestForm) {
  EXPECT_EQ(double_text(1e6), "1e+06");
  EXPECT_EQ(double_text(123456), "123456");
  EXPECT_EQ(double_text(-4.5e-3), "-0.0045");
  EXPECT_EQ(double_text(1e-5), "1e-05");
  EXPECT_EQ(fixed_double(1e23), "100000000000000000000000");
  EXPECT_EQ(fixed_double(1.5e-7), "0.00000015");
  EXPECT_EQ(fixed_double(-0.5), "-0.5");
}

TEST(Time, TimestampsAreReadAndWritten) {
  for (const char* const text :
       {"2026-09-01T08:30:00Z", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999999Z", "2024-02-29T00:00:00.5Z"}) {
    const auto parsed = parse_timestamp(text);
    ASSERT_TRUE(parsed) << text;
    EXPECT_EQ(format_timestamp(*parsed), text);
  }
  EXPECT_EQ(format_timestamp(*parse_timestamp("2026-01-01T00:30:00+02:00")), "2025-12-31T22:30:00Z");
  for (const char* const text : {"", "2026-09-01", "2026-13-01T00:00:00Z", "2025-02-29T00:00:00Z", "2026-09-01T24:00:00Z",
                                 "2026-09-01T08:30:00", "2026-09-01T08:30:00.Z", "0001-01-01T00:00:00+01:00"}) {
    EXPECT_FALSE(parse_timestamp(text)) << text;
  }
}

TEST(Time, DurationsAreReadAndWritten) {
  EXPECT_EQ(parse_duration("1h30m"), 5'400'000'000'000);
  EXPECT_EQ(parse_duration("-1.5s"), -1'500'000'000);
  EXPECT_EQ(parse_duration("1.000000001s"), 1'000'000'001);
  EXPECT_EQ(parse_duration("0"), 0);
  EXPECT_EQ(parse_duration("\u00b5s"), std::nullopt);
  EXPECT_EQ(parse_duration("9223372036854775808ns"), std::nullopt);
  EXPECT_EQ(parse_duration("1"), std::nullopt);
  EXPECT_EQ(parse_duration("1d"), std::nullopt);
  EXPECT_EQ(format_duration(-1'500'000'000), "-1.5s");
  EXPECT_EQ(format_duration(std::numeric_limits<std::int64_t>::min()), "-9223372036.854775808s");
}

TEST(Time, ZonesFollowTheirRules) {
  const auto at = [](const char* zone, const char* text) { return zone_offset(zone, parse_timestamp(text)->seconds); };
  EXPECT_EQ(at("UTC", "2026-07-01T00:00:00Z"), 0);
  EXPECT_EQ(at("+05:45", "2026-07-01T00:00:00Z"), 20'700);
  EXPECT_EQ(at("-2:30", "2026-07-01T00:00:00Z"), -9000);
  EXPECT_EQ(at("Nowhere/At-All", "2026-07-01T00:00:00Z"), std::nullopt);
  EXPECT_EQ(at("../../etc/passwd", "2026-07-01T00:00:00Z"), std::nullopt);
  if (!at("Europe/Berlin", "2026-07-01T00:00:00Z")) GTEST_SKIP() << "this system has no zone files";
  EXPECT_EQ(at("Europe/Berlin", "2026-07-01T00:00:00Z"), 7200);
  EXPECT_EQ(at("Europe/Berlin", "2026-03-29T00:59:59Z"), 3600);
  EXPECT_EQ(at("Europe/Berlin", "2026-03-29T01:00:00Z"), 7200);
  EXPECT_EQ(at("Europe/Berlin", "2090-07-01T00:00:00Z"), 7200) << "beyond the table: the rule at the end of the file";
  EXPECT_EQ(at("Europe/Berlin", "2090-10-29T00:59:59Z"), 7200);
  EXPECT_EQ(at("Europe/Berlin", "2090-10-29T01:00:00Z"), 3600);
  EXPECT_EQ(at("Australia/Sydney", "2090-01-01T00:00:00Z"), 39'600) << "summer over the turn of the year";
  EXPECT_EQ(at("Asia/Kathmandu", "2009-02-13T23:31:30Z"), 20'700);
}

}  // namespace
}  // namespace nodeward::cel
