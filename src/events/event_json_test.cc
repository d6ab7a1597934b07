#include "events/event_json.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json.h"
#include "base/text.h"
#include "events/time_text.h"

namespace nodeward::events {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<Json> lines_of(std::string_view file) {
  const auto text = read_file(fmt::format("{}/tests/data/{}", NW_SOURCE_DIR, file));
  EXPECT_TRUE(text) << text.error().message;
  std::vector<Json> all;
  for (const std::string& line : split(*text, '\n')) {
    if (!line.empty()) all.push_back(parse_json(line).value());
  }
  return all;
}

HealthEvent only_event(std::string_view json) {
  const auto events = read_events(json);
  EXPECT_TRUE(events) << events.error().message;
  EXPECT_EQ(events->size(), 1U);
  return events->at(0);
}

std::string problem_of(std::string_view json) {
  const auto events = read_events(json);
  EXPECT_FALSE(events) << json;
  return events ? "" : events.error().message;
}

HealthEvent example(std::string_view name) {
  for (const Json& line : lines_of("examples/events.jsonl")) {
    if (line["name"] == name) return read_events(to_text(line)).value().at(0);
  }
  ADD_FAILURE() << "no example " << name;
  return {};
}

// The bytes that the peer was seen to write.
constexpr std::string_view kFatalGpu0 =
    R"({"version":1,"agent":"gpu-health-monitor","componentClass":"GPU","checkName":"GpuXidError","isFatal":true,"message":"Hard fault code 79 on GPU 0","recommendedAction":2,"errorCode":["79"],"entitiesImpacted":[{"entityType":"GPU","entityValue":"0"}],"metadata":{"trace_id":"7e3c38fbfebf806006fddcd473e06800"},"generatedTimestamp":{"seconds":1788170400,"nanos":120000000},"nodeName":"gpu-a-001","processingStrategy":1,"id":"64c66bba-e9a6-390d-9eff-122bc1bcd116"})";
constexpr std::string_view kGpu1AndThermal =
    R"([{"version":1,"agent":"gpu-health-monitor","componentClass":"GPU","checkName":"GpuXidError","isFatal":true,"message":"Hard fault code 48 on GPU 1","recommendedAction":2,"errorCode":["48"],"entitiesImpacted":[{"entityType":"GPU","entityValue":"1"}],"metadata":{"trace_id":"9fd4dea654b01eda859d97ae8e1a9604"},"generatedTimestamp":{"seconds":1788170407,"nanos":120000007},"nodeName":"gpu-a-001","processingStrategy":1,"id":"524b9340-53ea-e242-90fd-648dc70ad840"},{"version":1,"agent":"gpu-health-monitor","componentClass":"GPU","checkName":"GpuThermalWatch","message":"GPU 3 runs hot","entitiesImpacted":[{"entityType":"GPU","entityValue":"3"}],"metadata":{"trace_id":"59cb8931907caa06f5d528e250c3be51"},"generatedTimestamp":{"seconds":1788170431,"nanos":120000031},"nodeName":"gpu-a-001","processingStrategy":1,"id":"6aee04e0-dd1c-a055-1b17-c8baf23b3880"}])";

TEST(EventJson, WritesTheBytesThatThePeerWrites) {
  EXPECT_EQ(to_stored_json(example("fatal-gpu0")), kFatalGpu0);
  const std::vector<HealthEvent> two = {example("fatal-gpu1"), example("soft-thermal")};
  EXPECT_EQ(to_stored_json(two), kGpu1AndThermal);
  EXPECT_EQ(to_stored_json(std::span<const HealthEvent>{}), "[]");
}

TEST(EventJson, ReadsARecordBackToTheSameBytes) {
  const auto record = read_record(kGpu1AndThermal);
  ASSERT_TRUE(record) << record.error().message;
  EXPECT_EQ(to_stored_json(*record), kGpu1AndThermal);
}

TEST(EventJson, ReadsARecordThatAnOlderWriterLeftAsOneObject) {
  const auto record = read_record(kFatalGpu0);
  ASSERT_TRUE(record) << record.error().message;
  ASSERT_EQ(record->size(), 1U);
  EXPECT_EQ(to_stored_json(record->at(0)), kFatalGpu0);
  EXPECT_EQ(read_record("[{\"agent\":1}]").error().message, "[0].agent: must be text, not 1");
  EXPECT_EQ(read_record("7").error().message, "must be a list of events, not 7");
  EXPECT_EQ(read_record("[{}]").error().message, "[0].nodeName: missing or empty; an event must name its node");
}

TEST(EventJson, WritesMembersInProtoOrderAndLeavesZerosOut) {
  const HealthEvent all{.version = 1,
                        .agent = "a",
                        .component_class = "c",
                        .check_name = "k",
                        .is_fatal = true,
                        .is_healthy = true,
                        .message = "m",
                        .recommended_action = -1,
                        .error_codes = {{"e", ""}},
                        .entities = {{{"t", ""}, {"", "v"}}},
                        .metadata = {{{"b", ""}, {"a", "1"}}},
                        .generated = Timestamp{0, 7},
                        .node_name = "n",
                        .quarantine_overrides = Overrides{.force = true},
                        .drain_overrides = Overrides{.skip = true},
                        .processing_strategy = 3,
                        .id = "i",
                        .custom_recommended_action = "u"};
  EXPECT_EQ(to_stored_json(all),
            R"({"version":1,"agent":"a","componentClass":"c","checkName":"k","isFatal":true,"isHealthy":true,"message":"m",)"
            R"("recommendedAction":-1,"errorCode":["e",""],"entitiesImpacted":[{"entityType":"t"},{"entityValue":"v"}],)"
            R"("metadata":{"a":"1","b":""},"generatedTimestamp":{"nanos":7},"nodeName":"n","quarantineOverrides":{"force":true},)"
            R"("drainOverrides":{"skip":true},"processingStrategy":3,"id":"i","customRecommendedAction":"u"})");
  EXPECT_EQ(to_stored_json(HealthEvent{}), "{}");
  // Empty lists and maps are left out like absent ones; an empty message is there and empty.
  HealthEvent empty;
  empty.error_codes.emplace();
  empty.entities.emplace();
  empty.metadata.emplace();
  empty.generated.emplace();
  empty.quarantine_overrides.emplace();
  EXPECT_EQ(to_stored_json(empty), R"({"generatedTimestamp":{},"quarantineOverrides":{}})");
}

TEST(EventJson, EscapesAsGoDoes) {
  EXPECT_EQ(go_quoted("<a> & \"b\\\" \x01\x1f\x7f"), "\"\\u003ca\\u003e \\u0026 \\\"b\\\\\\\" \\u0001\\u001f\x7f\"");
  EXPECT_EQ(go_quoted("\b\f\n\r\t"), R"("\b\f\n\r\t")");
  EXPECT_EQ(go_quoted("\xe2\x80\xa8\xe2\x80\xa9\xe2\x80\xaa gr\xc3\xb6\xc3\x9f"
                      "e \xf4\x8f\xbf\xbf"),
            "\"\\u2028\\u2029\xe2\x80\xaa gr\xc3\xb6\xc3\x9f"
            "e \xf4\x8f\xbf\xbf\"");
  EXPECT_EQ(go_quoted(std::string_view("a\0b", 3)), R"("a\u0000b")");
}

std::string from_hex(std::string_view hex) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
    bytes += static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
  return bytes;
}

