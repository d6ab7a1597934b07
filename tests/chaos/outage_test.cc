// Connections and processes that end in mid-work: GOAWAY and a server that restarts (R12), the controller killed or stopped between
// the node write and the outcome (R19).
#include <fmt/format.h>
#include <signal.h>

#include <algorithm>

#include "chaos/program_on_sim.h"

namespace nodeward::chaos {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

// ---- R12 ----------------------------------------------------------------------------------------------------------------------

class R12 : public ProgramOnSim {
 protected:
  static constexpr std::size_t kNodes = 100;

  void expect_each_event_once() {
    await_outcomes(kNodes);
    EXPECT_THAT(outcomes(), SizeIs(kNodes));
    for (const std::string& name : nodes()) EXPECT_THAT(node(name).tracked(), SizeIs(1)) << name;
    EXPECT_TRUE(controller().running());
  }
};

TEST_F(R12, AGoAwayInABurstIsNoFailure) {
  auto burst = script("goaway");
  burst.rules.resize(1);
  burst.timeline.resize(1);
  serve(burst);
  start();
  controller().await_ready();
  play(burst);
  await_quarantined(nodes(), 5s);
  expect_each_event_once();
  // The one that was not looked at, and perhaps some of those before it, went out once more.
  const auto all = asked_by_node();
  int again = 0;
  for (const auto& [name, asked] : all) {
    if (asked.size() == 1) continue;
    ++again;
    EXPECT_LE(asked[1].at - asked[0].at, 1s) << name;
  }
  EXPECT_GE(again, 1);
  EXPECT_LE(again, 4);
  EXPECT_EQ(controller().metric(R"(fault_quarantine_api_requests_total{code="200",verb="PATCH"})"), kNodes);
  EXPECT_EQ(controller().metric(R"(fault_quarantine_api_requests_total{code="0",verb="PATCH"})"), 0);
}

TEST_F(R12, EveryWriteOfABurstGetsItsOutcomeInSpiteOfARestart) {
  const auto burst = script("goaway").stretched(is_long() ? 1 : 0.3);
  serve(burst);
  start({fmt::format("--kube-api-qps={}", is_long() ? 25 : 80), "--kube-api-burst=10"});  // in mid-burst at the restart
  controller().await_ready();
  serve_by(burst.rules);
  play(burst);
  const auto all = nodes();
  ASSERT_FALSE(std::all_of(all.begin(), all.end(), [&](const std::string& name) { return node(name).cordoned(); }))
      << "the burst was over before the restart";
  await_quarantined(nodes(), 10s);
  expect_each_event_once();
}

// ---- R19 ----------------------------------------------------------------------------------------------------------------------

class R19 : public ProgramOnSim {
 protected:
  // Sends the signal when a PATCH is applied, before the program hears of it; once.
  void at_first_patch(int signal) {
    before_answer_ = [this, signal](const sim::Asked& asked) {
      if (asked.verb == "PATCH" && asked.status == 200 && !done_.exchange(true)) ::kill(pid_, signal);
    };
  }
  void expect_one_write() {
    await_outcomes(1);
    EXPECT_EQ(outcomes()[1]["status"], "Quarantined");
    EXPECT_THAT(answers_of("gpu-a-017"), ElementsAre(200));
    EXPECT_THAT(node().tracked(), SizeIs(1));
  }
  std::atomic<bool> done_ = false;
};

TEST_F(R19, KilledAfterTheWriteTheNextStartWritesNothing) {
  const auto crash = script("crash-window");
  serve(crash);
  at_first_patch(SIGKILL);
  start();
  append_file("a/events/one-fatal.jsonl");
  EXPECT_EQ(controller().wait_for_exit(), 128 + SIGKILL);
  EXPECT_TRUE(outcomes().empty());
  start();
  expect_one_write();
}

TEST_F(R19, KilledTwiceTheThirdStartWritesNothing) {
  const auto crash = script("crash-window");
  serve(crash);
  at_first_patch(SIGKILL);
  start();
  append_file("a/events/one-fatal.jsonl");
  EXPECT_EQ(controller().wait_for_exit(), 128 + SIGKILL);
  start();  // no PATCH any more: the end comes while it reads the nodes
  api::await("the second start reads the nodes", [&] { return faults_->asked("WATCH", "/api/v1/nodes").size() == 2; });
  kill();
  start();
  expect_one_write();
}

TEST_F(R19, AskedToStopWithFiftyEventsWaitingItEndsInOrderAndLosesNone) {
  constexpr int kWaiting = 50;
  auto crash = script("crash-window");
  crash.objects.clear();
  crash.generated = {.count = kWaiting + 1, .from = data("nodes/node-three-foreign-taints.json"), .name = "gpu-c-%02d"};
  serve(crash);
  at_first_patch(SIGTERM);
  start({"--kube-api-qps=0.1", "--kube-api-burst=1"});
  for (const std::string& name : nodes()) append(name);
  controller().await("the stop", [&] { return done_.load(); });
  const MonoTime asked = Clock::real().now();
  EXPECT_EQ(controller().wait_for_exit(), 0);
  EXPECT_LE(Clock::real().now() - asked, 10s);
  EXPECT_LE(outcomes().size(), 1U);
  start();
  await_outcomes(kWaiting + 1);
  for (const std::string& name : nodes()) {
    EXPECT_THAT(answers_of(name), ElementsAre(200)) << name;
    EXPECT_THAT(node(name).tracked(), SizeIs(1)) << name;
  }
}

}  // namespace
}  // namespace nodeward::chaos
