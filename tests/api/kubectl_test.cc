// kubectl takes the simulated server for a real one. Where there is no kubectl, curl sends what it would.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <thread>

#include "api/fault_quarantine_fixture.h"

namespace nodeward::api {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;

struct Said {
  int exit_code = -1;
  std::string text;    // both streams
};

Said run(const std::string& command) {
  Said said;
  FILE* pipe = ::popen((command + " 2>&1").c_str(), "r");
  char part[512];
  while (std::fgets(part, sizeof part, pipe) != nullptr) said.text += part;
  said.exit_code = WEXITSTATUS(::pclose(pipe));
  return said;
}

class Kubectl : public ClusterTest {
 protected:
  void SetUp() override {
    ClusterTest::SetUp();
    admin().create_node(example_node("gpu-a-001"));
    there_is_one_ = run("kubectl version --client").exit_code == 0;
  }
  // A command of kubectl; without one, `method` and what it would send to the node.
  Said kubectl(const std::string& words, const std::string& method, const std::string& body = "") {
    if (there_is_one_) return run(fmt::format("timeout 30 kubectl --kubeconfig {} {}", cluster().kubeconfig().string(), words));
    std::string command = fmt::format("curl -sS --fail-with-body -k -X {} -H 'Authorization: Bearer {}'", method,
                                      cluster().token());
    if (!body.empty()) command += fmt::format(" -H 'Content-Type: application/strategic-merge-patch+json' -d '{}'", body);
    return run(fmt::format("{} {}/api/v1/nodes/gpu-a-001", command, cluster().origin()));
  }
  FaultNode node() { return FaultNode(admin().node("gpu-a-001")); }

  bool there_is_one_ = false;
};

TEST_F(Kubectl, GetsAndDescribesANode) {
  const Said got = kubectl("get nodes", "GET");
  EXPECT_EQ(got.exit_code, 0) << got.text;
  EXPECT_THAT(got.text, HasSubstr("gpu-a-001"));
  const Said described = kubectl("describe node gpu-a-001", "GET");
  EXPECT_EQ(described.exit_code, 0) << described.text;
  EXPECT_THAT(described.text, HasSubstr("nvidia.com/gpu"));
}

TEST_F(Kubectl, LabelsTaintsAndCordons) {
  const Said labelled = kubectl("label node gpu-a-001 pool=train", "PATCH", R"({"metadata":{"labels":{"pool":"train"}}})");
  EXPECT_EQ(labelled.exit_code, 0) << labelled.text;
  EXPECT_EQ(node().label("pool"), "train");
  const std::string before = node().taints();
  const Said tainted = kubectl("taint node gpu-a-001 ops=look:NoSchedule", "PATCH",
                               R"({"spec":{"taints":[{"key":"ops","value":"look","effect":"NoSchedule"}]}})");
  EXPECT_EQ(tainted.exit_code, 0) << tainted.text;
  EXPECT_THAT(node().taints(), HasSubstr("ops=look:NoSchedule"));
  if (there_is_one_) {
    EXPECT_THAT(node().taints(), HasSubstr(before));
  }
  EXPECT_EQ(kubectl("cordon gpu-a-001", "PATCH", R"({"spec":{"unschedulable":true}})").exit_code, 0);
  EXPECT_TRUE(node().cordoned());
  EXPECT_EQ(kubectl("uncordon gpu-a-001", "PATCH", R"({"spec":{"unschedulable":null}})").exit_code, 0);
  EXPECT_FALSE(node().cordoned());
}

TEST_F(Kubectl, SeesAChangeInAWatch) {
  std::jthread change([this] {
    std::this_thread::sleep_for(1s);  // another process watches: no clock to fake
    admin().merge_patch("/api/v1/nodes/gpu-a-001", {{"spec", {{"unschedulable", true}}}});
  });
  const std::string command = there_is_one_
                                  ? fmt::format("timeout 3 kubectl --kubeconfig {} get nodes --watch",
                                                cluster().kubeconfig().string())
                                  : fmt::format(
                                        "curl -sS -k --max-time 3 -H 'Authorization: Bearer {}' '{}/api/v1/nodes?watch=1'",
                                        cluster().token(), cluster().origin());
  EXPECT_THAT(run(command).text, HasSubstr(there_is_one_ ? "SchedulingDisabled" : "\"unschedulable\":true"));
}

TEST_F(Kubectl, IsToldInTheServersWordsWhatIsWrong) {
  const Said bad = kubectl("label node gpu-a-001 pool=größe", "PATCH", R"({"metadata":{"labels":{"pool":"größe"}}})");
  EXPECT_NE(bad.exit_code, 0);
  EXPECT_THAT(bad.text, HasSubstr("a valid label must be an empty string or consist of alphanumeric characters"));
  if (there_is_one_) {
    EXPECT_THAT(kubectl("get node nowhere", "GET").text, ContainsRegex("NotFound.*nodes \"nowhere\" not found"));
  }
}

}  // namespace
}  // namespace nodeward::api
