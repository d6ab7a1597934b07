#include "api/both_programs.h"

#include <fmt/format.h>

#include <cstdlib>
#include <iostream>
#include <stdexcept>

#include "api/labeler_objects.h"

namespace nodeward::api {
namespace {

constexpr auto kRbac = "/apis/rbac.authorization.k8s.io/v1/";
constexpr auto kRole = "nodeward-controllers";

Json rule(const char* group, const std::vector<const char*>& resources, const std::vector<const char*>& verbs) {
  return {{"apiGroups", {group}}, {"resources", resources}, {"verbs", verbs}};
}

void give_rights(Admin& admin) {
  const Json rules = {rule("", {"nodes"}, {"get", "list", "watch", "patch"}), rule("", {"pods"}, {"list", "watch"}),
                      rule("", {"events"}, {"create", "update"})};
  const Json subject{{"kind", "User"}, {"name", RealCluster::kControllerUser}, {"apiGroup", "rbac.authorization.k8s.io"}};
  const Json reference{{"apiGroup", "rbac.authorization.k8s.io"}, {"kind", "ClusterRole"}, {"name", kRole}};
  admin.post(std::string(kRbac) + "clusterroles", {{"metadata", {{"name", kRole}}}, {"rules", rules}});  // or there already
  admin.post(std::string(kRbac) + "clusterrolebindings",
             {{"metadata", {{"name", kRole}}}, {"roleRef", reference}, {"subjects", {subject}}});
}

}  // namespace

bool is_long() { return std::getenv("NODEWARD_LONG") != nullptr; }

const std::string BothProgramsOnTheServer::kForeign =
    "nvidia.com/gpu=present:NoSchedule, maintenance.example.org/window=tue:PreferNoSchedule, "
    "startup.example.org/agent=:NoExecute";
const std::string BothProgramsOnTheServer::kFault = "gpu.example.com/fault=fatal:NoSchedule";

void BothProgramsOnTheServer::SetUp() {
  FaultQuarantineOnTheServer::SetUp();
  give_rights(admin());
  served_before_ = real().calls_of_controllers().size();
}

void BothProgramsOnTheServer::TearDown() {
  if (labeler_ != nullptr) {
    EXPECT_EQ(labeler_->stop(), 0);
    if (HasFailure()) std::cout << labeler_->output();
    labeler_.reset();
  }
  FaultQuarantineOnTheServer::TearDown();
}

Json BothProgramsOnTheServer::node_of_fleet(const std::string& name) {
  Json node = objects_of_file("nodes/node-three-foreign-taints.json").at(0);
  node.merge_patch(key_patch("K", "false"));
  node["metadata"]["name"] = name;
  node["metadata"]["labels"]["kubernetes.io/hostname"] = name;
  return node;
}

std::vector<std::string> BothProgramsOnTheServer::create_fleet(int count) {
  std::vector<std::string> names;
  std::vector<Json> nodes;
  for (int i = 0; i < count; ++i) {
    names.push_back(fmt::format("gpu-{:04}", i));
    nodes.push_back(node_of_fleet(names.back()));
  }
  admin().create_nodes(nodes);
  return names;
}

Json BothProgramsOnTheServer::fatal_on(const std::string& node, const std::string& check) {
  static const Json fatal = lines_of("events/one-fatal.jsonl").at(0);
  Json event = fatal;
  event["nodeName"] = node;
  event["checkName"] = check;
  return event;
}

void BothProgramsOnTheServer::start_fault_quarantine(const std::vector<std::string>& more) {
  auto all = flags(Input::kFollowed, NW_SOURCE_DIR "/tests/data/config/fq-base.toml");
  all.push_back("--kubeconfig-path=" + real().controller_kubeconfig().string());
  all.insert(all.end(), more.begin(), more.end());
  launch(all);
  controller().await_ready();
}

void BothProgramsOnTheServer::start_labeler() {
  labeler_ = std::make_unique<LabelerProcess>(
      cluster().folder(),
      std::vector<std::string>{"--kubeconfig=" + real().controller_kubeconfig().string(), "--kube-api-qps=-1"});
  labeler_->await_ready();
}

std::vector<ServedCall> BothProgramsOnTheServer::served(const std::string& program, const std::string& verb) {
  std::vector<ServedCall> calls = real().calls_of_controllers();
  calls.erase(calls.begin(), calls.begin() + static_cast<std::ptrdiff_t>(served_before_));
  std::erase_if(calls, [&](const ServedCall& call) { return call.program != program || (!verb.empty() && call.verb != verb); });
  return calls;
}

std::map<std::string, std::vector<int>> BothProgramsOnTheServer::patches(const std::string& program) {
  std::map<std::string, std::vector<int>> by_node;
  for (const ServedCall& call : served(program, "patch")) by_node[call.node].push_back(call.code);
  return by_node;
}

}  // namespace nodeward::api
