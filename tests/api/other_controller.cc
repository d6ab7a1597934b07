#include "api/other_controller.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "base/check.h"
#include "base/clock.h"

namespace nodeward::api {
namespace {

constexpr std::size_t kThreads = 4;  // divides the number of nodes: each has nodes of its own
constexpr std::string_view kPrefix = "other.example.org/";

}  // namespace

OtherController::OtherController(Cluster& cluster, std::vector<std::string> nodes)
    : admin_(cluster.origin(), cluster.ca_cert(), cluster.token()), nodes_(std::move(nodes)) {
  NW_CHECK(nodes_.size() % kThreads == 0, "each thread has nodes of its own");
  for (const std::string& node : nodes_) has[node];  // later only the values change, each by one thread
}

std::set<std::string> OtherController::taints_of_its_own(const Json& node) {
  std::set<std::string> keys;
  for (const Json& taint : node.at("spec").value("taints", Json::array())) {
    const std::string key = taint.at("key");
    if (key.starts_with(kPrefix)) keys.insert(key);
  }
  return keys;
}

void OtherController::start() {
  for (std::size_t first = 0; first < kThreads; ++first) {
    threads_.emplace_back([this, first](const std::stop_token& stop) {
      for (std::size_t turn = first; !stop.stop_requested(); turn += kThreads) {
        const MonoTime begin = Clock::real().now();
        change(turn);
        Clock::real().sleep_for(begin + kThreads * 5ms - Clock::real().now(), stop);
      }
    });
  }
}

void OtherController::change(std::size_t turn) {
  const std::string& node = nodes_[turn % nodes_.size()];
  const std::string key = fmt::format("{}t{}", kPrefix, (turn / nodes_.size()) % 3);
  while (!put_or_take(node, key)) {
  }
  ++changes;
}

// False after a conflict with us.
bool OtherController::put_or_take(const std::string& node, const std::string& key) {
  const Json now = admin_.node(node);
  note_losses(node, taints_of_its_own(now));
  Json taints = now["spec"].value("taints", Json::array());
  const bool there = has[node].contains(key);
  if (there) {
    taints.erase(std::find_if(taints.begin(), taints.end(), [&](const Json& taint) { return taint["key"] == key; }));
  } else {
    taints.push_back({{"key", key}, {"effect", "NoSchedule"}, {"timeAdded", "2026-09-01T07:00:00Z"}});
  }
  const Json patch{{"metadata", {{"resourceVersion", now["metadata"]["resourceVersion"]}}}, {"spec", {{"taints", taints}}}};
  const Answer answer = admin_.merge_patch("/api/v1/nodes/" + node, patch);
  if (answer.status == 409) return false;
  if (answer.status != 200) throw std::runtime_error("the other controller: " + answer.body);
  there ? (void)has[node].erase(key) : (void)has[node].insert(key);
  return true;
}

void OtherController::note_losses(const std::string& node, const std::set<std::string>& there) {
  for (const std::string& key : has[node]) lost += there.contains(key) ? 0 : 1;
  for (const std::string& key : there) lost += has[node].contains(key) ? 0 : 1;  // a removal of ours was undone
  has[node] = there;
}

}  // namespace nodeward::api