// What is written must be UTF-8 whatever an event holds, and bad bytes must never come out as something else.
TEST(EventJson, R18OddBytesAreWrittenAsReplacementCharacters) {
  const std::map<std::string, std::string> wanted = {{"nul-middle", R"("before\u0000after")"},
                                                     {"nul-entity", R"("GPU\u0000-1")"},
                                                     {"lone-continuation", R"("bad \ufffd byte")"},
                                                     {"cut-3-byte", R"("temp \ufffd\ufffd")"},
                                                     {"overlong", R"("\ufffd\ufffd\ufffd\ufffd")"},
                                                     {"surrogate-pair-as-utf8", R"("\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd")"},
                                                     {"latin1-key", R"("gr\ufffd\ufffde")"},
                                                     {"escaped-nul", R"("text with backslash-u-0000 spelled out: \\u0000")"},
                                                     {"bom", "\"\xef\xbb\xbftext\\n\""},
                                                     {"max-rune", "\"\xf4\x8f\xbf\xbf\""},
                                                     {"beyond-max", R"("\ufffd\ufffd\ufffd\ufffd")"}};
  const auto table = read_file(NW_SOURCE_DIR "/tests/data/events/odd-bytes.tsv");
  ASSERT_TRUE(table);
  const auto rows = split(trimmed(*table), '\n');
  ASSERT_EQ(rows.size(), wanted.size() + 1);
  for (std::size_t i = 1; i < rows.size(); ++i) {
    const auto columns = split(rows[i], '\t');
    EXPECT_EQ(go_quoted(from_hex(columns.at(2))), wanted.at(columns.at(0))) << columns[0];
  }
}

