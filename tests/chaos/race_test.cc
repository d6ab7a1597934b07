// Other clients that write the same nodes: a taint added between our read and our write (R01), and a storm of status writes (R05).
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "chaos/program_on_sim.h"

namespace nodeward::chaos {
namespace {

using testing::ElementsAre;

// ---- R01 ----------------------------------------------------------------------------------------------------------------------

using R01 = ProgramOnSim;

const std::string kForeign =
    "nvidia.com/gpu=present:NoSchedule, maintenance.example.org/window=tue:PreferNoSchedule, "
    "startup.example.org/agent=:NoExecute";

TEST_F(R01, ATaintThatIsAddedBeforeOurWriteIsKeptAndTheWriteMadeAnew) {
  const auto race = script("taint-race");
  serve(race);
  start();
  play(race);
  await_quarantined();
  await_outcomes(1);
  EXPECT_EQ(node().taints(),
            kForeign + ", node.cilium.example.org/agent-not-ready=:NoSchedule, gpu.example.com/fault=fatal:NoSchedule");
  EXPECT_EQ(node().json()["spec"]["taints"][2]["timeAdded"], "2026-09-14T08:00:00Z");
  EXPECT_THAT(answers_of("gpu-a-017"), ElementsAre(409, 200));
  EXPECT_LE(asked_of("gpu-a-017").size(), 3U);
}

TEST_F(R01, WithoutARaceItIsOneRequest) {
  auto race = script("taint-race");
  race.rules.clear();
  serve(race);
  start();
  play(race);
  await_quarantined();
  await_outcomes(1);
  EXPECT_EQ(node().taints(), kForeign + ", gpu.example.com/fault=fatal:NoSchedule");
  EXPECT_EQ(asked_of("gpu-a-017").size(), 1U);
}

// ---- R05 ----------------------------------------------------------------------------------------------------------------------

class R05 : public ProgramOnSim {
 protected:
  static constexpr int kNodes = 200;
  using ByNode = std::map<std::string, std::vector<sim::Asked>>;

  // The whole script; what was asked for about each node.
  ByNode weather(const sim::FaultScript& storm) {
    serve(storm);
    start({fmt::format("--kube-api-qps={}", storm.rate->qps), fmt::format("--kube-api-burst={}", storm.rate->burst)});
    controller().await_ready();
    const std::jthread others([&](const std::stop_token& over) { patch_statuses(storm.status_patches_per_node_per_s, over); });
    play(storm);
    await_outcomes(nodes().size());
    await_quarantined(nodes());
    return asked_by_node();
  }
  // The storm at its worst: a status of each node is written just before each of our first `times` PATCHes of it.
  static sim::FaultScript worst(int times = 1) {
    auto storm = script("conflict-storm");
    for (int i = 0; i < kNodes; ++i) {
      sim::FaultRule rule{.on = {.verb = "PATCH", .path = fmt::format("/api/v1/nodes/gpu-s-{:03}", i)}};
      rule.replies.assign(static_cast<std::size_t>(times), {.first_change = sim::NodeChange{.status = {{"phase", "Running"}}}});
      rule.replies.back().first_change->status["phase"] = "Pending";
      storm.rules.push_back(std::move(rule));
    }
    return storm;
  }
  static int requests(const ByNode& all) {
    int sum = 0;
    for (const auto& [node, asked] : all) sum += static_cast<int>(asked.size());
    return sum;
  }
  static std::size_t most(const ByNode& all) {
    std::size_t most = 0;
    for (const auto& [node, asked] : all) most = std::max(most, asked.size());
    return most;
  }
  static int conflicts(const ByNode& all) {
    int count = 0;
    for (const auto& [node, asked] : all) {
      count += static_cast<int>(std::count_if(asked.begin(), asked.end(), [](const auto& one) { return one.status == 409; }));
    }
    return count;
  }
  void expect_all_taints() {
    for (const std::string& name : nodes()) EXPECT_EQ(node(name).taints(), kForeign + ", gpu.example.com/fault=fatal:NoSchedule");
  }

 private:
  void patch_statuses(double per_node_per_s, const std::stop_token& over) {
    const auto all = nodes();
    const MonoTime begin = Clock::real().now();
    for (std::size_t done = 0; !over.stop_requested(); std::this_thread::sleep_for(5ms)) {
      const double seconds = std::chrono::duration<double>(Clock::real().now() - begin).count();
      for (; static_cast<double>(done) < seconds * per_node_per_s * static_cast<double>(all.size()); ++done) {
        change(all[done % all.size()], {.status = {{"phase", fmt::format("beat-{}", done)}}});
      }
    }
  }
};

TEST_F(R05, ACordonAloneNeedsNoGuardAndMeetsNoConflict) {
  check_ = "CordonOnly";
  const ByNode all = weather(script("conflict-storm"));
  EXPECT_EQ(requests(all), kNodes);
  EXPECT_EQ(conflicts(all), 0);
}

TEST_F(R05, ATaintCostsAtMost1point3RequestsPerNode) {
  const ByNode all = weather(script("conflict-storm"));
  EXPECT_LE(requests(all), kNodes * 13 / 10) << conflicts(all) << " conflicts";
  EXPECT_LE(most(all), 6U);
  expect_all_taints();
}

TEST_F(R05, AtItsWorstATaintCostsAtMost3RequestsPerNode) {
  const ByNode all = weather(worst());
  EXPECT_GE(conflicts(all), kNodes);
  EXPECT_LE(requests(all), kNodes * 3);
  EXPECT_LE(most(all), 6U);
  expect_all_taints();
}

TEST_F(R05, AtItsWorstACordonAloneIsStillOneRequest) {
  check_ = "CordonOnly";
  const ByNode all = weather(worst());
  EXPECT_EQ(requests(all), kNodes);
  EXPECT_EQ(conflicts(all), 0);
}

// A second conflict in a row is waited after, for 10 to 50 ms; a fleet must not come back in step.
TEST_F(R05, WaitsDifferFromNodeToNode) {
  auto storm = worst(2);
  storm.generated->count = 16;  // as many as are worked on at once: nothing else is waited for
  storm.rate = {.qps = -1, .burst = 0};
  storm.status_patches_per_node_per_s = 0;
  std::set<long> waits;
  for (const auto& [node, asked] : weather(storm)) {
    std::vector<sim::Asked> patches = asked;
    std::erase_if(patches, [](const auto& one) { return one.verb != "PATCH"; });
    ASSERT_EQ(patches.size(), 3U) << node;
    const Duration wait = patches[2].at - *patches[1].answered;
    EXPECT_GE(wait, 10ms) << node;
    waits.insert(wait / 5ms);
  }
  EXPECT_GE(waits.size(), 4U);  // of the eight steps of 5 ms between 10 and 50 ms
}

}  // namespace
}  // namespace nodeward::chaos
