// Objects, lists and watches, each as recorded from a real kube-apiserver 1.36.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "sim/api_fixture.h"

namespace nodeward::sim {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// ---- Reading ------------------------------------------------------------------------------------------------------------------

TEST_F(Api, ANodeComesBackWithWhatARealServerAdds) {
  const FakeAnswer made = post("/api/v1/nodes", R"({"metadata":{"name":"a"},"spec":{"taints":[],"unschedulable":false}})");
  EXPECT_EQ(made.status, 201);
  EXPECT_EQ(made.json()["spec"], Json::object());
  EXPECT_EQ(made.json()["status"]["nodeInfo"]["kubeletVersion"], "");
  EXPECT_EQ(made.json()["metadata"]["creationTimestamp"], "2026-09-01T07:00:00Z");
  EXPECT_EQ(get("/api/v1/nodes/a").json(), made.json());
}

TEST_F(Api, WhatIsNotThereIsNamed) {
  EXPECT_EQ(get("/api/v1/nodes/zz").message(), "nodes \"zz\" not found");
  EXPECT_EQ(get("/apis/apps/v1/namespaces/n/daemonsets/d").message(), "daemonsets.apps \"d\" not found");
  EXPECT_EQ(get("/api/v1/foos").message(), "the server could not find the requested resource");
  EXPECT_EQ(get("/api/v1/pods/x").status, 404);
  EXPECT_EQ(get("/api/v1/namespaces/default/nodes/a").status, 404);
  EXPECT_EQ(get("/apis/foo/v1/bars").body, "404 page not found\n");
  EXPECT_EQ(get("/foo").body, "404 page not found\n");
}

TEST_F(Api, MethodsThatAResourceDoesNotHaveAreRefused) {
  for (const auto& [method, path] : {std::pair{"PUT", "/api/v1/nodes"},
                                     {"PATCH", "/api/v1/nodes"},
                                     {"POST", "/api/v1/nodes/a"},
                                     {"DELETE", "/api/v1/namespaces"},
                                     {"POST", "/api/v1/pods"},
                                     {"POST", "/api/v1/nodes/a/status"}}) {
    EXPECT_EQ(call(method, path, "{}").status, 405) << method << path;
  }
}

TEST_F(Api, PagesOfOneListShowOneVersion) {
  for (const char* name : {"a", "b", "c", "d"}) node(name);
  const Json first = get("/api/v1/nodes?limit=2").json();
  EXPECT_THAT(names_of(first), ElementsAre("a", "b"));
  EXPECT_EQ(first["metadata"]["remainingItemCount"], 2);
  EXPECT_FALSE(first["items"][0].contains("kind"));
  call("DELETE", "/api/v1/nodes/c");
  node("bb");
  patch("/api/v1/nodes/d", R"({"metadata":{"labels":{"x":"new"}}})");
  const Json second = get("/api/v1/nodes?limit=2&continue=" + first["metadata"]["continue"].get<std::string>()).json();
  EXPECT_THAT(names_of(second), ElementsAre("c", "d"));
  EXPECT_FALSE(second["items"][1]["metadata"].contains("labels"));
  EXPECT_EQ(second["metadata"]["resourceVersion"], first["metadata"]["resourceVersion"]);
  EXPECT_FALSE(second["metadata"].contains("continue"));
}

TEST_F(Api, ACompactedPageIsExpiredAndSaysHowToGoOn) {
  for (const char* name : {"a", "b", "c"}) node(name);
  const std::string token = get("/api/v1/nodes?limit=1").json()["metadata"]["continue"];
  node("d");
  server.store().compact();
  const FakeAnswer gone = get("/api/v1/nodes?limit=1&continue=" + token);
  EXPECT_EQ(gone.status, 410);
  EXPECT_EQ(gone.reason(), "Expired");
  const std::string onward = gone.json()["metadata"]["continue"];
  EXPECT_THAT(names_of(get("/api/v1/nodes?continue=" + onward).json()), ElementsAre("b", "c", "d"));
}

TEST_F(Api, ListOptionsAreChecked) {
  node("a");
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"limit=x", "strconv.ParseInt: parsing \"x\": invalid syntax"},
      {"resourceVersion=abc",
       "invalid resource version: resourceVersion: Invalid value: \"abc\": strconv.ParseUint: parsing \"abc\": "
       "invalid syntax"},
      {"resourceVersionMatch=Exact", "resourceVersionMatch is forbidden unless resourceVersion is provided"},
      {"resourceVersion=0&resourceVersionMatch=Exact", "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\""},
      {"resourceVersion=1&resourceVersionMatch=Foo",
       "Unsupported value: \"Foo\": supported values: \"Exact\", \"NotOlderThan\", \"\""},
      {"resourceVersion=999", "Too large resource version: 999, current: 2"},
      {"sendInitialEvents=true", "sendInitialEvents is forbidden for list"},
      {"watch=1&sendInitialEvents=true", "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"},
      {"watch=1&resourceVersion=1&resourceVersionMatch=NotOlderThan",
       "is forbidden for watch unless sendInitialEvents is provided"},
      {"continue=abc", "invalid continue token"},
      {"fieldSelector=foo.bar%3Dp3", "field label not supported: foo.bar"},
      {"fieldSelector=foo", "invalid selector: 'foo'; can't understand 'foo'"},
      {"labelSelector=a%20b%20c", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"},
      {"labelSelector=a%20in%20b", "unable to parse requirement: found 'b' expected: '('"},
  };
  for (const auto& [query, message] : cases) EXPECT_THAT(get("/api/v1/nodes?" + query).message(), HasSubstr(message)) << query;
}

