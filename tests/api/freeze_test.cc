// Both programs stopped (SIGSTOP) while the cluster moves on past the versions they know, and then going on (R13): one new list,
// and everything as it is by now, deletes included. At full length for six minutes, with so many changes that the server gives up
// on the watches that nobody reads and its cache has forgotten the versions behind them (a cache size cannot be asked for: since
// Kubernetes 1.36 it keeps 75 s at the least); in the short form the server is restarted meanwhile, with an empty cache.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <signal.h>

#include <iostream>

#include "api/both_programs.h"
#include "api/labeler_objects.h"

namespace nodeward::api {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::Key;
using testing::Not;

constexpr auto kCannotRead = "cannot read from the API server, trying again";
constexpr auto kOptOut = "nvsentinel.dgxc.nvidia.com/managed";

std::string path_of(const std::string& node) { return "/api/v1/nodes/" + node; }

class R13OnTheServer : public BothProgramsOnTheServer {
 protected:
  void set_label(const std::string& node, const std::string& key, const Json& value) {
    ASSERT_EQ(admin().merge_patch(path_of(node), {{"metadata", {{"labels", {{key, value}}}}}}).status, 200);
  }
  // Of the one rule of tests/data/examples that an opted-out node is spared.
  static Json fault_of(const std::string& node) {
    Json event = fatal_on(node);
    event["errorCode"] = {"31"};
    return event;
  }
  void send_to_both(int signal) {
    ASSERT_EQ(::kill(controller().pid(), signal), 0);
    ASSERT_EQ(::kill(labeler().pid(), signal), 0);
  }
  // 10 changes a second of 20 KB each: more than the buffers between a server and a client that does not read will hold.
  void change_for(Duration time, const std::string& node) {
    const MonoTime begin = Clock::real().now();
    for (int i = 0; Clock::real().now() - begin < time; ++i) {
      const std::string text = std::to_string(i) + std::string(20'000, 'x');
      admin().merge_patch(path_of(node), {{"metadata", {{"annotations", {{"example.org/report", text}}}}}});
      std::this_thread::sleep_for(100ms);
    }
  }
  // So that no watch can be resumed from what it has seen, and nothing that happens from now on reaches one.
  void move_on(const std::string& node) {
    if (is_long()) {
      change_for(6min, node);
      real().forget_the_past();
    } else {
      real().stop_api_server_within(1s);
      real().forget_the_past();
      cluster().start_api_server();
    }
  }
  // The reads of nodes since the first `before` calls: "resumed", "streaming list", "list".
  std::vector<std::string> reads(const std::string& program, std::size_t before) {
    std::vector<std::string> kinds;
    const std::vector<ServedCall> calls = served(program);
    for (std::size_t i = before; i < calls.size(); ++i) {
      const auto has = [&](const char* word) { return calls[i].path.find(word) != std::string::npos; };
      if (!calls[i].path.starts_with("/api/v1/nodes?")) continue;
      kinds.push_back(has("sendInitialEvents") ? "streaming list" : has("watch=true") ? "resumed" : "list");
    }
    return kinds;
  }
  static bool was_told_gone(ControllerProcess& program) {
    for (const Json& line : program.log_of(kCannotRead)) {
      if (line["resource"] == "nodes" && to_text(line).find("410 ") != std::string::npos) return true;
    }
    return false;
  }
};

TEST_F(R13OnTheServer, AProgramThatWasStoppedPastItsVersionListsOnceAndSeesEverything) {
  for (const char* name : {"busy", "opts-in", "opts-out", "goes", "anew", "wants-kata"}) admin().create_node(node_of_fleet(name));
  set_label("opts-in", kOptOut, "false");
  start_fault_quarantine({"--config-path=" + example_rules().string()});
  start_labeler();
  const std::size_t before = served("fault-quarantine").size();
  const std::size_t before_labels = served("labeler").size();
  ASSERT_EQ(status(fault_of("opts-in")), "-");

  send_to_both(SIGSTOP);
  move_on("busy");
  set_label("opts-in", kOptOut, nullptr);
  set_label("opts-out", kOptOut, "false");
  set_label("wants-kata", "katacontainers.io/kata-runtime", "true");
  admin().remove(path_of("goes"));
  admin().remove(path_of("anew"));
  admin().create_node({{"metadata", {{"name", "anew"}, {"labels", {{"a", "label"}}}}},
                       {"spec", {{"taints", {{{"key", "new"}, {"effect", "NoSchedule"}}}}}}});
  admin().create_node(node_of_fleet("comes"));
  const int first = append(fault_of("opts-out"));
  append(fault_of("anew"));
  append(fault_of("comes"));
  const MonoTime begin = Clock::real().now();
  send_to_both(SIGCONT);

  controller().await("the broken watch", [&] { return !controller().log_of(kCannotRead).empty(); });
  const int last = append(fault_of("opts-in"));
  const auto all_read = [&] {
    return reads("fault-quarantine", before).size() >= 2 && reads("labeler", before_labels).size() >= 2;
  };
  await("the new lists", all_read);
  std::cout << fmt::format("read anew {:.1f} s after SIGCONT\n",
                           std::chrono::duration<double>(Clock::real().now() - begin).count());

  EXPECT_EQ(outcome(first)["status"], Json()) << "judged on the labels of before";
  for (int line = first + 1; line <= last; ++line) EXPECT_EQ(outcome(line)["status"], "Quarantined") << line;
  const int gone = append(fault_of("goes"));
  EXPECT_EQ(status(fault_of("comes")), "AlreadyQuarantined");
  EXPECT_EQ(node("anew").taints(), "new=:NoSchedule, " + kFault);
  labeler().await("the label", [&] { return state_of(admin().node("wants-kata")) == "K=true"; });
  labeler().await("six nodes", [&] { return labeler().metric("labeler_nodes_cached") == 6; });
  if (is_long()) {
    EXPECT_EQ(outcome(gone)["decision"], "node-not-found");
  }

  EXPECT_THAT(reads("fault-quarantine", before), ElementsAre("resumed", "streaming list"));
  EXPECT_THAT(reads("labeler", before_labels), ElementsAre("resumed", "streaming list"));
  EXPECT_TRUE(was_told_gone(controller()));
  EXPECT_TRUE(was_told_gone(labeler()));
  EXPECT_THAT(patches("fault-quarantine"), Not(Contains(Key("goes"))));
  EXPECT_THAT(patches("labeler"), Not(Contains(Key("goes"))));
}

}  // namespace
}  // namespace nodeward::api
