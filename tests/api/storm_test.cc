// A whole fleet fails at once while others keep writing the status of its nodes (R05): a cordon alone needs no guard, and a taint
// that needs one stays cheap. At 50 status patches a second in all, each near the moment of our own write of that node; the stated
// 800 a second are on the simulated server (tests/chaos).
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <iostream>
#include <map>
#include <random>
#include <thread>

#include "api/both_programs.h"

namespace nodeward::api {
namespace {

using testing::SizeIs;

class R05OnTheServer : public BothProgramsOnTheServer {
 protected:
  static constexpr int kNodes = 200;
  static constexpr Duration kWithin = 200ms;
  static constexpr int kRate = 50;  // a second: of our writes behind the burst, and of theirs
  static constexpr int kBurst = 100;

  // All nodes fail within kWithin; returns when every event is settled.
  void storm(const std::string& check) {
    names_ = create_fleet(kNodes);
    start_fault_quarantine({fmt::format("--kube-api-qps={}", kRate), fmt::format("--kube-api-burst={}", kBurst)});
    asked();
    const std::jthread others([&](const std::stop_token& stop) { patch_statuses(stop); });
    for (const std::string& name : names_) append(fatal_on(name, check)), std::this_thread::sleep_for(kWithin / kNodes);
    controller().await(
        "every event settled", [&] { return outcomes().size() == names_.size(); }, 20s);
  }
  // Each cordoned, with these taints and one failure on record.
  void expect_right(const std::string& taints) {
    for (const std::string& name : names_) {
      const FaultNode node = this->node(name);
      EXPECT_TRUE(node.cordoned()) << name;
      EXPECT_EQ(node.taints(), taints) << name;
      EXPECT_THAT(node.tracked(), SizeIs(1)) << name;
    }
  }
  void report(const Counters& since) {
    std::cout << fmt::format("{} nodes, {} status patches meanwhile\n{}", kNodes, patched_, since.text());
  }

 private:
  // At the rate and in the order in which the nodes behind the burst are written, each at any time within its turn.
  void patch_statuses(const std::stop_token& stop) {
    constexpr Duration kTurn = 1000ms / kRate;
    std::minstd_rand random;
    std::uniform_int_distribution<Duration::rep> within(0, kTurn.count());
    const MonoTime begin = Clock::real().now();
    for (std::size_t turn = 0; !stop.stop_requested(); ++turn) {
      Clock::real().sleep_for(begin + static_cast<long>(turn) * kTurn + Duration(within(random)) - Clock::real().now(), stop);
      const Json ready{{"type", "Ready"}, {"status", "True"}, {"reason", fmt::format("Beat{}", turn)}};
      const std::string path = "/api/v1/nodes/" + names_[(kBurst + turn) % names_.size()] + "/status";
      if (admin().merge_patch(path, {{"status", {{"conditions", {ready}}}}}).status == 200) ++patched_;
    }
  }
  std::vector<std::string> names_;
  std::atomic<int> patched_ = 0;
};

TEST_F(R05OnTheServer, ACordonAloneIsOneRequestWithoutAGuard) {
  storm("CordonOnly");
  const Counters since = asked();
  EXPECT_EQ(since.count("PATCH", "nodes", "", 200), kNodes);
  EXPECT_EQ(since.count("PATCH", "nodes"), kNodes) << "a conflict, or worse";
  EXPECT_EQ(since.count("GET", "nodes"), 0);
  const auto calls = served("fault-quarantine", "patch");
  const auto guarded = [](const ServedCall& call) { return call.body["metadata"].contains("resourceVersion"); };
  EXPECT_EQ(std::count_if(calls.begin(), calls.end(), guarded), 0);
  expect_right(kForeign);
  report(since);
}

TEST_F(R05OnTheServer, ATaintCostsAtMost1point3RequestsPerNode) {
  storm("GpuXidError");
  const Counters since = asked();
  EXPECT_EQ(since.count("PATCH", "nodes", "", 200), kNodes);
  EXPECT_LE(since.count("PATCH", "nodes") + since.count("GET", "nodes"), kNodes * 13 / 10);
  std::map<std::string, int> requests;
  for (const ServedCall& call : served("fault-quarantine")) requests[call.node] += call.node.empty() ? 0 : 1;
  for (const auto& [node, count] : requests) EXPECT_LE(count, 6) << node;
  expect_right(kForeign + ", " + kFault);
  report(since);
}

}  // namespace
}  // namespace nodeward::api
