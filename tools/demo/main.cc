// demo: a real API server with the example nodes and pods, the labeler at work on it, then what it changed and which calls the
// server counted. Called by scripts/demo.sh, which says where the server's programs are (NODEWARD_TESTBED).
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <stdexcept>
#include <thread>

#include "api/cluster.h"
#include "base/text.h"
#include "demo/show.h"
#include "demo/supervise.h"

namespace nodeward::demo {
namespace {

namespace fs = std::filesystem;

const fs::path kExamples = NW_SOURCE_DIR "/tests/data/examples";
const fs::path kLabeler = NW_BINARY_DIR "/bin/labeler";
const fs::path kKeptLog = NW_BINARY_DIR "/tools/demo/labeler.log";  // of a run that failed

constexpr auto kPatience = 30s;
// After the last node is right: long enough for a second write that should not be, short enough for a reader.
constexpr auto kQuiet = 1s;

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

fs::path log_of(const api::RealCluster& cluster) { return cluster.folder() / "labeler.log"; }

api::Child labeler(const api::RealCluster& cluster, const std::string& how) {
  return api::Child({kLabeler, "--kubeconfig", cluster.kubeconfig(), how}, log_of(cluster));
}

Plan ask_for_plan(const api::RealCluster& cluster, std::size_t nodes) {
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

// The labeler works until every node of the plan has changed; what it asked of the server meanwhile.
api::Counters let_it_work(api::RealCluster& cluster, std::vector<NodeStory>& nodes, const Plan& plan) {
  api::Admin& admin = cluster.admin();
  const api::Counters before = admin.counters();
  api::Child at_work = labeler(cluster, "--metrics-port=0");
  const bool all = await([&] { return !at_work.running() || look_again(admin, nodes) >= plan.nodes_to_change; });
  std::this_thread::sleep_for(kQuiet);
  if (!all || !at_work.running()) throw std::runtime_error("the labeler did not finish its work");
  at_work.stop(kPatience);
  look_again(admin, nodes);
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

void show(api::RealCluster& cluster, MonoTime begin) {
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
  fmt::print("What that cost, by the API server's own counters:\n\n{}\n", call_table(asked, plan.nodes_to_change));
  fmt::print(
      "One PATCH per node, and no read before it: LIST and WATCH feed the cache, once for the whole cluster.\n"
      "NVSentinel's labeler reads a node and writes it back: a GET and a PUT at least, and 4.00 calls per\n"
      "node when 1,000 nodes without labels were measured.\n\n");
  fmt::print("The same on your own cluster, printed only, nothing written:\n\n  {} --kubeconfig ~/.kube/config --print-only\n",
             fs::relative(kLabeler, NW_SOURCE_DIR).string());
}

void start_and_show() {
  const MonoTime begin = Clock::real().now();
  fmt::print("Starting a kube-apiserver and an etcd on 127.0.0.1, for this demo alone.\n");
  api::RealCluster cluster;
  try {
    show(cluster, begin);
  } catch (const std::exception& error) {
    std::error_code none;  // it may have failed before the labeler said anything
    fs::copy_file(log_of(cluster), kKeptLog, fs::copy_options::overwrite_existing, none);
    if (none) throw;
    throw std::runtime_error(fmt::format("{}\ndemo: the labeler's log is {}", error.what(), kKeptLog.string()));
  }
}

int main() {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  ::unsetenv("KUBECONFIG");  // whatever it names is none of the demo's business
  return supervise([] {
    try {
      start_and_show();
      return 0;
    } catch (const std::exception& error) {
      fmt::print(stderr, "demo: {}\n", error.what());
      return 1;
    }
  });
}

}  // namespace
}  // namespace nodeward::demo

int main() { return nodeward::demo::main(); }
