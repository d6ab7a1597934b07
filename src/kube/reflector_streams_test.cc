// Streaming lists (R33), 410 and other ERROR events (R13), the cutting of lines (R14), lists that are not what they should be.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>

#include "base/json.h"
#include "kube/reflector_script.h"
#include "net/scripted_transport.h"

namespace nodeward::kube {
namespace {

// ---- streaming lists ---------------------------------------------------------------------------------------------------

TEST(ReflectorR33, NothingIsCompleteBeforeTheFirstBookmarkAndTheWatchResumesFromTheLast) {
  const std::string text = data("bookmarks.jsonl");
  const auto mark = text.find("initial-events-end");
  std::vector<Piece> pieces;
  for (std::size_t at = 0; at < mark; at += 100) pieces.push_back({text.substr(at, std::min<std::size_t>(100, mark - at))});
  Script cut(true);
  cut.answers = {Answer(pieces)};
  cut.play();
  EXPECT_FALSE(cut.reflector.synced());
  EXPECT_EQ(cut.seen.words, (Words{"begin", "+gpu-b-1", "+gpu-b-2"}));
  Script script(true);
  pieces.push_back({text.substr(mark)});
  script.answers = {Answer(std::move(pieces))};
  script.play();
  EXPECT_TRUE(script.reflector.synced());
  EXPECT_EQ(script.seen.words, (Words{"begin", "+gpu-b-1", "+gpu-b-2", "end 140", "+gpu-b-1"}));
  EXPECT_EQ(script.asked(), (Words{kStreaming, watch_from(230)}));
}

TEST(ReflectorR33, ABookmarkWithoutTheMarkIsNotTheEndOfTheList) {
  Script script(true);
  const std::string bookmark = line("BOOKMARK", R"({"kind":"Node","metadata":{"resourceVersion":"3"}})");
  script.answers = {Answer({{line("ADDED", node("a", 1)) + bookmark}, {line("ADDED", node("b", 4)) + initial_end(5), 1s}})};
  script.play();
  EXPECT_EQ(script.seen.words, (Words{"begin", "+a", "+b", "end 5"}));
  EXPECT_EQ(script.asked(), (Words{kStreaming, watch_from(5)}));
}

TEST(ReflectorR33, AServerThatRefusesTheOptionIsListedInPagesAtOnceAndForGood) {
  for (const int status : {400, 422}) {
    Script script(true);
    script.answers = {answer(status, R"({"kind":"Status","reason":"Invalid","message":"sendInitialEvents: Forbidden"})"),
                      list(7, {node("a", 1)}), gone(), list(9, {node("a", 1)})};
    script.play();
    EXPECT_EQ(script.asked(), (Words{kStreaming, kFirstPage, watch_from(7), kFirstPage, watch_from(9)}));
    EXPECT_EQ(script.times[1], script.times[0]);
    EXPECT_EQ(script.seen.words, (Words{"begin", "+a", "end 7", "begin", "+a", "end 9"}));
  }
}

TEST(ReflectorR33, AServerThatIgnoresTheOptionIsListedInPagesWithin30s) {
  Script script(true);
  std::vector<Piece> trickle;
  for (int second = 0; second < 60; ++second) {
    trickle.push_back({line("ADDED", node(fmt::format("n{}", second), second + 1)), 1s});
  }
  script.answers = {Answer(std::move(trickle)), list(70, {node("n0", 1)})};
  script.play();
  EXPECT_EQ(script.asked(), (Words{kStreaming, kFirstPage, watch_from(70)}));
  EXPECT_LE(script.times[1] - script.times[0], 30s);
  EXPECT_GE(script.times[1] - script.times[0], 25s);
  EXPECT_EQ(std::count(script.seen.words.begin(), script.seen.words.end(), "end 70"), 1);
}

TEST(ReflectorR33, ALargeStreamingListMayTakeItsTime) {
  Script script(true);
  const std::string big = line(
      "ADDED", R"({"metadata":{"name":"a","resourceVersion":"1","annotations":{"x":")" + std::string(300'000, 'x') + R"("}}})");
  std::vector<Piece> steady(60, Piece{big, 1s});
  steady.push_back({initial_end(5)});
  script.answers = {Answer(std::move(steady))};
  script.play();
  EXPECT_EQ(script.asked(), (Words{kStreaming, watch_from(5)}));
}

TEST(ReflectorR33, ACutBeforeTheBookmarkCompletesNothingAndTwoLeadToPages) {
  Script script(true);
  const std::string half = line("ADDED", node("a", 1)) + line("DELETED", node("b", 3));
  script.answers = {Answer({{half}}), Answer({{half}}, Error{ErrorCode::kUnavailable, "reset", {}}), list(7, {node("c", 3)})};
  script.play();
  EXPECT_EQ(script.seen.words, (Words{"begin", "+a", "-b", "begin", "+a", "-b", "begin", "+c", "end 7"}));
  EXPECT_EQ(script.asked(), (Words{kStreaming, kStreaming, kFirstPage, watch_from(7)}));
  EXPECT_GE(script.times[1] - script.times[0], 150ms);
}

TEST(Reflector, AStreamingListGoesOnAsTheWatchInTheSameStream) {
  Script script(true);
  script.answers = {Answer(
      {{line("ADDED", node("a", 1)) + initial_end(5) + line("MODIFIED", node("a", 6))}, {line("DELETED", node("a", 7)), 4min}})};
  script.play();
  EXPECT_EQ(script.seen.words, (Words{"begin", "+a", "end 5", "+a", "-a"}));
  EXPECT_EQ(script.asked(), (Words{kStreaming, watch_from(7)}));
}

TEST(Reflector, AFailureBehindTheMarkOfTheEndLosesNothing) {
  Script script(true);
  script.answers = {Answer({{line("ADDED", node("a", 1)) + initial_end(5) + line("ADDED", node("b", 6)) +
                             line("ERROR", R"({"kind":"Status","code":500})") + line("ADDED", node("c", 7))}}),
                    Answer({{line("ADDED", node("c", 7))}})};
  script.play();
  EXPECT_EQ(script.seen.words, (Words{"begin", "+a", "end 5", "+b", "+c"}));
  EXPECT_EQ(script.asked(), (Words{kStreaming, watch_from(6), watch_from(7)}));
}

TEST(Reflector, AfterGoneTheListIsAStreamingOneAgain) {
  Script script(true);
  script.answers = {Answer({{initial_end(5)}}), gone(), Answer({{line("ADDED", node("b", 9)) + initial_end(10)}})};
  script.play();
  EXPECT_EQ(script.asked(), (Words{kStreaming, watch_from(5), kStreaming, watch_from(10)}));
  EXPECT_EQ(script.seen.words, (Words{"begin", "end 5", "begin", "+b", "end 10"}));
}

TEST(Reflector, WatchesEndAtDifferentTimesBetween30And60Minutes) {
  FakeClock clock;
  std::set<std::string> seconds;
  for (int i = 0; i < 20; ++i) {
    std::stop_source stop;
    Seen seen;
    std::string path;
    net::ScriptedTransport transport([&](const net::Request& request) -> Result<net::Response> {
      path = request.path;
      stop.request_stop();
      return fail(ErrorCode::kCancelled, "");
    });
    Client client(transport, {}, clock);
    Reflector<Node>(client, {"nodes", "/api/v1/nodes"}, make_node_decoder({}), seen, clock).run(stop.get_token());
    seconds.insert(path.substr(path.find("timeoutSeconds=") + 15));
    EXPECT_GE(std::stoi(*seconds.rbegin()), 1800);
    EXPECT_LE(std::stoi(*seconds.rbegin()), 3600);
  }
  EXPECT_GT(seconds.size(), 10U);
}

// ---- 410 and other ERROR events (R13), lines and cuts (R14) --------------------------------------------------------------

TEST(ReflectorR13, EachShapeOfGoneLeadsToOneListAndTheOthersToNone) {
  const Json shapes = *parse_json(data("gone.json"));
  const std::string plain = line("ADDED", node("x", 20));
  for (const auto& [name, shape] : shapes.items()) {
    const bool at_connect = shape.contains("status");
    const bool gone_for_good = name != "in_stream_3_not_gone" && name != "in_stream_5_unknown_type";
    Script script;
    const Answer ended = at_connect ? Answer(answer(shape["status"].get<int>(), to_text(shape["body"])))
                                    : Answer({{to_text(shape) + "\n" + plain}});
    script.answers = {list(7, {node("a", 1), node("b", 2)}), ended, list(30, {node("b", 2)})};
    script.play();
    ASSERT_GE(script.asked().size(), 3U) << name;
    EXPECT_EQ(script.asked()[2] == kFirstPage, gone_for_good) << name;
    if (gone_for_good) {
      EXPECT_EQ(script.asked().back(), watch_from(30)) << name;
      EXPECT_EQ(script.seen.words, (Words{"begin", "+a", "+b", "end 7", "begin", "+b", "end 30"})) << name;
    }
    if (!gone_for_good) {
      EXPECT_EQ(script.asked()[2], watch_from(name == "in_stream_3_not_gone" ? 7 : 20)) << name;
    }
  }
}

TEST(ReflectorR14, EveryWayOfCuttingTheStreamGivesTheSameSixEvents) {
  const std::string text = data("stream.jsonl");
  const Json script_of_cuts = *parse_json(data("stream-cuts.json"));
  ASSERT_EQ(text.size(), script_of_cuts["bytes"].get<std::size_t>());
  std::vector<std::vector<Piece>> ways;
  for (std::size_t at = 1; at < text.size(); ++at) ways.push_back({{text.substr(0, at)}, {text.substr(at)}});
  for (const std::size_t size : {1U, 2U, 7U, 530U}) {
    ways.emplace_back();
    for (std::size_t at = 0; at < text.size(); at += size) ways.back().push_back({text.substr(at, size)});
  }
  for (const auto& way : ways) {
    Script script;
    script.answers = {list(7, {}), Answer(way)};
    script.play();
    ASSERT_EQ(script.seen.words, (Words{"begin", "end 7", "+gpu-w-1", "+gpu-w-1", "+gpu-w-2", "-gpu-w-1", "+gpu-w-3"}))
        << way[0].bytes.size();
    ASSERT_EQ(script.asked().back(), watch_from(42));
  }
}

TEST(ReflectorR14, HalfALineIsDroppedAndTheWatchResumesBeforeIt) {
  const std::string text = data("stream.jsonl");
  for (const std::size_t lost : {1U, 2U, 30U, 200U}) {
    Script script;
    script.answers = {list(7, {}), Answer({{text.substr(0, text.size() - lost)}})};
    script.play();
    EXPECT_EQ(script.seen.words.back(), "-gpu-w-1") << lost;
    EXPECT_EQ(script.asked().back(), watch_from(41)) << lost;
  }
}

TEST(ReflectorR14, BlankLinesAndLinesOfManyMegabytesAreNoTrouble) {
  for (const std::size_t size : {std::size_t{1'600'000}, std::size_t{4} << 20, std::size_t{20} << 20}) {
    Script script;
    const std::string big = line(
        "MODIFIED",
        fmt::format(R"({{"metadata":{{"name":"gpu-w-2","resourceVersion":"50","annotations":{{"example.org/big":"{}"}}}}}})",
                    std::string(size, 'a')));
    std::vector<Piece> pieces = {{"\n \r\n"}};
    for (std::size_t at = 0; at < big.size(); at += 16 * 1024) pieces.push_back({big.substr(at, 16 * 1024)});
    pieces.push_back({"\r\n\n"});
    script.answers = {list(7, {}), Answer(std::move(pieces))};
    const auto began = std::chrono::steady_clock::now();
    script.play();
    EXPECT_LT(std::chrono::steady_clock::now() - began, 1s) << size;
    EXPECT_EQ(script.asked().back(), watch_from(50));
  }
}

// ---- lists that are not what they should be --------------------------------------------------------------------------------

TEST(Reflector, AListWhoseThirdPageFailsOrWhoseTokenExpiresIsReadAgainFromTheStart) {
  Script script;
  script.answers = {
      list(7, {node("a", 1)}, "p2"), list(7, {node("b", 1)}, "p3"), answer(500, "broken"), list(7, {node("a", 1)}, "p2"), gone(),
      list(9, {node("a", 1)}, "p2"), list(9, {node("b", 1)})};
  script.play();
  EXPECT_EQ(script.seen.words, (Words{"begin", "+a", "+b", "begin", "+a", "begin", "+a", "+b", "end 9"}));
}

TEST(Reflector, PagesThatNeverEndAreGivenUp) {
  Script script;
  for (int page = 0; page < 3; ++page) script.answers.emplace_back(list(7, {node("a", 1)}, fmt::format("ever new {}", page)));
  script.play();
  EXPECT_EQ(script.asked()[2], kFirstPage) << "the second page shows what the first did";
  EXPECT_NE(script.reflector.trouble().find("list of nodes"), std::string::npos);
  EXPECT_FALSE(script.reflector.synced());

  PageCheck check;
  int pages = 0;
  while (check.add(fmt::format("t{}", pages), fmt::format("t{}", pages + 1), "")) ++pages;
  EXPECT_EQ(pages, 99);
}

TEST(Reflector, AnObjectThatCannotBeReadIsStillThere) {
  const std::string not_utf8 = "{\"metadata\":{\"annotations\":{\"x\":\"\xff\"},\"name\":\"odd\"}}";
  const std::string broken = R"({"metadata":{"name":"cut","labels":[1,,]}})";
  for (const bool streaming : {false, true}) {
    Script script(streaming);
    if (streaming) {
      script.answers = {Answer({{line("ADDED", not_utf8) + line("ADDED", broken) + initial_end(7)}})};
    } else {
      script.answers = {list(7, {not_utf8, broken})};
    }
    script.play();
    EXPECT_EQ(script.seen.words, (Words{"begin", "?odd", "?cut", "end 7"}));
  }
}

}  // namespace
}  // namespace nodeward::kube
