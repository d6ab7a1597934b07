// demo: an API server with the example nodes and pods, the labeler and then fault-quarantine at work on it, what they changed
// and which calls the server counted. The server is the simulated one, or with --real the real one, whose programs scripts/demo.sh
// names (NODEWARD_TESTBED); --nodes N shows a fleet instead (fleet.h).
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <stdexcept>
#include <thread>

#include "api/real_cluster.h"
#include "api/sim_cluster.h"
#include "base/text.h"
#include "demo/fleet.h"
#include "demo/show.h"
#include "demo/supervise.h"

namespace nodeward::demo {
namespace {

namespace fs = std::filesystem;

const fs::path kExamples = NW_SOURCE_DIR "/tests/data/examples";
const fs::path kLabeler = NW_BINARY_DIR "/bin/labeler";
const fs::path kFaultQuarantine = NW_BINARY_DIR "/bin/fault-quarantine";
const fs::path kKeptLog = NW_BINARY_DIR "/tools/demo/controllers.log";  // of a run that failed

constexpr auto kPatience = 30s;
// After the last node is right: long enough for a second write that should not be, short enough for a reader.
constexpr auto kQuiet = 1s;

const std::string kFaultyNode = "gpu-a-001";
// A fault, a second one, a partial and a full recovery; all of that node.
constexpr const char* kHealthEvents[] = {"fatal-gpu0", "soft-thermal", "healthy-gpu0", "healthy-thermal"};

double seconds_since(MonoTime begin) { return std::chrono::duration<double>(Clock::real().now() - begin).count(); }

bool await(const std::function<bool()>& done, Duration patience = kPatience) {
  const MonoTime deadline = Clock::real().now() + patience;
  while (!done()) {
    if (Clock::real().now() > deadline) return false;
    std::this_thread::sleep_for(50ms);  // other processes: no clock to fake
  }
  return true;
}

std::vector<Json> example(const char* file) {
  const auto text = read_file(kExamples / file);
  if (!text) throw std::runtime_error(text.error().message);
  std::vector<Json> items = parse_json(*text).value()["items"];
  for (Json& item : items) item["metadata"].erase("resourceVersion");  // written down from a cluster; a new object has none
  return items;
}

fs::path log_of(const api::Cluster& cluster) { return cluster.folder() / "controllers.log"; }  // of both

api::Child labeler(const api::Cluster& cluster, const std::string& how) {
  return api::Child({kLabeler, "--kubeconfig", cluster.kubeconfig(), how}, log_of(cluster));
}

Plan ask_for_plan(const api::Cluster& cluster, std::size_t nodes) {
  api::Child asked = labeler(cluster, "--print-only");
  if (!await([&] { return !asked.running(); })) throw std::runtime_error("labeler --print-only did not end");
  Plan plan = read_plan(read_file(log_of(cluster)).value_or(""));
  if (plan.nodes != nodes) throw std::runtime_error(fmt::format("labeler --print-only named {} of {} nodes", plan.nodes, nodes));
  return plan;
}

std::vector<NodeStory> stories(api::Admin& admin, const std::vector<Json>& nodes) {
  std::vector<NodeStory> all;
  for (const Json& node : nodes) all.push_back({.before = admin.node(node["metadata"]["name"].get<std::string>()), .after = {}});
  return all;
}

// Fills in what the nodes are now; how many have changed.
std::size_t look_again(api::Admin& admin, std::vector<NodeStory>& all) {
  std::size_t changed = 0;
  for (NodeStory& story : all) {
    story.after = admin.node(story.before["metadata"]["name"].get<std::string>());
    if (story.after["metadata"]["resourceVersion"] != story.before["metadata"]["resourceVersion"]) ++changed;
  }
  return changed;
}

// What a controller that has ended asked of the server.
api::Counters asked_since(const api::Counters& before, api::Admin& admin) {
  api::Counters asked;
  const auto ended = [&](const char* resource) { return asked.count("WATCH", resource) >= asked.count("LIST", resource); };
  await(
      [&] {
        asked = admin.counters() - before;
        return ended("nodes") && ended("pods");  // a watch is counted when the server has noticed its end
      },
      3s);
  return asked;
}

// The labeler works until every node of the plan has changed; what it asked of the server meanwhile.
api::Counters let_it_work(api::Cluster& cluster, std::vector<NodeStory>& nodes, const Plan& plan) {
  api::Admin& admin = cluster.admin();
  const api::Counters before = admin.counters();
  api::Child at_work = labeler(cluster, "--metrics-port=0");
  const bool all = await([&] { return !at_work.running() || look_again(admin, nodes) >= plan.nodes_to_change; });
  std::this_thread::sleep_for(kQuiet);
  if (!all || !at_work.running()) throw std::runtime_error("the labeler did not finish its work");
  at_work.stop(kPatience);
  look_again(admin, nodes);
  return asked_since(before, admin);
}

void show_labeler(api::Cluster& cluster, MonoTime begin) {
  const std::vector<Json> nodes = example("nodes.json");
  const std::vector<Json> pods = example("labeler-pods.json");
  cluster.admin().create_nodes(nodes);
  cluster.admin().create_pods(pods);
  fmt::print("Ready after {:.1f} s, with {} example nodes and {} pods. Now the labeler, which labels nodes by their pods.\n\n",
             seconds_since(begin), nodes.size(), pods.size());

  std::vector<NodeStory> all = stories(cluster.admin(), nodes);
  const Plan plan = ask_for_plan(cluster, nodes.size());
  const api::Counters asked = let_it_work(cluster, all, plan);

  fmt::print(
      "What it changed. Every key begins with nvsentinel.dgxc.nvidia.com/; \"-\" is not there; the bootstrap\n"
      "mark is an annotation, the others are labels.\n\n{}\n",
      change_table(all, plan));
  fmt::print("What that cost, by the API server's own counters:\n\n{}\n", call_table("labeler", asked, plan.nodes_to_change));
  fmt::print(
      "One PATCH per node, and no read before it: one WATCH of each kind fills the cache and keeps it fresh.\n"
      "NVSentinel's labeler reads a node and writes it back: a GET and a PUT at least.\n\n");
}

// ---- fault-quarantine -----------------------------------------------------------------------------------------------------------

std::vector<Json> lines_of(const fs::path& file) {
  std::vector<Json> lines;
  for (const std::string& line : split(read_file(file).value_or(""), '\n')) {
    if (!line.empty()) lines.push_back(parse_json(line).value());
  }
  return lines;
}

Json example_event(std::string_view name) {
  for (const Json& line : lines_of(kExamples / "events.jsonl")) {
    if (line["name"] == name) return line;
  }
  throw std::runtime_error(fmt::format("no event {} among the examples", name));
}

// Sends the events one by one, each when the one before is settled.
std::vector<FaultStep> let_faults_happen(api::Cluster& cluster) {
  const fs::path events = cluster.folder() / "events.jsonl";
  const fs::path outcomes = cluster.folder() / "outcomes.jsonl";
  std::ofstream(events).flush();
  api::Child at_work({kFaultQuarantine, "--kubeconfig-path", cluster.kubeconfig(), "--config-path",
                      kExamples / "fault-quarantine.toml", "--event-source", "file:" + events.string() + "?follow", "--outcomes",
                      outcomes, "--circuit-breaker-enabled=false", "--metrics-port=0"},
                     log_of(cluster));
  api::Admin& admin = cluster.admin();
  std::vector<FaultStep> steps;
  for (const char* name : kHealthEvents) {
    const Json line = example_event(name);
    FaultStep step{
        .event = line["document"]["healthevent"], .outcome = {}, .node = {.before = admin.node(kFaultyNode), .after = {}}};
    const api::Counters before = admin.counters();
    std::ofstream(events, std::ios::app) << to_text(line) + "\n";
    const bool settled = await([&] { return !at_work.running() || lines_of(outcomes).size() > steps.size(); });
    if (!settled || !at_work.running()) throw std::runtime_error(fmt::format("fault-quarantine did not settle {}", name));
    step.outcome = lines_of(outcomes).back();
    step.node.after = admin.node(kFaultyNode);
    step.asked = admin.counters() - before;
    steps.push_back(std::move(step));
  }
  std::this_thread::sleep_for(kQuiet);
  at_work.stop(kPatience);
  return steps;
}

void show_fault_quarantine(api::Cluster& cluster) {
  fmt::print(
      "Now fault-quarantine, which takes faulty nodes out of service. Four health events of {}, each sent\n"
      "when the one before was settled, judged by the rules of tests/data/examples/fault-quarantine.toml:\n\n",
      kFaultyNode);
  const api::Counters before = cluster.admin().counters();
  const std::vector<FaultStep> steps = let_faults_happen(cluster);
  const api::Counters asked = asked_since(before, cluster.admin());
  for (std::size_t i = 0; i < steps.size(); ++i) fmt::print("{}\n", step_text(i + 1, steps[i]));
  fmt::print("What the four cost, by the API server's own counters:\n\n{}\n",
             call_table("fault-quarantine", asked, steps.size()));
  fmt::print("Cordon, taints, labels and the record of the failures (annotations) change in one PATCH, or not at all.\n\n");
}

void show(api::Cluster& cluster, MonoTime begin) {
  show_labeler(cluster, begin);
  show_fault_quarantine(cluster);
  const auto program = [](const fs::path& path) { return fs::relative(path, NW_SOURCE_DIR).string(); };
  fmt::print(
      "The same on your own cluster, printed only, nothing written:\n\n"
      "  {} --kubeconfig ~/.kube/config --print-only\n"
      "  {} --kubeconfig-path ~/.kube/config --config-path RULES --event-source file:EVENTS --print-only\n",
      program(kLabeler), program(kFaultQuarantine));
}

struct Arguments {
  bool real = false;
  int nodes = 0;
};

void show_on(api::Cluster& cluster, const std::function<void()>& what) {
  try {
    what();
  } catch (const std::exception& error) {
    std::error_code none;  // it may have failed before a controller said anything
    fs::copy_file(log_of(cluster), kKeptLog, fs::copy_options::overwrite_existing, none);
    if (none) throw;
    throw std::runtime_error(fmt::format("{}\ndemo: the controllers' log is {}", error.what(), kKeptLog.string()));
  }
}

void start_and_show(const Arguments& arguments) {
  const MonoTime begin = Clock::real().now();
  if (arguments.real) {
    fmt::print("Starting a kube-apiserver and an etcd on 127.0.0.1, for this demo alone.\n");
    api::RealCluster cluster;
    return show_on(cluster, [&] { show(cluster, begin); });
  }
  fmt::print("A simulated API server (nodeward sim) on 127.0.0.1, for this demo alone; `make demo-real` has a real one.\n");
  api::SimCluster cluster;
  show_on(cluster, [&] { arguments.nodes > 0 ? show_fleet(cluster, arguments.nodes) : show(cluster, begin); });
}

int main(int argc, char** argv) {
  Arguments arguments;
  CLI::App app("What the labeler and fault-quarantine do, on a cluster of its own", "demo");
  app.add_flag("--real", arguments.real, "On a real kube-apiserver and etcd");
  app.add_option("--nodes", arguments.nodes, "A fleet of so many nodes on the simulated server")->check(CLI::Range(1, 100'000));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  ::unsetenv("KUBECONFIG");  // whatever it names is none of the demo's business
  return supervise([&] {
    try {
      start_and_show(arguments);
      return 0;
    } catch (const std::exception& error) {
      fmt::print(stderr, "demo: {}\n", error.what());
      return 1;
    }
  });
}

}  // namespace
}  // namespace nodeward::demo

int main(int argc, char** argv) { return nodeward::demo::main(argc, argv); }
