#include "chaos/program_on_sim.h"

#include <fmt/format.h>
#include <signal.h>

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <stdexcept>

#include "base/overload.h"
#include "base/text.h"
#include "sim/resources.h"

namespace nodeward::chaos {
namespace {

namespace fs = std::filesystem;

template <class T>
T expect(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message);
  return *std::move(result);
}
void expect(const Result<>& result) {
  if (!result) throw std::runtime_error(result.error().message);
}

const sim::Resource& node_resource() { return *sim::find_resource("", "v1", "nodes"); }

}  // namespace

bool is_long() { return std::getenv("NODEWARD_LONG") != nullptr; }

void ProgramOnSim::TearDown() {
  if (controller_ != nullptr && controller_->running()) stop();
  if (HasFailure() && controller_ != nullptr) std::cout << controller_->output();
  controller_.reset();
}

fs::path ProgramOnSim::data(const std::string& file) {
  const std::string_view inside = file.starts_with("a/") ? std::string_view(file).substr(2) : file;
  return fs::path(NW_SOURCE_DIR "/tests/data") / inside;
}

sim::FaultScript ProgramOnSim::script(const std::string& name) {
  auto script = expect(sim::read_fault_script(data("http/" + name + ".json")));
  for (std::string& object : script.objects) object = data(object);
  if (script.generated) script.generated->from = data(script.generated->from);
  return script;
}

void ProgramOnSim::serve(const sim::FaultScript& script, sim::SimulationOptions options) {
  sim_ = expect(sim::Simulation::start(std::move(options)));
  expect(sim::load_objects(*sim_, script, ""));
  expect(sim_->write_kubeconfig(kubeconfig()));
  std::ofstream(events()).flush();
  serve_by(script.rules);
}

void ProgramOnSim::serve_by(std::vector<sim::FaultRule> rules) {
  faults_.reset();
  began_ = Clock::real().now();
  faults_.emplace(*sim_, std::move(rules), [this](const sim::Asked& asked) {
    if (before_answer_) before_answer_(asked);
  });
}

void ProgramOnSim::load_node(const std::string& name) {
  const fs::path file = data("nodes/node-three-foreign-taints.json");
  Json node = expect(parse_json(expect(read_file(file))));
  node["metadata"]["name"] = name;
  node["metadata"].erase("uid");
  expect(sim_->load(node, file));
}

void ProgramOnSim::start(const std::vector<std::string>& flags) {
  ++starts_;
  std::vector<std::string> all = {"--kubeconfig-path=" + kubeconfig().string(),
                                  "--config-path=" + data("config/fq-base.toml").string(),
                                  fmt::format("--event-source=file:{}?follow", events().string()),
                                  "--outcomes=" + outcome_file().string(), "--circuit-breaker-enabled=false"};
  all.insert(all.end(), flags.begin(), flags.end());
  controller_ = std::make_unique<api::ControllerProcess>("fault-quarantine", folder_.path(), all);
  pid_ = controller_->pid();
}

void ProgramOnSim::kill() {
  ::kill(controller().pid(), SIGKILL);
  controller().wait_for_exit();
}

Duration ProgramOnSim::stop() {
  const MonoTime asked = Clock::real().now();
  EXPECT_EQ(controller().stop(), 0);
  return Clock::real().now() - asked;
}

void ProgramOnSim::sleep_until(Duration since_begin) const {
  std::this_thread::sleep_for(since_begin - passed());  // other processes: no clock to fake
}

void ProgramOnSim::play(const sim::FaultScript& script) {
  for (const sim::TimelineStep& step : script.timeline) {
    if (!step.when.empty()) continue;
    sleep_until(step.at);
    act(step.act);
  }
}