TEST_F(Api, SelectorsChooseObjects) {
  node("a", R"({"pool":"x","n":"5"})");
  node("b", R"({"pool":"y"})");
  node("c");
  patch("/api/v1/nodes/c", R"({"spec":{"unschedulable":true}})");
  const std::vector<std::pair<std::string, std::vector<std::string>>> cases = {
      {"labelSelector=pool%3Dx", {"a"}},
      {"labelSelector=pool%21%3Dx", {"b", "c"}},
      {"labelSelector=pool%20in%20(x,y)", {"a", "b"}},
      {"labelSelector=pool%20notin%20(x)", {"b", "c"}},
      {"labelSelector=pool,n%3E4", {"a"}},
      {"labelSelector=%21pool", {"c"}},
      {"fieldSelector=metadata.name%3Db", {"b"}},
      {"fieldSelector=metadata.name%21%3Db,spec.unschedulable%3Dfalse", {"a"}},
      {"fieldSelector=spec.unschedulable%3Dtrue", {"c"}},
  };
  for (const auto& [query, names] : cases) EXPECT_EQ(names_of(get("/api/v1/nodes?" + query).json()), names) << query;
}

TEST_F(Api, MetadataAndTablesAreFormsOfTheSameObject) {
  node("a");
  const std::string as = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
  EXPECT_EQ(call("GET", "/api/v1/nodes/a", "", {{"accept", as}}).json()["kind"], "PartialObjectMetadata");
  EXPECT_EQ(call("GET", "/api/v1/nodes", "", {{"accept", as}}).status, 406);
  const std::string list = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
  EXPECT_FALSE(call("GET", "/api/v1/nodes", "", {{"accept", list}}).json()["items"][0].contains("spec"));
  const std::string table = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";
  const Json shown = call("GET", "/api/v1/nodes", "", {{"accept", table}}).json();
  EXPECT_EQ(shown["kind"], "Table");
  EXPECT_EQ(shown["columnDefinitions"][1]["name"], "Status");
  EXPECT_EQ(shown["rows"][0]["cells"][0], "a");
  EXPECT_EQ(call("GET", "/api/v1/nodes/a", "", {{"accept", "application/vnd.kubernetes.protobuf"}}).status, 406);
  EXPECT_EQ(call("GET", "/api/v1/nodes/a", "", {{"accept", "application/vnd.kubernetes.protobuf,application/json"}}).status, 200);
}

// ---- Watching -----------------------------------------------------------------------------------------------------------------

TEST_F(Api, AWatchResumesAfterTheVersionItNames) {
  const std::string version = node("a").version();
  node("b");
  const auto watch = open("GET", "/api/v1/nodes?watch=1&resourceVersion=" + version);
  auto events = watch->events();
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0]["type"], "ADDED");
  EXPECT_EQ(events[0]["object"]["metadata"]["name"], "b");
  patch("/api/v1/nodes/b", R"({"metadata":{"labels":{"x":"1"}}})");
  call("DELETE", "/api/v1/nodes/b");
  EXPECT_EQ(watch->wakes, 1) << "woken once; what came later is in the same read";
  events = watch->events();
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[0]["type"], "MODIFIED");
  EXPECT_EQ(events[1]["type"], "DELETED");
  EXPECT_EQ(events[1]["object"]["metadata"]["resourceVersion"], std::to_string(server.store().version()));
}

