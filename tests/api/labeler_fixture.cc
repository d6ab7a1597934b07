#include "api/labeler_fixture.h"

#include <iostream>
#include <utility>

namespace nodeward::api {
namespace {

// Sorted behind the nodes of any test: where it matters, it is the last.
constexpr auto kWitness = "zz-witness";

std::string node_path(const std::string& name) { return "/api/v1/nodes/" + name; }

}  // namespace

void LabelerOnTheServer::SetUp() {
  ClusterTest::SetUp();
  node(kWitness, "K=false");
  pod(driver_pod(kNotReady, {kWitness, kWitness}));
}

void LabelerOnTheServer::TearDown() {
  if (labeler_ == nullptr) return;
  if (labeler_->running()) stop();
  if (HasFailure()) std::cout << labeler_->output();
  labeler_.reset();
}

void LabelerOnTheServer::launch(std::vector<std::string> flags) {
  seen_ = admin().counters();
  our_writes_ = 0;
  skipped_ = 0;
  flags.insert(flags.begin(), {"--kubeconfig=" + cluster().kubeconfig().string(), "--kube-api-qps=-1"});
  labeler_ = std::make_unique<LabelerProcess>(cluster().folder(), std::move(flags),
                                              std::vector<std::string>{"AUDIT_ENABLED=true"});
}

void LabelerOnTheServer::start(std::vector<std::string> flags) {
  launch(std::move(flags));
  labeler().await_ready();
}

void LabelerOnTheServer::stop() {
  EXPECT_EQ(labeler().stop(), 0);
  EXPECT_EQ(writes_so_far(), 0) << "written after the last count";
}

void LabelerOnTheServer::set(std::string_view key, const std::optional<std::string>& value, const std::string& node) {
  ASSERT_EQ(admin().merge_patch(node_path(node), key_patch(key, value)).status, 200);
}
void LabelerOnTheServer::set_ready(const std::string& pod, bool ready) {
  ASSERT_EQ(admin().merge_patch(path_of_pod(pod) + "/status", readiness(ready)).status, 200);
}
void LabelerOnTheServer::delete_pod(const std::string& name) { ASSERT_EQ(admin().remove(path_of_pod(name)).status, 200); }

void LabelerOnTheServer::await_state(std::string_view wanted, const std::string& node) {
  labeler().await(node + " " + std::string(wanted), [&] { return state(node) == wanted; });
}

void LabelerOnTheServer::settle() {
  flip_ = !flip_;
  set("kata", flip_ ? "true" : "false", kWitness);
  await_state(flip_ ? "K=true" : "I=true K=false", kWitness);
  set_ready(kWitness, flip_);
  await_state(flip_ ? "I=true K=true" : "K=false", kWitness);
  our_writes_ += 2;
}

long LabelerOnTheServer::writes_so_far() {
  const Counters now = admin().counters();
  const Counters asked = now - std::exchange(seen_, now);
  EXPECT_EQ(asked.count("GET", "nodes"), 0) << asked.text();
  EXPECT_EQ(asked.count("PUT", "nodes"), 0) << asked.text();
  return asked.count("PATCH", "nodes") - std::exchange(our_writes_, 0);
}

long LabelerOnTheServer::writes() {
  settle();
  return writes_so_far();
}

long LabelerOnTheServer::skipped() {
  const double now = labeler().metric("labeler_node_labels_skipped_managed_total");
  return static_cast<long>(now - std::exchange(skipped_, now));
}

}  // namespace nodeward::api