TEST(EventJson, ANulWithinATextBecomesAReplacementCharacter) {
  const HealthEvent event = only_event(R"({"nodeName":"n","message":"before\u0000after","metadata":{"a\u0000b":"\u0000"}})");
  EXPECT_EQ(event.message,
            "before\xef\xbf\xbd"
            "after");
  EXPECT_EQ(event.metadata->at("a\xef\xbf\xbd"
                               "b"),
            "\xef\xbf\xbd");
  EXPECT_EQ(only_event(R"({"nodeName":"n","message":"\\u0000"})").message, R"(\u0000)");
}

TEST(EventJson, ReadsEveryFormOfALine) {
  const std::string bare = R"({"nodeName":"n","isFatal":true,"id":"own"})";
  EXPECT_EQ(only_event(bare).id, "own");
  EXPECT_EQ(only_event(R"({"createdAt":"x","healthevent":)" + bare + R"(,"healtheventstatus":null,"RawEvent":null})").node_name,
            "n");
  const HealthEvent recorded = only_event(R"({"recordId":"row","document":{"healthevent":)" + bare + "}}");
  EXPECT_EQ(recorded.id, "row");
  EXPECT_TRUE(recorded.is_fatal);
  const auto several = read_events(R"({"version":1,"events":[)" + bare + R"(,{"nodeName":"m"}]})");
  ASSERT_TRUE(several) << several.error().message;
  ASSERT_EQ(several->size(), 2U);
  EXPECT_EQ(several->at(1).node_name, "m");
  EXPECT_TRUE(read_events(R"({"events":[]})").value().empty());
}

TEST(EventJson, AllExamplesAreRead) {
  const auto lines = lines_of("examples/events.jsonl");
  EXPECT_EQ(lines.size(), 17U);
  for (const Json& line : lines) {
    const auto events = read_events(to_text(line));
    ASSERT_TRUE(events) << line["name"] << ": " << events.error().message;
    EXPECT_EQ(events->at(0).id, line["recordId"]);
    EXPECT_EQ(events->at(0).error_codes.has_value(), line["document"]["healthevent"].contains("errorCode"));
  }
  EXPECT_EQ(example("force-hold").quarantine_overrides, Overrides{.force = true});
  EXPECT_EQ(example("skip-override").quarantine_overrides, Overrides{.skip = true});
}

TEST(EventJson, KeysMatchWithoutRegardToCase) {
  const HealthEvent event = only_event(
      R"({"HEALTHEVENT":{"nodename":"n","isfatal":true,"ERRORCODE":["1"],"entitiesimpacted":[{"entitytype":"GPU","EntityValue":"0"}],)"
      R"("generatedtimestamp":{"Seconds":5},"quarantineoverrides":{"Force":true},"processingstrategy":2}})");
  EXPECT_EQ(event.node_name, "n");
  EXPECT_TRUE(event.is_fatal);
  EXPECT_THAT(*event.error_codes, ElementsAre("1"));
  EXPECT_THAT(*event.entities, ElementsAre(Entity{"GPU", "0"}));
  EXPECT_EQ(event.generated, (Timestamp{5, 0}));
  EXPECT_EQ(event.quarantine_overrides, Overrides{.force = true});
  EXPECT_EQ(event.processing_strategy, kStoreOnly);
  EXPECT_EQ(only_event(R"({"NODENAME":"other","nodeName":"exact","nodename":"third"})").node_name, "exact");
}

