// Several copies of a controller on one cluster: the lease says which of them writes (docs/operating.md, "Two copies").
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <signal.h>

#include <fstream>
#include <thread>

#include "api/fault_quarantine_fixture.h"
#include "api/labeler_fixture.h"

namespace nodeward::api {
namespace {

using testing::HasSubstr;

constexpr const char* kLeasePath = "/apis/coordination.k8s.io/v1/namespaces/default/leases/labeler";

// Short times, so that a test of many turns takes seconds: another copy takes over 3 s after the last renewal it has seen.
class CopiesOnTheServer : public ClusterTest {
 protected:
  void SetUp() override {
    ClusterTest::SetUp();
    admin().remove(kLeasePath);
    before_ = admin().counters();
  }
  std::unique_ptr<LabelerProcess> copy() {
    return std::make_unique<LabelerProcess>(
        cluster().folder(),
        std::vector<std::string>{"--kubeconfig", cluster().kubeconfig(), "--leader-elect", "--kube-api-qps=-1",
                                 "--lease-duration=3s", "--lease-renew-deadline=2s", "--lease-retry-period=500ms"});
  }
  void await_leader(LabelerProcess& copy) {
    copy.await("the lease", [&] {
      const Answer ready = copy.get("/readyz");
      return ready.status == 200 && ready.body.find("stands by") == ready.body.npos &&
             ready.body.find("does not write") == ready.body.npos;
    });
  }
  void cold_nodes(const std::string& prefix, int count) {
    for (int i = 0; i < count; ++i) admin().create_node(node_in_state(fmt::format("{}{}", prefix, i), ""));
  }
  void await_labelled(const std::string& prefix, int count) {
    await("every node labelled", [&] {
      for (int i = 0; i < count; ++i) {
        if (state_of(admin().node(fmt::format("{}{}", prefix, i))) != "K=false") return false;
      }
      return true;
    });
  }
  long patches() { return (admin().counters() - before_).count("PATCH", "nodes"); }

  Counters before_;
};

using R21OnTheServer = CopiesOnTheServer;

TEST_F(R21OnTheServer, OfTwoCopiesOneWritesAndTheOtherStandsBy) {
  const auto first = copy();
  first->await_ready();
  await_leader(*first);
  const auto second = copy();
  second->ControllerProcess::await_ready();
  EXPECT_THAT(second->get("/readyz").body, HasSubstr("stands by: the lease is held by"));
  second->await("that its log says so",
                [&] { return second->log_of("stands by: another copy holds the lease and writes").size() == 1; });
  cold_nodes("n", 20);
  await_labelled("n", 20);
  EXPECT_EQ(patches(), 20) << "each node once, by one of them";
  EXPECT_EQ(first->stop(), 0);
  await_leader(*second);                    // given back: no wait of 3 s
  cold_nodes("m", 20);
  await_labelled("m", 20);
  EXPECT_EQ(patches(), 40);
  EXPECT_EQ(second->stop(), 0);
}

TEST_F(R21OnTheServer, WhatWaitedBehindTheFenceIsWrittenAtTheTakeover) {
  const auto first = copy();
  await_leader(*first);
  const auto second = copy();
  second->ControllerProcess::await_ready();
  kill(first->pid(), SIGKILL);
  cold_nodes("n", 20);                      // seen by the second, which may not write yet
  await_labelled("n", 20);
  EXPECT_EQ(patches(), 20);
  EXPECT_EQ(second->stop(), 0);
}

TEST_F(R21OnTheServer, ACopyThatWakesUpWritesNothingWithItsOldView) {
  const auto first = copy();
  first->await_ready();
  await_leader(*first);
  const auto second = copy();
  second->ControllerProcess::await_ready();
  kill(first->pid(), SIGSTOP);
  await_leader(*second);
  cold_nodes("n", 20);
  await_labelled("n", 20);
  kill(first->pid(), SIGCONT);
  first->await("that it knows of its loss", [&] { return first->get("/readyz").body.find("stands by") != std::string::npos; });
  cold_nodes("m", 20);
  await_labelled("m", 20);
  EXPECT_EQ(patches(), 40);
  EXPECT_EQ(second->stop(), 0);
  EXPECT_EQ(first->stop(), 0);
}

TEST_F(R21OnTheServer, WithoutTheRightToTheLeaseItEndsAndSaysSo) {
  const std::string config = fmt::format(R"({{"apiVersion":"v1","kind":"Config","current-context":"x",
"contexts":[{{"name":"x","context":{{"cluster":"x","user":"x"}}}}],
"clusters":[{{"name":"x","cluster":{{"server":"{}","insecure-skip-tls-verify":true}}}}],
"users":[{{"name":"x","user":{{"token":"{}"}}}}]}})",
                                         cluster().origin(), cluster().powerless_token());
  const auto file = cluster().folder() / "powerless.json";
  std::ofstream(file) << config;
  LabelerProcess labeler(cluster().folder(), {"--kubeconfig", file, "--leader-elect"});
  EXPECT_EQ(labeler.wait_for_exit(), 1);
  EXPECT_THAT(labeler.output(), HasSubstr("no right to the lease default/labeler"));
  EXPECT_THAT(labeler.output(), HasSubstr("get, create and update on leases.coordination.k8s.io"));
}

using NodeEventsOnTheServer = FaultQuarantineOnTheServer;

TEST_F(NodeEventsOnTheServer, AQuarantineAndAReleaseAreEventsOfTheNode) {
  create_examples();
  auto with_events = flags(Input::kFollowed, example_rules());
  with_events.push_back("--node-events");
  launch(with_events);
  controller().await_ready();
  EXPECT_EQ(status("fatal-gpu0"), "Quarantined");
  EXPECT_EQ(status(recovery_of(example_event("fatal-gpu0"))), "UnQuarantined");
  std::vector<std::string> reasons;
  await("both Events", [&] {
    reasons.clear();
    const Json events = admin().get("/api/v1/namespaces/default/events").json();
    for (const Json& event : events["items"]) {
      if (event["source"].value("component", "") == "fault-quarantine") reasons.push_back(event["reason"].get<std::string>());
    }
    return reasons.size() >= 2;
  });
  EXPECT_THAT(reasons, testing::UnorderedElementsAre("Quarantined", "Released"));
  EXPECT_EQ(asked().count("POST", "events"), 2);
}

}  // namespace
}  // namespace nodeward::api
