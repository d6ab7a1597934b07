// Requests and answers, each as recorded from a real kube-apiserver 1.36.
#include "sim/api_server.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/fake_server.h"

namespace nodeward::sim {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class Api : public testing::Test, public FakeServer {
 protected:
  std::vector<std::string> names_of(const Json& list) {
    std::vector<std::string> names;
    for (const Json& item : list["items"]) names.push_back(item["metadata"]["name"]);
    return names;
  }
};

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

// ---- Writing ------------------------------------------------------------------------------------------------------------------

TEST_F(Api, AMergePatchChangesWhatItNames) {
  const std::string version = node("a", R"({"x":"1"})").version();
  const FakeAnswer patched = patch("/api/v1/nodes/a", R"({"metadata":{"labels":{"y":"2","gone":null}}})");
  EXPECT_EQ(patched.json()["metadata"]["labels"], Json({{"x", "1"}, {"y", "2"}}));
  EXPECT_NE(patched.version(), version);
  EXPECT_EQ(patch("/api/v1/nodes/a", R"({"metadata":{"labels":{"y":"2","gone":null}}})").version(), patched.version())
      << "no change, no version";
  EXPECT_FALSE(patch("/api/v1/nodes/a", R"({"metadata":{"labels":null}})").json()["metadata"].contains("labels"));
}

TEST_F(Api, AVersionInThePatchIsAPrecondition) {
  const std::string version = node("a").version();
  EXPECT_EQ(patch("/api/v1/nodes/a", R"({"metadata":{"resourceVersion":")" + version + R"(","labels":{"x":"1"}}})").status, 200);
  const FakeAnswer stale = patch("/api/v1/nodes/a",
                                 R"({"metadata":{"resourceVersion":")" + version + R"(","labels":{"x":"2"}}})");
  EXPECT_EQ(stale.status, 409);
  EXPECT_EQ(stale.reason(), "Conflict");
  EXPECT_EQ(stale.message(),
            "Operation cannot be fulfilled on nodes \"a\": the object has been modified; please apply your changes to the latest "
            "version and try again");
  EXPECT_EQ(patch("/api/v1/nodes/a", R"({"metadata":{"resourceVersion":"xx"}})").status, 500);
  EXPECT_EQ(patch("/api/v1/nodes/a", R"({"metadata":{"resourceVersion":"0","labels":{"x":"3"}}})").status, 200);
}

TEST_F(Api, BadPatchesAreRefusedAsARealServerDoes) {
  node("a");
  const std::vector<std::tuple<std::string, std::string, int, std::string>> cases = {
      {kMerge, R"({"metadata":{"labels":{"y":"größe"}}})", 422,
       "Node \"a\" is invalid: metadata.labels: Invalid value: \"größe\": a valid label must be"},
      {kMerge, R"({"metadata":{"uid":"1"}})", 422, "metadata.uid: Invalid value: \"1\": field is immutable"},
      {kMerge, R"({"metadata":{"name":"b"}})", 400, "the name of the object (b) does not match the name on the URL (a)"},
      {kMerge, R"({"metadata":null})", 400, "the name of the object (a based on URL) was undeterminable: name must be provided"},
      {kMerge, R"({"metadata":{"labels":{"y":1}}})", 422,
       "json: cannot unmarshal number into Go struct field ObjectMeta.metadata.labels of type string"},
      {kMerge, R"({"kind":"Pod"})", 422, "converting (v1.Pod) to (core.Node): unknown conversion"},
      {kMerge, "[]", 400, "error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}"},
      {kMerge, "null", 400, "Invalid JSON Patch"},
      {kMerge, R"({"spec":{"taints":[{"key":"n","effect":"Nope"}]}})", 422,
       "metadata.taints[0].effect: Unsupported value: \"Nope\": supported values: \"NoSchedule\", \"PreferNoSchedule\", "
       "\"NoExecute\""},
      {kMerge, R"({"spec":{"taints":[{"key":"k","effect":"NoSchedule"},{"key":"k","effect":"NoSchedule"}]}})", 422,
       R"(metadata.taints[1]: Duplicate value: {"Key":"k","Value":"","Effect":"NoSchedule","TimeAdded":null}: taints must be unique)"},
      {kJsonPatch, R"([{"op":"remove","path":"/metadata/labels/nope"}])", 422,
       "the server rejected our request due to an error in our request"},
      {kJsonPatch, R"([{"op":"test","path":"/metadata/name","value":"q"}])", 422,
       "the server rejected our request due to an error in our request"},
      {kJsonPatch, R"({"op":"test"})", 400,
       "error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp"},
      {kStrategic, "[]", 400, "json: cannot unmarshal array into Go value of type map[string]interface {}"},
      {"application/json", "{}", 415, "415: Unsupported Media Type"},
  };
  for (const auto& [type, body, status, message] : cases) {
    const FakeAnswer answer = patch("/api/v1/nodes/a", body, type);
    EXPECT_EQ(answer.status, status) << body;
    EXPECT_THAT(answer.message(), HasSubstr(message)) << body;
  }
}

TEST_F(Api, AnnotationsHaveABudget) {
  const FakeAnswer refused = post("/api/v1/nodes",
                                  R"({"metadata":{"name":"a","annotations":{"a":")" + std::string(262144, 'x') + "\"}}}");
  EXPECT_EQ(refused.message(), "Node \"a\" is invalid: metadata.annotations: Too long: may not be more than 262144 bytes");
}

