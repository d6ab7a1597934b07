// The labeler after a restart on a fleet that is labelled right, while the pods cannot be read (R11): nothing may be removed before
// every source of the decision has been read completely once.
#include <fmt/format.h>

#include <algorithm>

#include "api/labeler_process.h"
#include "chaos/program_on_sim.h"
#include "labels/keys.h"

namespace nodeward::chaos {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr int kNodes = 500;

Json pod(const std::string& name, const std::string& node, const char* app, const char* image) {
  return {{"kind", "Pod"},
          {"apiVersion", "v1"},
          {"metadata", {{"name", name}, {"namespace", "gpu-operator"}, {"labels", {{"app", app}}}}},
          {"spec", {{"nodeName", node}, {"containers", {{{"name", "main"}, {"image", image}}}}}},
          {"status", {{"phase", "Running"}, {"conditions", {{{"type", "Ready"}, {"status", "True"}}}}}}};
}

// Five pods on each node: five pages.
Json fleet() {
  Json items = Json::array();
  for (int i = 0; i < kNodes; ++i) {
    const std::string node = fmt::format("n{}", i);
    items.push_back(
        {{"kind", "Node"},
         {"apiVersion", "v1"},
         {"metadata",
          {{"name", node},
           {"labels", {{labels::kDcgmVersion, "4.x"}, {labels::kDriverInstalled, "true"}, {labels::kKataEnabled, "false"}}},
           {"annotations", {{labels::kBootstrapped, "true"}}}}}});
    items.push_back(pod("dcgm-" + node, node, "nvidia-dcgm", "example.com/dcgm:4.2.0"));
    for (int j = 0; j < 4; ++j) {
      items.push_back(pod(fmt::format("driver-{}-{}", node, j), node, "nvidia-driver-daemonset", "example.com/driver:1"));
    }
  }
  return {{"kind", "List"}, {"apiVersion", "v1"}, {"items", items}};
}

class R11 : public ProgramOnSim {
 protected:
  // Time that the trouble lasts: the requirement's, or as much as shows that nothing is done.
  static Duration lasting(Duration full) { return is_long() ? full : Duration(1s); }

  void start_labeler(const std::vector<sim::FaultRule>& rules) {
    sim::FaultScript script{.rules = rules};
    serve(script);
    ASSERT_TRUE(sim_->load(fleet(), "the fleet"));
    controller_ = std::make_unique<api::LabelerProcess>(
        folder_.path(), std::vector<std::string>{"--kubeconfig=" + kubeconfig().string(), "--kube-api-qps=-1"});
  }
  void expect_patience(Duration time) {
    controller().await("the nodes are read", [&] {
      const std::string text = controller().get("/readyz").body;
      return text.find("not read yet") != std::string::npos && text.find("nodes") == std::string::npos;
    });
    sleep_until(passed() + time);
    EXPECT_EQ(controller().get("/healthz").status, 200);
    EXPECT_EQ(controller().get("/readyz").status, 503);
    EXPECT_THAT(controller().get("/readyz").body, HasSubstr("pods"));
    EXPECT_EQ(faults_->asked("PATCH", "").size(), patches_);
  }
  // The trouble is over; what still waits for an answer is told so.
  void mend() {
    sim_->shut();
    patched_before_ = faults_->asked("PATCH", "").size();
    serve_by({});
    ASSERT_TRUE(sim_->open_again());
  }
  void expect_all_right_in_the_end() {
    static_cast<api::LabelerProcess&>(controller()).await_ready();
    EXPECT_EQ(patched_before_ + faults_->asked("PATCH", "").size(), patches_);
  }

  std::size_t patches_ = 0;  // wanted in all

 private:
  std::size_t patched_before_ = 0;
};

// The server has no streaming lists, so that pods are listed in pages.
sim::FaultRule no_streaming_list_of_pods() {
  return {.on = {.verb = "WATCH", .path = "/api/v1/pods", .query_has = "sendInitialEvents"},
          .replies = {{.act = sim::FaultReply::Act::kAnswer, .status = 422}},
          .repeat = true};
}
sim::FaultRule pods_list(sim::FaultReply reply, std::size_t times) {
  return {.on = {.verb = "LIST", .path = "/api/v1/pods"}, .replies = std::vector(times, std::move(reply))};
}

TEST_F(R11, APodListThatTakesMinutesRemovesNothing) {
  // Three lists; each is given up after 30 s without a byte and asked for again.
  const Duration full = 210s;
  const std::size_t times = is_long() ? 3 * 7 : 3;
  start_labeler({no_streaming_list_of_pods(), pods_list({.delay = lasting(full)}, times)});
  expect_patience(lasting(full) - 500ms);
  expect_all_right_in_the_end();
}

TEST_F(R11, APodListThatIsForbiddenRemovesNothing) {
  auto forbidden = pods_list({.act = sim::FaultReply::Act::kAnswer, .status = 403}, 1);
  forbidden.on.verb = "";  // nor watched
  forbidden.repeat = true;
  start_labeler({forbidden});
  expect_patience(lasting(5min));
  EXPECT_THAT(controller().get("/readyz").body, HasSubstr("403"));
  mend();
  expect_all_right_in_the_end();
}

TEST_F(R11, APodListThatFailsAtPage3Of5RemovesNothing) {
  auto pages = pods_list({}, 3);
  pages.on.query_has = "labelSelector=app in (";
  pages.replies[2] = {.act = sim::FaultReply::Act::kAnswer, .status = 500};
  pages.repeat = true;
  start_labeler({no_streaming_list_of_pods(), pages});
  expect_patience(lasting(1min));
  const auto asked = faults_->asked("LIST", "/api/v1/pods");
  EXPECT_GE(std::count_if(asked.begin(), asked.end(), [](const auto& one) { return one.status == 500; }), 2);
  mend();
  expect_all_right_in_the_end();
}

TEST_F(R11, OneOfThreePodWatchesThatNeverAnswersRemovesNothing) {
  start_labeler({{.on = {.path = "/api/v1/pods", .query_has = "labelSelector=k8s-app="},
                  .replies = {{.act = sim::FaultReply::Act::kSilent}},
                  .repeat = true}});
  expect_patience(lasting(5min));
  mend();
  expect_all_right_in_the_end();
}

TEST_F(R11, AnOptOutMeanwhileIsTheOnlyThingThatIsActedOn) {
  start_labeler({{.on = {.path = "/api/v1/pods"}, .replies = {{.act = sim::FaultReply::Act::kSilent}}, .repeat = true}});
  expect_patience(500ms);
  change("n7", {.labels = {{labels::kManaged, "false"}}});
  controller().await("the labels of n7 are gone", [&] {
    return node("n7").json()["metadata"]["labels"] == Json{{labels::kManaged, "false"}};
  });
  patches_ = 1;
  expect_patience(lasting(1min));
  const auto patch = faults_->asked("PATCH", "").at(0);
  EXPECT_EQ(patch.path, "/api/v1/nodes/n7");
  EXPECT_THAT(patch.request.body, Not(HasSubstr(std::string(labels::kBootstrapped))));
  mend();
  expect_all_right_in_the_end();
}

}  // namespace
}  // namespace nodeward::chaos
