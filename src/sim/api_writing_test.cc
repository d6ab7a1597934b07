// Writes and their answers, each as recorded from a real kube-apiserver 1.36.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "sim/api_fixture.h"

namespace nodeward::sim {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

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