TEST_F(Api, NamesAreChecked) {
  EXPECT_THAT(node("A_b").message(),
              HasSubstr("metadata.name: Invalid value: \"A_b\": a lowercase RFC 1123 subdomain must consist of"));
  EXPECT_THAT(post("/api/v1/namespaces", R"({"metadata":{"name":"n.s"}})").message(), HasSubstr("must not contain dots"));
  EXPECT_THAT(post("/api/v1/nodes", "{}").message(),
              HasSubstr("metadata.name: Required value: name or generateName is required"));
  const FakeAnswer generated = post("/api/v1/nodes?dryRun=All", R"({"metadata":{"generateName":"gen-"}})");
  EXPECT_EQ(generated.json()["metadata"]["name"].get<std::string>().size(), 9U);
  EXPECT_TRUE(get("/api/v1/nodes").json()["items"].empty());
}

TEST_F(Api, ABodyOfAnotherTypeIsRefused) {
  EXPECT_EQ(post("/api/v1/nodes", R"({"kind":"Pod","apiVersion":"v1","metadata":{"name":"c"}})").message(),
            "Pod in version \"v1\" cannot be handled as a Node: converting (v1.Pod) to (core.Node): unknown conversion");
  EXPECT_EQ(call("POST", "/api/v1/nodes", "{}", {{"content-type", "text/foo"}}).status, 415);
  EXPECT_EQ(post("/api/v1/nodes", R"({"metadata":{"name":"c")").status, 400);
  EXPECT_EQ(post("/api/v1/nodes", std::string(100'000, '[')).status, 400);
  EXPECT_EQ(node("a").status, 201);
  EXPECT_EQ(node("a").message(), "nodes \"a\" already exists");
}

TEST_F(Api, APutReplacesUnlessItsVersionIsOld) {
  node("a", R"({"x":"1"})");
  EXPECT_EQ(call("PUT", "/api/v1/nodes/a", R"({"metadata":{"name":"a","resourceVersion":"1"}})").status, 409);
  EXPECT_EQ(call("PUT", "/api/v1/nodes/a", R"({"metadata":{"name":"b"}})").status, 400);
  EXPECT_EQ(call("PUT", "/api/v1/nodes/n", R"({"metadata":{"name":"n"}})").status, 404);
  EXPECT_THAT(
      call("PUT", "/api/v1/nodes/a", R"({"metadata":{"name":"a","uid":"u"}})").message(),
      HasSubstr(
          "Key: /registry/minions/a, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: u,"));
  const FakeAnswer replaced = call("PUT", "/api/v1/nodes/a",
                                   R"({"metadata":{"name":"a","labels":{"y":"2"}},"status":{"phase":"x"}})");
  EXPECT_EQ(replaced.json()["metadata"]["labels"], Json({{"y", "2"}}));
  EXPECT_FALSE(replaced.json()["status"].contains("phase")) << "the status has its own path";
}

TEST_F(Api, ALeaseNeedsAVersionAndIsCreatedByAPut) {
  const std::string path = "/apis/coordination.k8s.io/v1/namespaces/default/leases/l";
  EXPECT_EQ(call("PUT", path, R"({"metadata":{"name":"l"},"spec":{"holderIdentity":"x"}})").status, 201);
  EXPECT_EQ(
      call("PUT", path, R"({"metadata":{"name":"l"},"spec":{}})").message(),
      "leases.coordination.k8s.io \"l\" is invalid: metadata.resourceVersion: Invalid value: 0: must be specified for an update");
}

TEST_F(Api, TheStatusIsWrittenOnItsOwnPathOnly) {
  node("a");
  const FakeAnswer status = patch("/api/v1/nodes/a/status",
                                  R"({"spec":{"unschedulable":true},"status":{"conditions":[{"type":"Ready","status":"True"}]}})",
                                  kStrategic);
  EXPECT_FALSE(status.json()["spec"].contains("unschedulable"));
  EXPECT_EQ(status.json()["status"]["conditions"][0]["lastHeartbeatTime"], nullptr);
  const FakeAnswer second = patch("/api/v1/nodes/a/status", R"({"status":{"conditions":[{"type":"Disk","status":"True"}]}})",
                                  kStrategic);
  EXPECT_EQ(second.json()["status"]["conditions"][0]["type"], "Disk") << "new items come first";
  EXPECT_EQ(second.json()["status"]["conditions"][1]["type"], "Ready");
  EXPECT_EQ(patch("/api/v1/nodes/a", R"({"status":{"conditions":null}})").version(), second.version());
}

TEST_F(Api, DeletesFollowTheirPreconditions) {
  node("a");
  EXPECT_THAT(
      call("DELETE", "/api/v1/nodes/a", R"({"preconditions":{"uid":"x"}})").message(),
      HasSubstr(
          "Operation cannot be fulfilled on Node \"a\": the UID in the precondition (x) does not match the UID in record ("));
  EXPECT_EQ(call("DELETE", "/api/v1/nodes/a?dryRun=All").status, 200);
  const FakeAnswer deleted = call("DELETE", "/api/v1/nodes/a");
  EXPECT_EQ(deleted.json()["status"], "Success");
  EXPECT_EQ(deleted.json()["details"]["name"], "a");
  EXPECT_EQ(call("DELETE", "/api/v1/nodes/a").status, 404);
}

TEST_F(Api, AFinalizerKeepsAnObjectUntilItIsTakenAway) {
  const std::string path = "/api/v1/namespaces/n/configmaps";
  post(path, R"({"metadata":{"name":"c","finalizers":["a/b"]}})");
  EXPECT_TRUE(call("DELETE", path + "/c").json()["metadata"].contains("deletionTimestamp"));
  EXPECT_EQ(get(path + "/c").status, 200);
  patch(path + "/c", R"({"metadata":{"finalizers":null}})");
  EXPECT_EQ(get(path + "/c").status, 404);
}

TEST_F(Api, ManyAreDeletedBySelector) {
  node("a", R"({"x":"1"})");
  node("b");
  EXPECT_THAT(names_of(call("DELETE", "/api/v1/nodes?labelSelector=x").json()), ElementsAre("a"));
  EXPECT_THAT(names_of(get("/api/v1/nodes").json()), ElementsAre("b"));
}

TEST_F(Api, AnEventIsOneObjectInTwoForms) {
  post("/api/v1/namespaces/default/events",
       R"({"metadata":{"name":"e"},"involvedObject":{"kind":"Node","name":"a"},"reason":"R","message":"m"})");
  const Json other = get("/apis/events.k8s.io/v1/namespaces/default/events/e").json();
  EXPECT_EQ(other["apiVersion"], "events.k8s.io/v1");
  EXPECT_EQ(other["regarding"]["name"], "a");
  EXPECT_EQ(other["note"], "m");
  EXPECT_THAT(names_of(get("/apis/events.k8s.io/v1/events?fieldSelector=regarding.name%3Da").json()), ElementsAre("e"));
  EXPECT_THAT(names_of(get("/api/v1/events?fieldSelector=involvedObject.name%3Db").json()), ElementsAre());
}

// ---- Who, and how often -------------------------------------------------------------------------------------------------------

TEST_F(Api, TokensDecideWhoMayWhat) {
  EXPECT_EQ(call("GET", "/api/v1/nodes", "", {{"authorization", "Bearer wrong"}}).status, 401);
  const std::map<std::string, std::string> powerless = {{"authorization", "Bearer nobody"}};
  EXPECT_EQ(call("GET", "/api/v1/nodes", "", powerless).message(),
            "nodes is forbidden: User \"powerless\" cannot list resource \"nodes\" in API group \"\" at the cluster scope");
  EXPECT_EQ(call("PATCH", "/api/v1/nodes/p/status", "{}", powerless).message(),
            "nodes \"p\" is forbidden: User \"powerless\" cannot patch resource \"nodes/status\" in API group \"\" at the "
            "cluster scope");
  EXPECT_EQ(call("GET", "/apis/apps/v1/namespaces/x/daemonsets?watch=1", "", powerless).message(),
            "daemonsets.apps is forbidden: User \"powerless\" cannot watch resource \"daemonsets\" in API group \"apps\" in the "
            "namespace \"x\"");
  EXPECT_EQ(call("GET", "/api/v1", "", powerless).status, 200);
  const std::map<std::string, std::string> anonymous = {{"authorization", ""}};
  EXPECT_EQ(call("GET", "/readyz", "", anonymous).body, "ok");
  EXPECT_EQ(call("GET", "/version", "", anonymous).status, 200);
  EXPECT_EQ(call("GET", "/api", "", anonymous).message(), "forbidden: User \"system:anonymous\" cannot get path \"/api\"");
  EXPECT_EQ(call("GET", "/api/v1/nodes", "", anonymous).status, 403);
}

TEST_F(Api, RequestsAreCountedAsTheRealServerCountsThem) {
  node("a");
  get("/api/v1/nodes");
  open("GET", "/api/v1/nodes?watch=1&timeoutSeconds=1");
  patch("/api/v1/nodes/zz", "{}");
  const std::string text = get("/metrics").body;
  for (
      const char* line :
      {R"(code="201",component="apiserver",dry_run="",group="",resource="nodes",scope="resource",subresource="",verb="POST",version="v1"} 1)",
       R"(resource="nodes",scope="cluster",subresource="",verb="LIST",version="v1"} 1)",
       R"(resource="nodes",scope="cluster",subresource="",verb="WATCH",version="v1"} 1)",
       R"(code="404",component="apiserver",dry_run="",group="",resource="nodes",scope="resource",subresource="",verb="PATCH",version="v1"} 1)"}) {
    EXPECT_THAT(text, HasSubstr(line));
  }
}

TEST_F(Api, DiscoveryNamesEachResource) {
  EXPECT_EQ(get("/apis").json()["groups"].size(), 4U);
  EXPECT_EQ(get("/apis/apps").json()["preferredVersion"]["groupVersion"], "apps/v1");
  EXPECT_THAT(get("/api/v1").body, HasSubstr(R"("name":"nodes/status")"));
  EXPECT_EQ(get("/apis/apps/v2").reason(), "NotFound");
}

// ---- Odd requests -------------------------------------------------------------------------------------------------------------

TEST_F(Api, ADryRunThatTheBodyAsksForDeletesNothing) {
  node("a");
  const std::string dry_run = R"({"kind":"DeleteOptions","apiVersion":"v1","dryRun":["All"]})";
  EXPECT_EQ(call("DELETE", "/api/v1/nodes/a", dry_run).status, 200);
  EXPECT_EQ(call("DELETE", "/api/v1/nodes", dry_run).status, 200);
  EXPECT_EQ(get("/api/v1/nodes/a").status, 200);
  EXPECT_EQ(call("DELETE", "/api/v1/nodes/a", R"({"dryRun":[]})").status, 200);
  EXPECT_EQ(get("/api/v1/nodes/a").status, 404);
}

TEST_F(Api, DeleteOptionsThatAreNoneDeleteNothing) {
  node("a");
  for (const char* path : {"/api/v1/nodes/a", "/api/v1/nodes"}) {
    for (const char* body : {"[]", "5", "null", R"("x")", R"({"dryRun":"All"})", R"({"dryRun":{}})"}) {
      EXPECT_EQ(call("DELETE", path, body).status, 400) << path << body;
    }
    EXPECT_EQ(call("DELETE", path, R"({"dryRun":["Some"]})").status, 422);
  }
  EXPECT_EQ(get("/api/v1/nodes/a").status, 200);
}

TEST_F(Api, ATimeBeyondAllMeasureEndsNoWatchAtOnce) {
  for (const char* seconds : {"9223372036", "9223372037", "9223372036854775807"}) {
    const auto watch = open("GET", fmt::format("/api/v1/nodes?watch=1&timeoutSeconds={}", seconds));
    run_timers(24h);
    watch->read();
    EXPECT_FALSE(watch->ended) << seconds;
  }
}

TEST_F(Api, WordsThatClientsMakeUpAreNotCountedOneByOne) {
  const auto make_up = [&](int i) {
    const std::map<std::string, std::string> anonymous = {{"authorization", ""}};
    call(fmt::format("M{}", i), "/api/v1/nodes/a");
    get(fmt::format("/api/v1/resource{}", i));
    get(fmt::format("/apis/group{}/v{}/nodes", i, i));
    get(fmt::format("/api/v1/nodes/a/sub{}", i));
    get(fmt::format("/livez/check%22%0a{}", i));
    get(fmt::format("/livez{}", i));
    call("GET", fmt::format("/path{}", i), "", anonymous);
    call("GET", fmt::format("/api/v1/resource{}", i), "", anonymous);
  };
  make_up(0);
  const std::size_t kinds = server.counters().all().size();
  for (int i = 1; i < 20; ++i) make_up(i);
  EXPECT_EQ(server.counters().all().size(), kinds);
}

TEST_F(Api, AJsonPatchThatGrowsWithoutMeasureIsRefused) {
  node("a");
  std::string doubling = R"([{"op":"add","path":"/x","value":[1]})";
  for (int i = 0; i < 40; ++i) doubling += R"(,{"op":"copy","from":"/x","path":"/x/-"})";
  EXPECT_EQ(patch("/api/v1/nodes/a", doubling + "]", kJsonPatch).status, 422);

  std::string many = R"([{"op":"test","path":"/kind","value":"Node"})";
  for (int i = 0; i < 10'000; ++i) many += R"(,{"op":"test","path":"/kind","value":"Node"})";
  EXPECT_EQ(patch("/api/v1/nodes/a", many + "]", kJsonPatch).reason(), "RequestEntityTooLarge");

  ASSERT_EQ(patch("/api/v1/nodes/a", R"([{"op":"add","path":"/x","value":{}}])", kJsonPatch).status, 200);
  std::string nesting = R"([{"op":"test","path":"/kind","value":"Node"})";
  for (int i = 0; i < 20; ++i) {
    nesting +=
        R"(,{"op":"add","path":"/y","value":{}},{"op":"move","from":"/x","path":"/y/x"},{"op":"move","from":"/y","path":"/x"})";
  }
  int nested = 0;
  while (nested < 60 && patch("/api/v1/nodes/a", nesting + "]", kJsonPatch).status == 200) ++nested;
  EXPECT_EQ(nested, 49) << "20 levels each, 1,000 at most";
  EXPECT_EQ(patch("/api/v1/nodes/a", R"([{"op":"remove","path":"/kind/x"}])", kJsonPatch).status, 422);
}

TEST_F(Api, FaultsBeyondCountAreAnsweredAtOnce) {
  node("a");
  const auto repeated = [](int count, const auto& item) {
    std::string text = item(0);
    for (int i = 1; i < count; ++i) text += "," + item(i);
    return text;
  };
  const std::string taints = repeated(400'000, [](int) { return std::string("{}"); });
  const FakeAnswer many = patch("/api/v1/nodes/a", R"({"spec":{"taints":[)" + taints + "]}}");
  EXPECT_EQ(many.status, 422);
  EXPECT_LT(many.body.size(), 8UL << 20);
  const std::string labels = repeated(200'000, [](int i) { return fmt::format(R"("_{}":"x")", i); });
  EXPECT_EQ(patch("/api/v1/nodes/a", R"({"metadata":{"labels":{)" + labels + "}}}").status, 422);
  const std::string conditions = repeated(100'000, [](int i) { return fmt::format(R"({{"type":"{}"}})", i); });
  const std::string list = R"({"status":{"conditions":[)" + conditions + "]}}";
  EXPECT_EQ(patch("/api/v1/nodes/a/status", list, kStrategic).status, 413);
  EXPECT_EQ(patch("/api/v1/nodes/a/status", R"({"status":{)" + labels + "}}", kStrategic).status, 413);
  const std::string order = R"({"status":{"$setElementOrder/conditions":[)" + conditions + R"(],"conditions":[]}})";
  EXPECT_EQ(patch("/api/v1/nodes/a/status", order, kStrategic).status, 413);
}

TEST_F(Api, AMergePatchKeepsWhatItDoesNotName) {
  node("a", R"({"b":"1","d":"2","f":"3"})");
  const FakeAnswer merged = patch("/api/v1/nodes/a", R"({"metadata":{"labels":{"a":"x","b":null,"c":null,"d":"4","e":"5"}}})");
  EXPECT_EQ(merged.json()["metadata"]["labels"], Json::parse(R"({"a":"x","d":"4","e":"5","f":"3"})"));
  EXPECT_EQ(patch("/api/v1/nodes/a", R"({"metadata":{"labels":{"a":"x","c":null}}})").version(), merged.version());
}

}  // namespace
}  // namespace nodeward::sim
