// The test bed itself: what the other tests take for granted of it.
#include "api/cluster.h"
#include "api/certificates.h"

#include <gmock/gmock.h>

#include <future>
#include <thread>

#include "base/base64.h"
#include "base/text.h"

namespace nodeward::api {
namespace {

using ApiServer = ClusterTest;

Json gpu_node(const std::string& name) {
  return {{"metadata", {{"name", name}, {"labels", {{"nvidia.com/gpu.present", "true"}}}}},
          {"spec", {{"taints", {{{"key", "maintenance"}, {"value", "planned"}, {"effect", "NoSchedule"}}}}}},
          {"status", {{"conditions", {{{"type", "Ready"}, {"status", "False"}}}}, {"capacity", {{"nvidia.com/gpu", "8"}}}}}};
}

Json gpu_pod(const std::string& name, const std::string& node) {
  return {{"metadata", {{"name", name}, {"namespace", "gpu-operator"}, {"labels", {{"app", "nvidia-dcgm"}}}}},
          {"spec", {{"nodeName", node}, {"containers", {{{"name", "dcgm"}, {"image", "example.com/dcgm:4.2.3-1"}}}}}},
          {"status", {{"conditions", {{{"type", "Ready"}, {"status", "True"}}}}}}};
}

TEST_F(ApiServer, KeepsANodeAsItWasCreated) {
  const Json wanted = gpu_node("gpu-01");
  admin().create_node(wanted);
  const Json node = admin().node("gpu-01");
  EXPECT_EQ(node["metadata"]["labels"], wanted["metadata"]["labels"]);
  EXPECT_EQ(node["spec"], wanted["spec"]);  // no not-ready taint, no cordon, no provider
  EXPECT_EQ(node["status"]["capacity"], wanted["status"]["capacity"]);
  EXPECT_EQ(node["status"]["conditions"][0]["status"], "False");
}

TEST_F(ApiServer, KeepsAPodAsItWasCreatedWithItsStatus) {
  admin().create_node(gpu_node("gpu-01"));
  admin().create_pod(gpu_pod("dcgm-1", "gpu-01"));
  const Json pod = admin().get("/api/v1/namespaces/gpu-operator/pods/dcgm-1").json();
  EXPECT_EQ(pod["spec"]["nodeName"], "gpu-01");
  EXPECT_FALSE(pod["spec"].contains("tolerations"));
  EXPECT_EQ(pod["status"]["conditions"][0]["status"], "True");
}

TEST_F(ApiServer, RefusesAMergePatchThatNamesAnOldVersion) {
  admin().create_node(gpu_node("gpu-01"));
  const Json old_version = admin().node("gpu-01")["metadata"]["resourceVersion"];
  const std::string path = "/api/v1/nodes/gpu-01";
  ASSERT_EQ(admin().merge_patch(path, {{"metadata", {{"labels", {{"a", "1"}}}}}}).status, 200);
  const Json guarded{{"metadata", {{"resourceVersion", old_version}, {"labels", {{"a", "2"}}}}}};
  EXPECT_EQ(admin().merge_patch(path, guarded).status, 409);
  EXPECT_EQ(admin().node("gpu-01")["metadata"]["labels"]["a"], "1");
}

// Not an error, not a word: who comes back with a version of before a restore has to find out by itself.
TEST_F(ApiServer, KeepsSilentToAWatchFromAVersionThatIsYetToCome) {
  auto watching = std::async(std::launch::async, [this] {
    return Admin(cluster().origin(), cluster().ca_cert(), cluster().token())
        .get("/api/v1/nodes?watch=1&resourceVersion=900000000&timeoutSeconds=2");
  });
  for (int i = 0; i < 15; ++i) {
    admin().create_node(gpu_node("gpu-" + std::to_string(i)));
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  const Answer watch = watching.get();
  EXPECT_EQ(watch.status, 200);
  EXPECT_EQ(watch.body, "");
  const Answer list = admin().get("/api/v1/nodes?limit=1&resourceVersion=900000000&resourceVersionMatch=NotOlderThan");
  EXPECT_EQ(list.status, 504);
  EXPECT_THAT(list.body, testing::HasSubstr("Too large resource version"));
}

TEST_F(ApiServer, KeepsTheVersionWhenAPatchChangesNothing) {
  admin().create_node(gpu_node("gpu-01"));
  const Json before = admin().node("gpu-01")["metadata"]["resourceVersion"];
  const Json same{{"metadata", {{"labels", {{"nvidia.com/gpu.present", "true"}, {"never-there", nullptr}}}}}};
  ASSERT_EQ(admin().merge_patch("/api/v1/nodes/gpu-01", same).status, 200);
  EXPECT_EQ(admin().node("gpu-01")["metadata"]["resourceVersion"], before);
}

TEST_F(ApiServer, CountsWhatOthersAskAndNotWhatTheAdministratorAsks) {
  const Counters before = admin().counters();
  admin().create_node(gpu_node("gpu-01"));
  admin().create_pod(gpu_pod("dcgm-1", "gpu-01"));
  Admin other(cluster().origin(), cluster().ca_cert(), cluster().token());
  const Json label{{"metadata", {{"labels", {{"a", "1"}}}}}};
  ASSERT_EQ(other.merge_patch("/api/v1/nodes/gpu-01?fieldManager=other", label).status, 200);
  ASSERT_EQ(other.merge_patch("/api/v1/nodes/gpu-02", label).status, 404);
  ASSERT_EQ(other.get("/api/v1/nodes?limit=1").status, 200);
  const Counters asked = admin().counters() - before;
  EXPECT_EQ(asked.text(), "LIST nodes 200: 1\nPATCH nodes 200: 1\nPATCH nodes 404: 1\n");
  EXPECT_EQ(asked.count("PATCH", "nodes"), 2);
  EXPECT_EQ(asked.count("PATCH", "nodes", "", 404), 1);
  EXPECT_EQ(asked.count("PATCH", "nodes", "status"), 0);
}

TEST_F(ApiServer, KnowsWhoMayDoNothingAndRefusesStrangers) {
  Admin powerless(cluster().origin(), cluster().ca_cert(), cluster().powerless_token());
  EXPECT_EQ(powerless.get("/api/v1/nodes").status, 403);
  Admin stranger(cluster().origin(), cluster().ca_cert(), "no such token");
  EXPECT_EQ(stranger.get("/api/v1/nodes").status, 401);
}

TEST_F(ApiServer, ShowsOnlyItsOwnCertificate) {
  Admin deceived(cluster().origin(), make_certificates().ca_cert, cluster().token());
  EXPECT_THROW(deceived.get("/readyz"), std::runtime_error);
}

TEST_F(ApiServer, KeepsItsDataWhenKilledAndStartedAgain) {
  admin().create_node(gpu_node("gpu-01"));
  const Json before = admin().node("gpu-01");
  cluster().kill_api_server();
  EXPECT_THROW(admin().node("gpu-01"), std::runtime_error);
  cluster().start_api_server();
  EXPECT_EQ(admin().node("gpu-01"), before);
  EXPECT_EQ(admin().counters().count("POST", "nodes"), 0);  // a new process counts from zero, and so do we
}

TEST_F(ApiServer, EndsInOrderWhenAskedTo) {
  cluster().stop_api_server();
  EXPECT_EQ(cluster().serves(), false);
  cluster().start_api_server();
  EXPECT_EQ(admin().get("/api/v1/nodes").status, 200);
}

TEST_F(ApiServer, TakesAThousandNodesInOneGo) {
  std::vector<Json> nodes;
  for (int i = 0; i < 1000; ++i) nodes.push_back(gpu_node("gpu-" + std::to_string(i)));
  admin().create_nodes(nodes);
  EXPECT_EQ(admin().get("/api/v1/nodes").json()["items"].size(), 1000U);
  admin().clear();
  EXPECT_TRUE(admin().get("/api/v1/nodes").json()["items"].empty());
}

TEST_F(ApiServer, NamesTheNodeThatItRefuses) {
  try {
    admin().create_node(gpu_node("Not_A_Name"));
    FAIL() << "an illegal name was taken";
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("create node \"Not_A_Name\": 422"));
  }
}

TEST_F(ApiServer, IsDescribedByItsKubeconfig) {
  const std::string text = read_file(cluster().kubeconfig()).value();
  EXPECT_THAT(text, testing::HasSubstr("server: " + cluster().origin()));
  EXPECT_THAT(text, testing::HasSubstr("certificate-authority-data: " + encode_base64(cluster().ca_cert())));
}

TEST(Counters, ReadsTheMetricAndNothingElse) {
  const Counters counters = Counters::parse(
      "# TYPE apiserver_request_total counter\n"
      "apiserver_request_total{code=\"200\",component=\"apiserver\",dry_run=\"\",group=\"\",resource=\"nodes\","
      "scope=\"resource\",subresource=\"status\",verb=\"PATCH\",version=\"v1\"} 1.2e+06\n"
      "apiserver_request_total{code=\"200\",group=\"\",resource=\"\",subresource=\"/readyz\",verb=\"GET\"} 5\n"
      "apiserver_current_inflight_requests{request_kind=\"mutating\"} 7\n");
  EXPECT_EQ(counters.text(), "PATCH nodes/status 200: 1200000\n");
}

}  // namespace
}  // namespace nodeward::api
