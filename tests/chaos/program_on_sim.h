// A script of tests/data/http with fault-quarantine as its users run it: the program as a child process, the simulated server in
// this one, events as lines of a file that is followed. A test loads the script, starts the program, plays the timeline, and
// judges by what the server was asked, by the nodes, and by the outcomes. Main thread.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "api/cluster.h"
#include "api/controller_process.h"
#include "api/fault_quarantine_fixture.h"
#include "sim/faults.h"

namespace nodeward::chaos {

// Whether waits take the time that the script says (make test-long) or less.
bool is_long();

class ProgramOnSim : public testing::Test {
 protected:
  void TearDown() override;

  // tests/data/http/NAME.json.
  static sim::FaultScript script(const std::string& name);
  // A file of the scripts or of tests/data.
  static std::filesystem::path data(const std::string& file);

  // A server with the script's objects, which answers by its rules from now on: the beginning of its time.
  void serve(const sim::FaultScript& script, sim::SimulationOptions options = {});
  // Other rules on the same objects, which begin anew.
  void serve_by(std::vector<sim::FaultRule> rules);
  void load_node(const std::string& name);        // as gpu-a-017 is
  // Runs on the server's thread before each answer.
  std::function<void(const sim::Asked&)> before_answer_;
  std::string check_ = "GpuXidError";             // of events that are made: the rule gpu-fatal; "CordonOnly": cordon-only

  // fault-quarantine with the field's rule file, at the rate that is given. Once more: it reads all events again, and its
  // outcomes go into a new file.
  void start(const std::vector<std::string>& flags = {"--kube-api-qps=-1"});
  std::filesystem::path kubeconfig() const { return folder_.path() / "kubeconfig"; }
  api::ControllerProcess& controller() { return *controller_; }
  void kill();
  Duration stop();                                // SIGTERM; expects exit code 0; how long it took

  // Each step at its time, on this thread, then returns. Steps with `when` are the test's own.
  void play(const sim::FaultScript& script);
  void append_file(const std::string& file);      // events
  void append(const std::string& node);           // a fatal event
  void sleep_until(Duration since_begin) const;
  Duration passed() const { return Clock::real().now() - began_; }

  std::vector<std::string> nodes();
  api::FaultNode node(const std::string& name = "gpu-a-017");
  void change(const std::string& node, const sim::NodeChange& change);
  void await_quarantined(const std::vector<std::string>& nodes, Duration patience = 20s);
  void await_quarantined(const std::string& node = "gpu-a-017", Duration patience = 20s) {
    await_quarantined(std::vector<std::string>{node}, patience);
  }

  // What was asked for about one node: every PATCH and GET, in order.
  std::vector<sim::Asked> asked_of(const std::string& node) const;
  std::vector<int> answers_of(const std::string& node, std::string_view verb = "PATCH") const;
  std::map<std::string, std::vector<sim::Asked>> asked_by_node() const;
  // Of the program that runs now: line of the event -> its outcome. Expects that no line has two.
  std::map<int, Json> outcomes();
  void await_outcomes(std::size_t count);

  const api::TempFolder folder_;
  std::unique_ptr<sim::Simulation> sim_;
  std::optional<sim::Faults> faults_;
  std::unique_ptr<api::ControllerProcess> controller_;
  std::atomic<pid_t> pid_ = 0;                    // for before_answer_

 private:
  std::filesystem::path events() const { return folder_.path() / "events.jsonl"; }
  std::filesystem::path outcome_file() const { return folder_.path() / ("outcomes-" + std::to_string(starts_)); }
  void act(const sim::TimelineAct& act);
  void spread_events(Duration within);

  MonoTime began_;
  int starts_ = 0;
};

}  // namespace nodeward::chaos
