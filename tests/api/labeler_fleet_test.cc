// The labeler and many nodes: one PATCH for each that needs one and nothing else, a restart that writes nothing, the example
// files of the specification, and the rehearsal that writes nothing at all.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <map>

#include "api/labeler_fixture.h"
#include "base/text.h"

namespace nodeward::api {
namespace {

using testing::ElementsAre;

using LabelerCase04OnTheServer = LabelerOnTheServer;
using LabelerExamplesOnTheServer = LabelerOnTheServer;
using LabelerPrintOnly = LabelerOnTheServer;
using LabelerRateOnTheServer = LabelerOnTheServer;

struct Fleet {
  std::vector<Json> nodes;
  std::vector<Json> pods;
};
Fleet fleet_of(int count, std::string_view state) {
  Fleet fleet;
  for (int i = 0; i < count; ++i) {
    const std::string name = fmt::format("gpu-{:03}", i);
    fleet.nodes.push_back(node_in_state(name, state));
    fleet.pods.push_back(dcgm_pod(4, kReady, {"dcgm-" + name, name}));
    fleet.pods.push_back(driver_pod(kReady, {"driver-" + name, name}));
  }
  return fleet;
}

// 4 | 1,000 nodes, all labels right | restart | nothing; only LIST and WATCH | 0
// Here with 200, which a first run has labelled: one PATCH each.
TEST_F(LabelerCase04OnTheServer, AColdFleetTakesOneWriteForEachNodeAndARestartNone) {
  constexpr int kNodes = 200;
  const Fleet fleet = fleet_of(kNodes, "");
  admin().create_nodes(fleet.nodes);
  admin().create_pods(fleet.pods);
  start();
  EXPECT_EQ(writes(), kNodes);
  const Json items = admin().get("/api/v1/nodes").json()["items"];
  const auto right = [](const Json& node) { return state_of(node) == "D=4.x I=true K=false B=true"; };
  EXPECT_EQ(std::count_if(items.begin(), items.end(), right), kNodes);
  stop();

  const Counters before = admin().counters();
  start();
  EXPECT_EQ(writes(), 0);
  stop();
  const Counters asked = admin().counters() - before;
  EXPECT_EQ(asked.count("WATCH", "nodes"), 1) << "list and watch in one stream\n" << asked.text();
  EXPECT_EQ(asked.count("WATCH", "pods"), 3) << asked.text();
  EXPECT_EQ(asked.count("LIST", "nodes") + asked.count("LIST", "pods"), 0) << asked.text();
}

TEST_F(LabelerRateOnTheServer, IsTenAtOnceAndThenFiveASecond) {
  constexpr int kNodes = 20;
  const Fleet fleet = fleet_of(kNodes, "");
  admin().create_nodes(fleet.nodes);
  const MonoTime begin = Clock::real().now();
  start({"--kube-api-qps=0", "--kube-api-burst=0"});  // 0 is the default
  const Duration took = Clock::real().now() - begin;
  EXPECT_EQ(writes_so_far(), kNodes);
  EXPECT_GE(took, 1900ms);
}

void create_examples(Admin& admin) {
  admin.create_nodes(objects_of_file("examples/nodes.json"));
  admin.create_pods(objects_of_file("examples/labeler-pods.json"));
}

TEST_F(LabelerExamplesOnTheServer, EndAsTheSpecificationSaysWithOneWriteEach) {
  create_examples(admin());
  start();
  EXPECT_EQ(writes(), 6);
  const std::map<std::string, std::string> wanted{
      {"gpu-a-001", "D=4.x I=true K=false B=true"},  // B added, rest right
      {"gpu-a-002", "D=3.x K=false B=true"},         // D changed, I removed, B added
      {"gpu-a-003", "I=true K=false"},               // D removed: DCGM pod not Ready, no B; I kept
      {"gpu-b-001", ""},                             // opted out
      {"gpu-b-002", "D=4.x K=false B=true"},         // I removed, B added; D kept by the nvidia-dcgm-dra pod
      {"cpu-c-001", "K=false"},
  };
  for (const auto& [name, state] : wanted) EXPECT_EQ(this->state(name), state) << name;
  std::map<std::string, int> sent;
  for (const Json& entry : labeler().audit()) {
    const std::string url = entry.at("url");
    ++sent[url.substr(0, url.find('?'))];
  }
  for (const auto& [name, state] : wanted) EXPECT_EQ(sent["/api/v1/nodes/" + name], 1) << name;
}

TEST_F(LabelerPrintOnly, SaysWhatWouldChangeNodeByNodeAndWritesNothing) {
  create_examples(admin());
  launch({"--print-only"});
  EXPECT_EQ(labeler().wait_for_exit(), 0);
  EXPECT_THAT(
      labeler().printed(),
      ElementsAre("cpu-c-001: kata.enabled (none) -> false (no kata label)",
                  "gpu-a-001: dcgm-bootstrap-completed (none) -> true (the node has a DCGM version)",
                  "gpu-a-002: dcgm.version 4.x -> 3.x (pod nvidia-dcgm-bb222), driver.installed true -> (none) "
                  "(pod nvidia-driver-daemonset-bb222 is not Ready), "
                  "dcgm-bootstrap-completed (none) -> true (the node has a DCGM version)",
                  "gpu-a-003: dcgm.version 4.x -> (none) (pod nvidia-dcgm-cc333 is not Ready)",
                  "gpu-b-001: dcgm.version 4.x -> (none) (managed=false), driver.installed true -> (none) (managed=false), "
                  "kata.enabled false -> (none) (managed=false)",
                  "gpu-b-002: driver.installed true -> (none) (no driver pod), "
                  "dcgm-bootstrap-completed (none) -> true (the node has a DCGM version)",
                  "zz-witness: nothing to change"));
  EXPECT_EQ(labeler().log_of("labeler starts; print-only: nothing is written").size(), 1U);
  EXPECT_THAT(read_file(NW_SOURCE_DIR "/README.md").value(), testing::HasSubstr("\n" + labeler().printed().at(2) + "\n"));
  EXPECT_EQ(writes_so_far(), 0);
  EXPECT_TRUE(labeler().audit().empty());
}

}  // namespace
}  // namespace nodeward::api