TEST(EventJson, AbsentNullAndEmptyAreKeptApart) {
  const HealthEvent null = only_event(
      R"({"nodeName":"n","errorCode":null,"entitiesImpacted":null,"metadata":null,"generatedTimestamp":null,"drainOverrides":null})");
  EXPECT_EQ(null, only_event(R"({"nodeName":"n"})"));
  EXPECT_FALSE(null.error_codes || null.entities || null.metadata || null.generated || null.drain_overrides);
  const HealthEvent empty = only_event(
      R"({"nodeName":"n","errorCode":[],"entitiesImpacted":[],"metadata":{},"drainOverrides":{}})");
  EXPECT_TRUE(empty.error_codes && empty.entities && empty.metadata && empty.drain_overrides);
}

TEST(EventJson, ReadsEnumsByNumberAndName) {
  const auto action = [](std::string_view value) {
    return only_event(fmt::format(R"({{"nodeName":"n","recommendedAction":{}}})", value)).recommended_action;
  };
  EXPECT_EQ(action("24"), 24);
  EXPECT_EQ(action("\"RESTART_BM\""), 24);
  EXPECT_EQ(action("24.0"), 24);
  EXPECT_EQ(action("4711"), 4711);   // unknown numbers pass through
  EXPECT_THAT(problem_of(R"({"nodeName":"n","recommendedAction":"REBOOT"})"),
              HasSubstr("recommendedAction: unknown name; known are NONE, "));
}

// R25, the reading of it: 0, 1 and absent act; 2, 3 and unknown ones do not.
TEST(EventJson, R25TheStrategyIsReadInEveryForm) {
  std::vector<int> strategies;
  for (const Json& line : lines_of("events/strategy.jsonl")) {
    const auto events = read_events(to_text(line["event"]));
    ASSERT_TRUE(events) << events.error().message;
    strategies.push_back(events->at(0).processing_strategy);
    const bool acts = strategies.back() == kStrategyUnspecified || strategies.back() == kExecuteRemediation;
    EXPECT_EQ(acts, line["wanted"] == "acted on") << line["id"];
  }
  EXPECT_THAT(strategies, ElementsAre(0, 1, 2, 3, 2, 1, 0, 99));
}

TEST(EventJson, ReadsOddTimes) {
  const std::map<std::string, std::optional<Timestamp>> wanted = {{"absent", std::nullopt},
                                                                  {"null", std::nullopt},
                                                                  {"zero", Timestamp{0, 0}},
                                                                  {"go-zero", Timestamp{-62135596800, 0}},
                                                                  {"future", Timestamp{2114380800, 0}},
                                                                  {"nanos", Timestamp{1789373400, 123456789}},
                                                                  {"offset", Timestamp{1789373400, 0}}};
  int seen = 0;
  for (const Json& line : lines_of("events/time-odd.jsonl")) {
    const auto events = read_events(to_text(line["event"]));
    if (line["id"] == "text") {
      EXPECT_EQ(events.error().message, "generatedTimestamp: no time; write it as 2026-09-01T08:30:00Z");
      continue;
    }
    ASSERT_TRUE(events) << line["id"];
    if (const auto found = wanted.find(line["id"]); found != wanted.end()) {
      ++seen;
      EXPECT_EQ(events->at(0).generated, found->second) << line["id"];
    } else {
      EXPECT_EQ(line["id"], "object-form");
      EXPECT_EQ(events->at(0).generated->seconds, 1789459800);
    }
  }
  EXPECT_EQ(seen, 7);
}

TEST(TimeText, RefusesWhatIsNoTime) {
  EXPECT_EQ(parse_rfc3339("2024-02-29T23:59:59.5-00:30"), (Timestamp{1709252999, 500000000}));
  EXPECT_EQ(parse_rfc3339("2026-09-14T08:10:00.1234567899Z"), (Timestamp{1789373400, 123456789}));
  for (const auto text : {"", "yesterday", "2026-09-14", "2026-9-14T08:10:00Z", "2026-02-29T00:00:00Z", "2026-13-01T00:00:00Z",
                          "2026-01-01T24:00:00Z", "2026-01-01T00:00:60Z", "2026-01-01T00:00:00", "2026-01-01T00:00:00.Z",
                          "2026-01-01T00:00:00Zx", "0000-01-01T00:00:00Z", "2026-01-01T00:00:00+2:00", "2026-00-01T00:00:00Z"}) {
    EXPECT_EQ(parse_rfc3339(text), std::nullopt) << text;
  }
}

