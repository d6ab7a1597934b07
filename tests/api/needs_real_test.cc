// What only a real server has: roles, and the binding of pods. The other tests of this folder run on the simulated server too.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <fstream>

#include "api/fault_quarantine_fixture.h"
#include "api/labeler_fixture.h"

namespace nodeward::api {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

const std::string kNode = "gpu-a-001";

using LabelerCase32OnTheServer = LabelerOnTheServer;

class RightsOnTheServer : public FaultQuarantineOnTheServer {
 protected:
  void SetUp() override {
    FaultQuarantineOnTheServer::SetUp();
    admin().create_node(example_node(kNode));
    append(example_event("fatal-gpu0"));
    before_ = admin().node(kNode);
  }
  Json before_;
};

// 32 | base | driver pod R without nodeName, then bound to n1 | nothing, then I=true | 0+1
TEST_F(LabelerCase32OnTheServer, APodCountsOnceItIsBound) {
  node("n1");
  start();
  Json unbound = driver_pod(kReady);
  unbound["spec"].erase("nodeName");
  pod(unbound);
  EXPECT_EQ(writes(), 0);
  const Json binding{{"apiVersion", "v1"},
                     {"kind", "Binding"},
                     {"metadata", {{"name", "driver"}}},
                     {"target", {{"apiVersion", "v1"}, {"kind", "Node"}, {"name", "n1"}}}};
  ASSERT_EQ(admin().post(path_of_pod("driver") + "/binding", binding).status, 201);
  await_state("I=true K=false");
  EXPECT_EQ(writes(), 1);
}

// An account that may read and not write: the event is reported, and the exit code says so.
TEST_F(RightsOnTheServer, ARefusedWriteIsReportedAndMakesItExitOne) {
  constexpr auto kRole = "/apis/rbac.authorization.k8s.io/v1/clusterroles";
  constexpr auto kBinding = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings";
  admin().post(kRole, {{"metadata", {{"name", "reads-nodes"}}},
                       {"rules", {{{"apiGroups", {""}}, {"resources", {"nodes"}}, {"verbs", {"get", "list", "watch"}}}}}});
  admin().post(kBinding,
               {{"metadata", {{"name", "reads-nodes"}}},
                {"roleRef", {{"apiGroup", "rbac.authorization.k8s.io"}, {"kind", "ClusterRole"}, {"name", "reads-nodes"}}},
                {"subjects", {{{"kind", "User"}, {"name", "powerless"}, {"apiGroup", "rbac.authorization.k8s.io"}}}}});
  const auto kubeconfig = folder_ / "reader.kubeconfig";
  std::ofstream(kubeconfig) << fmt::format(R"(apiVersion: v1
kind: Config
current-context: test
contexts: [{{name: test, context: {{cluster: test, user: test}}}}]
clusters: [{{name: test, cluster: {{server: "{}", certificate-authority: {}}}}}]
users: [{{name: test, user: {{token: {}}}}}]
)",
                                           cluster().origin(), (cluster().folder() / "ca.pem").string(),
                                           cluster().powerless_token());
  auto all = flags(Input::kEnds, example_rules());
  all.push_back("--kubeconfig-path=" + kubeconfig.string());
  launch(all);
  const int exit_code = controller().wait_for_exit();
  admin().remove(std::string(kBinding) + "/reads-nodes");
  admin().remove(std::string(kRole) + "/reads-nodes");
  EXPECT_EQ(exit_code, 1);
  const Json became = outcome(1);
  EXPECT_EQ(became["decision"], "refused") << became;
  EXPECT_THAT(became["error"].get<std::string>(), AllOf(HasSubstr("403"), Not(HasSubstr(cluster().powerless_token()))));
  EXPECT_EQ(admin().node(kNode), before_);
}

}  // namespace
}  // namespace nodeward::api
