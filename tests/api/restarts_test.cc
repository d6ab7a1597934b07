// A real API server that is asked to stop and started again and again while fatal events keep coming and others write the same
// nodes (R12): every event gets its outcome, once.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <iostream>
#include <map>
#include <span>
#include <stdexcept>
#include <thread>

#include "api/both_programs.h"
#include "api/labeler_objects.h"

namespace nodeward::api {
namespace {

using testing::SizeIs;
using testing::UnorderedElementsAreArray;

class R12OnTheServer : public BothProgramsOnTheServer {
 protected:
  static constexpr std::size_t kShare = 60;  // nodes that fail in a round

  // Faults of a share of the nodes, one after the other, with a restart in the middle; how long after the return all were settled.
  Duration restart_in_the_middle_of(std::span<const std::string> share) {
    const std::jthread faults([&] {
      for (const std::string& name : share) append(fatal_on(name)), std::this_thread::sleep_for(kPace);
    });
    std::jthread neighbours([&](const std::stop_token& stop) {
      for (std::size_t i = 0; i < share.size(); i += 2) change_until_done(share[i], stop), std::this_thread::sleep_for(2 * kPace);
    });
    const std::size_t before = outcomes().size();
    controller().await("a quarter of the round", [&] { return outcomes().size() >= before + kShare / 4; });
    real().stop_api_server_within(is_long() ? 5s : 1s);
    EXPECT_LT(outcomes().size(), before + kShare) << "the round was over before the server was away";
    cluster().start_api_server();
    const MonoTime returned = Clock::real().now();
    controller().await(
        "every event settled", [&] { return outcomes().size() == before + kShare; }, 10s);
    const Duration took = Clock::real().now() - returned;
    neighbours.join();
    return took;
  }
  // Quarantined once, with all that others had put there.
  void expect_right(const std::string& name, bool has_neighbour) {
    SCOPED_TRACE(name);
    const FaultNode node = this->node(name);
    EXPECT_TRUE(node.cordoned());
    EXPECT_THAT(node.tracked(), SizeIs(1));
    std::vector<std::string> keys;
    for (const Json& taint : node.json()["spec"]["taints"]) keys.push_back(taint["key"]);
    std::vector<std::string> wanted = {"nvidia.com/gpu", "maintenance.example.org/window", "startup.example.org/agent",
                                       "gpu.example.com/fault"};
    if (has_neighbour) wanted.emplace_back(kNeighbour);
    EXPECT_THAT(keys, UnorderedElementsAreArray(wanted));
  }
  // By the server's record, which outlives its restarts.
  void expect_few_writes(const std::string& program) {
    std::map<int, int> count;
    std::size_t all = 0;
    const auto by_node = patches(program);
    for (const auto& [node, codes] : by_node) {
      EXPECT_LE(std::count(codes.begin(), codes.end(), 200), 1) << program << " wrote " << node << " again after it was right";
      EXPECT_LE(codes.size(), 6U) << program << ", " << node;
      all += codes.size();
      for (const int code : codes) ++count[code];
    }
    EXPECT_LE(all, 3 * by_node.size());
    for (const auto& [code, times] : count) std::cout << fmt::format("{}: {} times {}\n", program, times, code);
  }

 private:
  static constexpr auto kPace = 40ms;
  static constexpr auto kNeighbour = "neighbour.example.org/agent";

  // A taint, and the label that makes the labeler write. False: once more, a conflict or an answer of a server that goes or comes.
  bool change_as_others_do(const std::string& name) {
    const Json node = admin().node(name);
    Json taints = node["spec"]["taints"];
    const auto is_there = [](const Json& taint) { return taint["key"] == kNeighbour; };
    if (std::any_of(taints.begin(), taints.end(), is_there)) return true;
    taints.push_back({{"key", kNeighbour}, {"effect", "NoSchedule"}});
    Json patch = key_patch("kata", "true");
    patch["metadata"]["resourceVersion"] = node["metadata"]["resourceVersion"];
    patch["spec"]["taints"] = taints;
    return admin().merge_patch("/api/v1/nodes/" + name, patch).status == 200;
  }
  void change_until_done(const std::string& name, const std::stop_token& stop) {
    for (bool done = false; !done && !stop.stop_requested();) {
      try {
        done = change_as_others_do(name);
      } catch (const std::runtime_error&) {  // the server is away
        Clock::real().sleep_for(20ms, stop);
      }
    }
  }
};

// The labeler with it at full length only: it may list but twice a minute (R13), so what others do between two restarts may be
// a minute old before it sees it.
TEST_F(R12OnTheServer, EveryFaultIsSettledOnceInSpiteOfRestartsUnderLoad) {
  const std::size_t rounds = is_long() ? 20 : 3;
  const std::vector<std::string> names = create_fleet(static_cast<int>(rounds * kShare));
  start_fault_quarantine();
  if (is_long()) start_labeler();
  Duration slowest = 0s;
  for (std::size_t round = 0; round < rounds; ++round) {
    slowest = std::max(slowest, restart_in_the_middle_of(std::span(names).subspan(round * kShare, kShare)));
  }

  for (const auto& [line, outcome] : outcomes()) EXPECT_EQ(outcome["status"], "Quarantined") << outcome;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const bool has_neighbour = i % 2 == 0;
    expect_right(names[i], has_neighbour);
    if (!is_long() || !has_neighbour) continue;
    labeler().await(
        "the label of " + names[i], [&] { return state_of(admin().node(names[i])) == "K=true"; }, 90s);
  }
  std::cout << fmt::format("{} restarts, {} nodes: all settled {:.1f} s after a return at the latest\n", rounds, names.size(),
                           std::chrono::duration<double>(slowest).count());
  expect_few_writes("fault-quarantine");
  if (is_long()) expect_few_writes("labeler");
}

}  // namespace
}  // namespace nodeward::api