TEST(EventJson, ALongKeyIsNotQuotedWhole) {
  const auto events = read_events(R"({"nodeName":"n","metadata":{")" + std::string(500'000, 'k') + "\":5}}");
  ASSERT_FALSE(events);
  EXPECT_LT(events.error().message.size(), 120U);
}

TEST(EventJson, AWrongTypeIsNamed) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {R"({"healthevent":{"nodeName":7}})", "healthevent.nodeName: must be text, not 7"},
      {R"({"nodeName":"n","isFatal":"true"})", "isFatal: must be true or false, not text"},
      {R"({"nodeName":"n","version":-1})", "version: must be a whole number from 0 to 4294967295, not -1"},
      {R"({"nodeName":"n","version":1.5})", "version: must be a whole number from 0 to 4294967295, not 1.5"},
      {R"({"nodeName":"n","errorCode":"79"})", "errorCode: must be a list, not text"},
      {R"({"nodeName":"n","errorCode":["79",79]})", "errorCode[1]: must be text, not 79"},
      {R"({"nodeName":"n","entitiesImpacted":[{"entityType":[]}]})", "entitiesImpacted[0].entityType: must be text, not a list"},
      {R"({"nodeName":"n","entitiesImpacted":["GPU"]})", "entitiesImpacted[0]: must be an object, not text"},
      {R"({"nodeName":"n","metadata":{"k":1}})", "metadata.k: must be text, not 1"},
      {R"({"nodeName":"n","quarantineOverrides":true})", "quarantineOverrides: must be an object, not true or false"},
      {R"({"nodeName":"n","generatedTimestamp":5})",
       "generatedTimestamp: must be {\"seconds\", \"nanos\"} or a time as text, not 5"},
      {R"({"nodeName":"n","generatedTimestamp":{"nanos":1000000000}})",
       "generatedTimestamp.nanos: must be a whole number from 0 to 999999999, not 1000000000"},
      {R"({"version":1,"events":[{"nodeName":"n"},{}]})", "events[1].nodeName: missing or empty; an event must name its node"},
      {R"({"events":{}})", "events: must be a list of events, not an object"},
      {R"({"recordId":"r","document":{}})", "document.healthevent: missing; there is no event in this record"},
      {R"({"recordId":"r"})", "document.healthevent: missing; there is no event in this record"},
      {R"({"recordId":5,"document":{"healthevent":{"nodeName":"n"}}})", "recordId: must be text, not 5"},
      {R"({"healthevent":[]})", "healthevent: must be an object, not a list"},
      {"{}", "nodeName: missing or empty; an event must name its node"},
      {"[]", "must be a JSON object, not a list"},
      {"null", "must be a JSON object, not null"},
      {R"({"nodeName":"n)", "not JSON at byte 15"},
      {"{\"nodeName\":\"a\xff\"}", "not UTF-8 at byte 15"}};
  for (const auto& [json, problem] : cases) EXPECT_EQ(problem_of(json), problem) << json;
}

TEST(EventJson, ANumberThatNothingHoldsIsRefusedWhereverItStands) {
  EXPECT_EQ(problem_of(R"({"nodeName":"n","other":1e999})"), "not JSON that can be kept: a number is too large");
  EXPECT_FALSE(read_record(R"([{"version":-1e999}])"));
}

TEST(EventJson, DeepNestingIsNoTrouble) {
  const std::string deep = std::string(300'000, '[') + std::string(300'000, ']');
  EXPECT_EQ(only_event(R"({"nodeName":"n","other":)" + deep + "}").node_name, "n");
  EXPECT_EQ(problem_of(R"({"nodeName":)" + deep + "}"), "nodeName: must be text, not a list");
}

}  // namespace
}  // namespace nodeward::events
