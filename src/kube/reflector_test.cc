#include "kube/reflector.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <set>

#include "base/fake_clock.h"
#include "kube/reflector_script.h"
#include "net/scripted_transport.h"

namespace nodeward::kube {
namespace {

TEST(Reflector, ListsInPagesThenWatchesFromTheListsVersion) {
  Script script;
  script.answers = {list(7, {node("a", 1), node("b", 2)}, "next page"), list(7, {node("c", 3)}),
                    answer(200, line("ADDED", node("d", 8)) + line("DELETED", node("a", 9)))};
  EXPECT_FALSE(script.reflector.synced());
  script.play();
  EXPECT_EQ(script.seen.words, (std::vector<std::string>{"begin", "+a", "+b", "+c", "end 7", "+d", "-a"}));
  EXPECT_EQ(script.asked(),
            (std::vector<std::string>{kFirstPage, "/api/v1/nodes?limit=500&continue=next%20page", watch_from(7), watch_from(9)}));
  EXPECT_TRUE(script.reflector.synced());
}

TEST(Reflector, AsksForNoMoreThanMetadataWhereNoMoreIsKept) {
  Script script;
  script.answers = {list(7, {})};
  script.play();
  const auto& requests = script.requests;
  EXPECT_EQ(requests.at(0).headers[0].value, "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json");
  EXPECT_EQ(requests.at(1).headers[0].value, "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json");
  EXPECT_EQ(accept_list(make_node_decoder({.spec = true})->detail()), "application/json");
  EXPECT_EQ(accept_list(make_pod_decoder()->detail()), "application/json");
}

TEST(Reflector, ResumesABrokenWatchFromTheLastWholeEvent) {
  Script script;
  script.answers = {list(7, {}),
                    answer(200, line("ADDED", node("a", 8)) + R"({"type":"ADDED","object":{"metadata":{"name":"half)"),
                    fail(ErrorCode::kUnavailable, "connection reset"),
                    answer(200, line("BOOKMARK", R"({"metadata":{"resourceVersion":"230"}})"))};
  script.play();
  EXPECT_EQ(script.seen.words, (std::vector<std::string>{"begin", "end 7", "+a"}));
  EXPECT_EQ(script.asked(), (std::vector<std::string>{kFirstPage, watch_from(7), watch_from(8), watch_from(8), watch_from(230)}));
}

TEST(Reflector, RelistsWhenTheWatchSaysGone) {
  Script script;
  script.answers = {list(7, {node("a", 1)}), gone(), list(20, {node("b", 15)}),
                    answer(200, line("ERROR", R"({"kind":"Status","code":410,"reason":"Expired"})")), list(30, {node("c", 25)})};
  script.play();
  EXPECT_EQ(script.seen.words,
            (std::vector<std::string>{"begin", "+a", "end 7", "begin", "+b", "end 20", "begin", "+c", "end 30"}));
}

TEST(Reflector, AServerThatAlwaysSaysGoneGetsTwoListsAMinute) {
  Script script;
  for (int i = 0; i < 6; ++i) {
    script.answers.emplace_back(list(7 + i, {}));
    script.answers.emplace_back(gone());
  }
  script.play();
  ASSERT_EQ(script.times.size(), 13U);
  for (std::size_t third = 4; third < 12; third += 2) EXPECT_GE(script.times[third] - script.times[third - 4], 60s);
}

TEST(Reflector, AListWhosePagesAreGoneEachTimeIsAskedForEverMoreSeldom) {
  Script script;
  for (int i = 0; i < 4; ++i) {
    script.answers.emplace_back(list(7 + i, {}, "p2"));
    script.answers.emplace_back(gone());
  }
  script.play();
  ASSERT_EQ(script.times.size(), 9U);
  EXPECT_GE(script.times[2] - script.times[1], 150ms);
  EXPECT_GE(script.times[8] - script.times[7], 1s);
}

TEST(Reflector, ARetryAfterOfADayIsCutToTwoMinutes) {
  Script script;
  net::Response throttled = answer(503, "");
  throttled.headers = {{"retry-after", "86400"}};
  script.answers = {throttled};
  script.play();
  ASSERT_EQ(script.times.size(), 2U);
  EXPECT_EQ(script.times[1] - script.times[0], 2min);
}

// Seconds between the first and the last of `asked` requests, each answered by `each`.
Duration span_of(Script& script, const std::function<net::Response()>& each, int asked = 12) {
  for (int i = 0; i < asked; ++i) script.answers.emplace_back(each());
  script.play();
  return script.times.back() - script.times.front();
}

TEST(Reflector, AListThatIsAlwaysGoneIsAskedForMoreAndMoreSeldom) {
  Script script;
  EXPECT_GE(span_of(script, gone), 50s);
}

TEST(Reflector, AWatchThatEndsAsSoonAsItIsThereIsAskedForMoreAndMoreSeldom) {
  const std::array<std::string, 4> bodies = {"", line("MODIFIED", node("a", 8)), line("BOOKMARK", R"({"metadata":{}})"),
                                             line("MODIFIED", node("a", 8)) + line("ERROR", R"({"kind":"Status","code":500})")};
  for (const std::string& body : bodies) {
    Script script;
    script.answers = {list(7, {})};
    EXPECT_GE(span_of(script, [&] { return answer(200, body); }), 50s) << body;
  }
}

TEST(Reflector, APageThatNamesItselfAsTheNextIsAFailure) {
  Script script;
  EXPECT_GE(span_of(script, [] { return list(7, {node("a", 1)}, "same"); }), 10s);
  EXPECT_FALSE(script.reflector.synced());
  EXPECT_NE(script.reflector.trouble().find("names itself"), std::string::npos);
}

TEST(Reflector, APartialListIsNeverComplete) {
  Script script;
  auto half = list(7, {node("a", 1), node("b", 2)}).body;
  half.resize(half.size() - 3);
  script.answers = {answer(200, half), list(8, {node("a", 1)}, "p2"), fail(ErrorCode::kUnavailable, "reset"),
                    list(9, {node("c", 3)})};
  script.play();
  EXPECT_EQ(script.seen.words, (std::vector<std::string>{"begin", "+a", "begin", "+a", "begin", "+c", "end 9"}));
}

TEST(Reflector, AServersInternalErrorResumesTheWatchWithoutAList) {
  Script script;
  script.answers = {list(7, {}), answer(200, line("ERROR", R"({"kind":"Status","code":500,"reason":"InternalError"})"))};
  script.play();
  EXPECT_EQ(script.asked(), (std::vector<std::string>{kFirstPage, watch_from(7), watch_from(7)}));
}

TEST(Reflector, WaitsLongerAfterEachFailureAndAsLongAsTheServerAsks) {
  Script script;
  net::Response throttled = answer(429, "slow down");
  throttled.headers = {{"retry-after", "7"}};
  script.answers = {fail(ErrorCode::kUnavailable, "refused"), fail(ErrorCode::kUnavailable, "refused"), throttled};
  script.play();
  ASSERT_EQ(script.times.size(), 4U);
  EXPECT_GE(script.times[1] - script.times[0], 150ms);
  EXPECT_GE(script.times[2] - script.times[1], 300ms);
  EXPECT_GE(script.times[3] - script.times[2], 7s);
  EXPECT_FALSE(script.reflector.synced());
}

TEST(Reflector, AnUnreadableObjectHidesNoOther) {
  Script script;
  script.answers = {list(7, {node("a", 1), R"({"metadata":{"labels":[]}})", node("b", 2)}),
                    answer(200, "{]\n" + line("ADDED", node("c", 8)))};
  script.play();
  EXPECT_EQ(script.seen.words, (std::vector<std::string>{"begin", "+a", "?", "+b", "end 7", "+c"}));
}

TEST(Reflector, SaysWhatIsWrongUntilItIsWell) {
  Script script;
  script.answers = {answer(403, R"({"kind":"Status","code":403,"reason":"Forbidden","message":"nodes is forbidden"})")};
  script.play();
  EXPECT_NE(script.reflector.trouble().find("403 Forbidden: nodes is forbidden"), std::string::npos);
}

// A server restored from a backup takes a watch from a version it has yet to reach, and is silent until then.
const net::Response kYetToCome = answer(
    504, R"({"kind":"Status","code":504,"reason":"Timeout","message":"Timeout: Too large resource version: 700, current: 20"})");
Answer silent_for(Duration time) { return Answer({{line("MODIFIED", node("late", 800)), time}}); }
constexpr auto kVersionKnown = "/api/v1/nodes?limit=1&resourceVersion=700&resourceVersionMatch=NotOlderThan";

TEST(Reflector, AServerThatLostOurVersionIsListedAnew) {
  Script script;
  script.answers = {list(700, {node("a", 1)}), answer(200, ""), silent_for(4min), list(20, {node("b", 15)})};
  script.versions = {kYetToCome};
  script.play();
  EXPECT_EQ(script.seen.words, (Words{"begin", "+a", "end 700", "begin", "+b", "end 20"}));
  EXPECT_EQ(script.asked_alone, Words{kVersionKnown});
  EXPECT_LE(script.times[3] - script.times[2], 91s);
}

TEST(Reflector, AServerThatRefusesOurVersionAtOnceIsListedAnew) {
  Script script;
  script.answers = {list(700, {}), answer(200, ""), kYetToCome, list(20, {node("b", 15)})};
  script.play();
  EXPECT_EQ(script.seen.words, (Words{"begin", "end 700", "begin", "+b", "end 20"}));
}

TEST(Reflector, ASilentWatchOfAServerThatKnowsItsVersionOrWillNotSayIsAskedAboutOnce) {
  for (const int status : {200, 403, 404, 422}) {
    Script script;
    script.answers = {list(700, {}), answer(200, ""), silent_for(4min)};
    script.versions = {answer(status, R"({"kind":"Status","reason":"NotFound"})")};
    script.play();
    EXPECT_EQ(script.seen.words, (Words{"begin", "end 700", "+late"}));
    EXPECT_EQ(script.asked_alone, Words{kVersionKnown}) << status;
  }
}

TEST(Reflector, TheDoubtStaysWhileTheServerCannotSay) {
  const std::vector<Result<net::Response>> tells_nothing = {answer(503, ""), answer(429, ""), answer(504, ""), answer(401, ""),
                                                            fail(ErrorCode::kUnreachable, "no way")};
  for (const auto& said : tells_nothing) {
    Script script;
    script.answers = {list(700, {}), answer(200, ""), silent_for(4min), list(20, {node("b", 15)})};
    script.versions = {said, kYetToCome};
    script.play();
    EXPECT_EQ(script.seen.words, (Words{"begin", "end 700", "begin", "+b", "end 20"}));
    EXPECT_LE(script.times[3] - script.times[2], 181s);
  }
}

// Whether the nodes are in sight, at each line the sink is told of and at the script's end.
TEST(Reflector, IsInSightFromTheListToTheEndOfAWatchAndAgainOnceTheNextHasSettled) {
  std::vector<std::string> sights;
  FakeClock* clock = nullptr;
  Script script;
  clock = &script.clock;
  const MonoTime start = clock->now();
  Reflector<Node> reflector(script.client, {.name = "nodes", .path = "/api/v1/nodes"}, make_node_decoder({}), script.seen, *clock,
                            {.streaming = false, .watch_least = 5min, .watch_most = 5min, .on_sight = [&] {
                               sights.push_back(fmt::format("{}", (clock->now() - start) / 1s));
                             }});
  script.seen.on_apply = [&] { script.seen.words.push_back(reflector.in_sight() ? "seen" : "not yet"); };
  script.answers = {list(7, {}), Answer({{line("MODIFIED", node("a", 8)), 10s}}),
                    Answer({{line("MODIFIED", node("b", 9)), 500ms}, {line("MODIFIED", node("c", 10)), 20s}})};
  std::jthread mover([&](const std::stop_token& done) {
    while (!done.stop_requested()) {
      clock->advance_to_next();
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
  });
  reflector.run(script.stop.get_token());
  EXPECT_EQ(script.seen.words, (Words{"begin", "end 7", "+a", "seen", "+b", "not yet", "+c", "seen"}));
  EXPECT_EQ(sights, (Words{"0", "11"}));
  EXPECT_FALSE(reflector.in_sight());
}

TEST(Reflector, AWatchThatBringsSomethingOrWasNeverBrokenIsNotAskedAbout) {
  Script script;
  script.answers = {list(700, {}), silent_for(4min), Answer({{line("MODIFIED", node("a", 801)), 80s}, {" \n", 4min}})};
  script.play();
  EXPECT_EQ(script.seen.words, (Words{"begin", "end 700", "+late", "+a"}));
  EXPECT_EQ(script.asked_alone, Words{});
}

TEST(Client, SendsCredentialsAndReadsThemAnewAtA401) {
  FakeClock clock;
  std::string token = "Bearer old";
  std::vector<std::string> sent;
  net::ScriptedTransport transport([&](const net::Request& request) -> Result<net::Response> {
    sent.push_back(request.headers.back().value);
    return net::Response{request.headers.back().value == "Bearer new" ? 200 : 401, {}, "{}"};
  });
  Client client(transport,
                {.path_prefix = "/k8s",
                 .headers = {{"Impersonate-User", "jane"}},
                 .authorization = [&](const std::stop_token&) { return token; },
                 .reload_credentials =
                     [&](const Authorization& refused, const std::stop_token&) {
                       EXPECT_EQ(refused.header, "Bearer old");
                       token = "Bearer new";
                       return true;
                     }},
                clock);
  EXPECT_TRUE(client.send({.path = "/api"}, {}));
  EXPECT_EQ(sent, (std::vector<std::string>{"Bearer old", "Bearer new"}));
  EXPECT_EQ(transport.requests()[0].path, "/k8s/api");
  EXPECT_EQ(transport.requests()[1].headers[1].name, "Impersonate-User");
}

TEST(Client, OpensAStreamAnewWithOtherCredentialsAtA401) {
  std::string token = "Bearer old";
  Script script;
  Client client(script,
                {.authorization = [&](const std::stop_token&) { return token; },
                 .reload_credentials =
                     [&](const Authorization& refused, const std::stop_token&) {
                       token = "Bearer new";
                       return refused.header != token;
                     }},
                script.clock);
  script.answers = {answer(401, ""), list(7, {}), answer(401, ""), answer(401, "")};
  const auto stream = client.open({.path = "/api"}, {});
  ASSERT_TRUE(stream) << stream.error().message;
  ASSERT_EQ(script.requests.size(), 2U);
  EXPECT_EQ(script.requests[1].headers.back().value, "Bearer new");
  EXPECT_EQ(client.open({.path = "/api"}, {}).error().code, ErrorCode::kUnauthorized) << "there are no other credentials";
  EXPECT_EQ(script.requests.size(), 3U);
}

TEST(Client, ShowsNoTokenThatTheServerShowsIt) {
  FakeClock clock;
  net::ScriptedTransport transport([](const net::Request& request) -> Result<net::Response> {
    return net::Response{500, {}, "echo " + request.headers.back().value + "."};
  });
  Client client(transport, {.authorization = [](const auto&) { return std::string("Bearer hunter2"); }}, clock);
  const net::Request request{.path = "/api"};
  EXPECT_EQ(client.send(request, {}).error().message, "GET /api: 500 echo Bearer ***.");
  EXPECT_EQ(client.open(request, {}).error().message, "GET /api: 500 echo Bearer ***.");
}

TEST(Client, SendsNothingWithoutTheCredentialsThatItIsToHave) {
  FakeClock clock;
  net::ScriptedTransport transport([](const net::Request&) -> Result<net::Response> { return net::Response{200, {}, "{}"}; });
  Client client(transport, {.authorization = [](const auto&) { return fail(ErrorCode::kUnauthorized, "no token"); }}, clock);
  const auto answer = client.send({.path = "/api"}, {});
  EXPECT_EQ(answer.error().code, ErrorCode::kUnauthorized);
  EXPECT_EQ(answer.error().message, "GET /api: no token");
  EXPECT_EQ(client.open({.path = "/api"}, {}).error().code, ErrorCode::kUnauthorized);
  EXPECT_TRUE(transport.requests().empty());
}

TEST(Client, StopsAfterOneRepeatOfA401) {
  FakeClock clock;
  net::ScriptedTransport transport([](const net::Request&) -> Result<net::Response> { return net::Response{401, {}, ""}; });
  Client client(transport, {.reload_credentials = [](auto&&...) { return true; }}, clock);
  EXPECT_EQ(client.send({.path = "/api"}, {}).error().code, ErrorCode::kUnauthorized);
  EXPECT_EQ(transport.requests().size(), 2U);
}

}  // namespace
}  // namespace nodeward::kube