void ProgramOnSim::act(const sim::TimelineAct& act) {
  std::visit(Overload{[&](const sim::PlayEvents& events) { append_file(events.file); },
                      [&](const sim::EventPerNode& events) { spread_events(events.within); },
                      [&](const sim::PatchNode& patch) { change(patch.node, patch.change); },
                      [&](const sim::RestartServer& restart) {
                        sim_->shut();
                        std::this_thread::sleep_for(restart.away);
                        expect(sim_->open_again());
                      },
                      [&](sim::Signal signal) {
                        if (signal == sim::Signal::kStart) return start();
                        signal == sim::Signal::kKill ? kill() : static_cast<void>(stop());
                      }},
             act);
}

void ProgramOnSim::spread_events(Duration within) {
  const Duration begin = passed();
  const auto all = nodes();
  for (std::size_t i = 0; i < all.size(); ++i) {
    sleep_until(begin + within * static_cast<long>(i) / static_cast<long>(all.size()));
    append(all[i]);
  }
}

void ProgramOnSim::append_file(const std::string& file) {
  std::string text = expect(read_file(data(file)));
  if (!text.ends_with('\n')) text += '\n';
  std::ofstream(events(), std::ios::app) << text;
}

void ProgramOnSim::append(const std::string& node) {
  Json event = api::lines_of("events/one-fatal.jsonl").at(0);
  event["nodeName"] = node;
  event["checkName"] = check_;
  std::ofstream(events(), std::ios::app) << to_text(event) << '\n';
}

std::vector<std::string> ProgramOnSim::nodes() {
  return sim_->run_on_loop([](sim::ApiServer& server) {
    std::vector<std::string> names;
    for (const auto& [name, object] : server.store().shelf(node_resource()).objects()) names.push_back(name);
    return names;
  });
}

api::FaultNode ProgramOnSim::node(const std::string& name) {
  return api::FaultNode(sim_->run_on_loop([&](sim::ApiServer& server) {
    const sim::Doc* found = server.store().find(node_resource(), name);
    return found != nullptr ? found->json() : throw std::runtime_error("no node " + name);
  }));
}

void ProgramOnSim::change(const std::string& node, const sim::NodeChange& change) {
  expect(sim_->run_on_loop([&](sim::ApiServer& server) { return sim::change_node(server, node, change); }));
}

void ProgramOnSim::await_quarantined(const std::vector<std::string>& nodes, Duration patience) {
  for (const std::string& name : nodes) {
    controller().await(
        "the quarantine of " + name, [&] { return node(name).cordoned(); }, patience);
  }
}

std::vector<sim::Asked> ProgramOnSim::asked_of(const std::string& node) const {
  std::vector<sim::Asked> all = faults_->asked();
  std::erase_if(all, [&](const sim::Asked& asked) { return asked.path != "/api/v1/nodes/" + node; });
  return all;
}

std::vector<int> ProgramOnSim::answers_of(const std::string& node, std::string_view verb) const {
  std::vector<int> answers;
  for (const sim::Asked& asked : asked_of(node)) {
    if (asked.verb == verb) answers.push_back(asked.status);
  }
  return answers;
}

std::map<std::string, std::vector<sim::Asked>> ProgramOnSim::asked_by_node() const {
  constexpr std::string_view kNodes = "/api/v1/nodes/";
  std::map<std::string, std::vector<sim::Asked>> by_node;
  for (sim::Asked& asked : faults_->asked()) {
    if (asked.path.starts_with(kNodes)) by_node[asked.path.substr(kNodes.size())].push_back(std::move(asked));
  }
  return by_node;
}

std::map<int, Json> ProgramOnSim::outcomes() {
  std::map<int, Json> by_line;
  std::ifstream file(outcome_file());
  for (std::string line; std::getline(file, line) && !file.eof();) {  // at the end of file: not whole yet
    const Json outcome = expect(parse_json(line));
    EXPECT_TRUE(by_line.emplace(outcome["line"].get<int>(), outcome).second) << "settled twice: " << line;
  }
  return by_line;
}

void ProgramOnSim::await_outcomes(std::size_t count) {
  controller().await(
      fmt::format("{} outcomes", count), [&] { return outcomes().size() >= count; }, 20s);
}

}  // namespace nodeward::chaos
