// fault-quarantine on many nodes of the real API server: what N cordons cost, the race for the taint list with another controller
// (R01), and a server that is killed in the middle of a burst.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <map>

#include "api/fault_quarantine_fixture.h"
#include "api/labeler_objects.h"
#include "api/other_controller.h"

namespace nodeward::api {
namespace {

using testing::IsEmpty;

constexpr auto kFault = "gpu.example.com/fault=fatal:NoSchedule, gpu.example.com/xid=hard:NoSchedule";

Json fatal_on(const std::string& node) {
  Json line = example_event("fatal-gpu0");
  event_of(line)["nodeName"] = node;
  line.erase("recordId");
  return line;
}

class FaultsOnAFleet : public FaultQuarantineOnTheServer {
 protected:
  std::vector<std::string> names_;

  void create_fleet(int nodes) {
    std::vector<Json> objects;
    for (int i = 0; i < nodes; ++i) {
      names_.push_back(fmt::format("gpu-{:03}", i));
      objects.push_back(node_in_state(names_.back()));
    }
    admin().create_nodes(objects);
  }
  // One write of the file for all; the number of the first line.
  int append_all(const std::function<Json(const std::string& node)>& event) {
    std::string lines;
    for (const std::string& name : names_) lines += to_text(event(name)) + "\n";
    return append_lines(lines, static_cast<int>(names_.size()));
  }
  void await_statuses(int first, std::string_view status) {
    for (int line = first; line < first + static_cast<int>(names_.size()); ++line) {
      EXPECT_EQ(outcome(line)["status"], status) << line;
    }
  }
  // The nodes that are quarantined as row 1 says, and hold one failure.
  int right_nodes() {
    const Json items = admin().get("/api/v1/nodes").json()["items"];
    return static_cast<int>(std::count_if(items.begin(), items.end(), [](const Json& item) {
      const FaultNode node(item);
      return node.cordoned() && node.taints() == kFault && node.tracked().size() == 1 && node.traces().size() == 9;
    }));
  }
};

TEST_F(FaultsOnAFleet, FreshCordonsCostOnePatchEachAndNoRead) {
  create_fleet(200);
  start();
  const int first = append_all(fatal_on);
  await_statuses(first, "Quarantined");
  EXPECT_EQ(writes(), 200);
  EXPECT_EQ(right_nodes(), 200);
  EXPECT_EQ(controller().audit().size(), 200U);
}

// ---- R01 with fault events ------------------------------------------------------------------------------------------------------

using R01WithFaultEvents = FaultsOnAFleet;

TEST_F(R01WithFaultEvents, NoForeignTaintIsLostInAnyRound) {
  const int least = std::getenv("NODEWARD_LONG") != nullptr ? 200 : 20;
  create_fleet(20);
  OtherController other(cluster(), names_);
  start();
  const auto answered = [&](const char* code) {
    return controller().metric(fmt::format(R"(fault_quarantine_api_requests_total{{code="{}",verb="PATCH"}})", code));
  };
  other.start();
  int rounds = 0;
  // The simulated server is so quick that twenty rounds may pass without a race: then there are more.
  for (; rounds < least || (answered("409") == 0 && rounds < 20 * least); ++rounds) {
    await_statuses(append_all(fatal_on), "Quarantined");
    await_statuses(append_all([](const std::string& node) { return recovery_of(fatal_on(node)); }), "UnQuarantined");
  }
  other.stop();
  EXPECT_EQ(other.lost, 0);
  for (const std::string& name : names_) {
    const Json after = admin().node(name);
    EXPECT_EQ(OtherController::taints_of_its_own(after), other.has[name]) << name;
    EXPECT_EQ(after["spec"].value("taints", Json::array()).size(), other.has[name].size()) << name;
    EXPECT_THAT(FaultNode(after).traces(), IsEmpty()) << name;
  }
  EXPECT_EQ(answered("200"), rounds * 40) << "one write each, and one more for each conflict";
  EXPECT_GT(answered("409"), 0) << "no race, no proof";
  std::cout << fmt::format("{} rounds: {} writes, {} conflicts; {} foreign changes, {} lost\n", rounds, answered("200"),
                           answered("409"), other.changes, other.lost);
}

// ---- A restart of the server ----------------------------------------------------------------------------------------------------

class FaultsAndARestart : public FaultsOnAFleet {
 protected:
  double patched() { return controller().metric(R"(fault_quarantine_api_requests_total{code="200",verb="PATCH"})"); }
};

TEST_F(FaultsAndARestart, InTheMiddleOfABurstEndWithEveryNodeRightAndNoneWrittenTwiceWithoutNeed) {
  constexpr int kNodes = 300;
  create_fleet(kNodes);
  append_all(fatal_on);
  launch(flags(Input::kEnds, example_rules()));
  controller().await("a third of the nodes written", [&] { return patched() >= kNodes / 3.0; });
  cluster().kill_api_server();
  const auto written_before = static_cast<int>(patched());
  ASSERT_LT(written_before, kNodes) << "the kill came too late to be in the middle";
  EXPECT_EQ(controller().get("/healthz").status, 200);
  cluster().start_api_server();
  EXPECT_EQ(controller().wait_for_exit(), 0) << "the end of the input, and every event settled";
  await_statuses(1, "Quarantined");
  EXPECT_EQ(right_nodes(), kNodes);

  int repeated = 0;
  int unanswered = 0;
  const auto answers = controller().answers_by_node();
  EXPECT_EQ(answers.size(), names_.size());
  for (const auto& [node, codes] : answers) {
    repeated += codes.size() > 1 ? 1 : 0;
    unanswered += static_cast<int>(std::count(codes.begin(), codes.end(), 0));
    EXPECT_LE(std::count(codes.begin(), codes.end(), 200), 1) << node;
    for (std::size_t i = 0; i + 1 < codes.size(); ++i)
      EXPECT_NE(codes[i], 200) << node << " was written again after it was right";
  }
  const Counters since = admin().counters();  // of the new server
  EXPECT_LE(since.count("GET", "nodes"), unanswered) << "a node is read alone only to see whether its write was done";
  EXPECT_LE(since.count("PATCH", "nodes", "", 409), unanswered) << "a guarded body may be sent again: 409 says that it was done";
  EXPECT_EQ(since.count("PUT", "nodes"), 0);
  EXPECT_LE(since.count("PATCH", "nodes", "", 200), kNodes - written_before);
  std::cout << fmt::format(
      "{} written before the kill, {} writes without an answer, {} nodes sent more than once; then {} PATCH, {} GET\n",
      written_before, unanswered, repeated, since.count("PATCH", "nodes"), since.count("GET", "nodes"));
}

}  // namespace
}  // namespace nodeward::api