TEST_F(Api, AnObjectThatStartsToMatchIsAddedAndOneThatStopsIsDeleted) {
  node("a");
  const auto watch = open(
      "GET", "/api/v1/nodes?watch=1&labelSelector=x%3D1&resourceVersion=" + std::to_string(server.store().version()));
  patch("/api/v1/nodes/a", R"({"metadata":{"labels":{"x":"1"}}})");
  patch("/api/v1/nodes/a", R"({"metadata":{"labels":{"y":"1"}}})");
  const std::string left = patch("/api/v1/nodes/a", R"({"metadata":{"labels":{"x":null}}})").version();
  patch("/api/v1/nodes/a", R"({"metadata":{"labels":{"y":null}}})");
  const auto events = watch->events();
  ASSERT_EQ(events.size(), 3U);
  EXPECT_EQ(events[0]["type"], "ADDED");
  EXPECT_EQ(events[1]["type"], "MODIFIED");
  EXPECT_EQ(events[2]["type"], "DELETED");
  EXPECT_EQ(events[2]["object"]["metadata"]["labels"]["x"], "1") << "as it was when it matched";
  EXPECT_EQ(events[2]["object"]["metadata"]["resourceVersion"], left);
}

TEST_F(Api, InitialEventsEndWithABookmark) {
  node("a");
  const auto watch = open(
      "GET", "/api/v1/nodes?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true");
  const auto events = watch->events();
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[1]["type"], "BOOKMARK");
  EXPECT_EQ(events[1]["object"]["metadata"]["annotations"]["k8s.io/initial-events-end"], "true");
  EXPECT_EQ(events[1]["object"]["metadata"]["resourceVersion"], std::to_string(server.store().version()));
}

TEST_F(Api, BookmarksComeEachMinuteAndTheTimeoutEndsTheWatch) {
  const auto watch = open("GET", "/api/v1/nodes?watch=1&resourceVersion=1&allowWatchBookmarks=true&timeoutSeconds=150");
  EXPECT_TRUE(watch->events().empty());
  run_timers(61s);
  EXPECT_EQ(watch->events().at(0)["type"], "BOOKMARK");
  run_timers(61s);
  EXPECT_EQ(watch->events().at(0)["type"], "BOOKMARK");
  run_timers(61s);
  watch->read();
  EXPECT_TRUE(watch->ended);
}

TEST_F(Api, AWatchFromAVersionYetToComeIsSilentUntilThen) {
  const std::uint64_t last = std::stoull(node("a").version());
  const auto watch = open("GET", fmt::format("/api/v1/nodes?watch=1&allowWatchBookmarks=true&resourceVersion={}", last + 1));
  node("b");
  run_timers(61s);
  EXPECT_EQ(watch->events().at(0)["type"], "BOOKMARK") << "as far as that one change";
  node("c");
  EXPECT_EQ(watch->events().at(0)["object"]["metadata"]["name"], "c");
}

TEST_F(Api, ACompactedVersionIsAnErrorEvent) {
  const std::string version = node("a").version();
  node("b");
  server.store().compact();
  const auto watch = open("GET", "/api/v1/nodes?watch=1&resourceVersion=" + version);
  const auto events = watch->events();
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0]["type"], "ERROR");
  EXPECT_EQ(events[0]["object"]["code"], 410);
  EXPECT_EQ(events[0]["object"]["reason"], "Expired");
  EXPECT_TRUE(watch->ended);
}

TEST_F(Api, AWatchThatFallsBehindEnds) {
  node("a");
  const auto watch = open("GET", "/api/v1/nodes?watch=1&resourceVersion=" + std::to_string(server.store().version()));
  for (int i = 0; i < 1001; ++i) patch("/api/v1/nodes/a", R"({"metadata":{"labels":{"x":")" + std::to_string(i) + R"("}}})");
  EXPECT_EQ(watch->read(), "");
  EXPECT_TRUE(watch->ended);
}

TEST_F(Api, AWatchThatIsGoneIsForgotten) {
  auto watch = open("GET", "/api/v1/nodes?watch=1&allowWatchBookmarks=true&timeoutSeconds=1");
  watch.reset();
  node("a");
  run_timers(70s);
  EXPECT_TRUE(timers.empty());
}

TEST_F(Api, ATimeBeyondAllMeasureEndsNoWatchAtOnce) {
  for (const char* seconds : {"9223372036", "9223372037", "9223372036854775807"}) {
    const auto watch = open("GET", fmt::format("/api/v1/nodes?watch=1&timeoutSeconds={}", seconds));
    run_timers(24h);
    watch->read();
    EXPECT_FALSE(watch->ended) << seconds;
  }
}

}  // namespace
}  // namespace nodeward::sim
