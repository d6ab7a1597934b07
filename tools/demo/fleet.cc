#include "demo/fleet.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <stdexcept>
#include <thread>

#include "api/child.h"
#include "api/counters.h"
#include "base/clock.h"
#include "base/text.h"

namespace nodeward::demo {
namespace {

namespace fs = std::filesystem;

const fs::path kExamples = NW_SOURCE_DIR "/tests/data/examples";
constexpr int kPodsPerNode = 2;
constexpr auto kPatience = 10min;

template <class T>
void must(const Result<T>& result) {
  if (!result) throw std::runtime_error(result.error().message);
}

double seconds_since(MonoTime begin) { return std::chrono::duration<double>(Clock::real().now() - begin).count(); }

// One line that is drawn again and again on a terminal, and once at the end elsewhere.
void draw(const std::string& what, long done, long all, double seconds, bool last) {
  if (!last && ::isatty(STDOUT_FILENO) == 0) return;
  constexpr long kWidth = 30;
  const long filled = all == 0 ? kWidth : std::min(kWidth, kWidth * done / all);
  fmt::print("\r  {} [{:#<{}}{:.<{}}] {:>6} of {}, {:.0f} a second{}", what, "", filled, "", kWidth - filled, done, all,
             static_cast<double>(done) / std::max(seconds, 0.001), last ? "\n" : "");
  std::fflush(stdout);
}

// VmHWM of a process, in MB; 0 when it is gone.
long peak_mb(pid_t pid) {
  const std::string text = read_file(fmt::format("/proc/{}/status", pid)).value_or("");
  const auto place = text.find("VmHWM:");
  return place == std::string::npos ? 0 : std::strtol(text.c_str() + place + 6, nullptr, 10) / 1024;
}

struct Work {
  api::Counters asked;
  long peak = 0;
};

// Draws the PATCHes that the server has counted until `done` says that the controller is through.
Work watch(api::SimCluster& cluster, api::Child& controller, const std::string& what, long all,
           const std::function<bool(long patches)>& done) {
  const api::Counters before = cluster.admin().counters();
  const MonoTime begin = Clock::real().now();
  Work work;
  for (bool last = false; !last;) {
    std::this_thread::sleep_for(50ms);  // another process: no clock to fake
    work.peak = std::max(work.peak, peak_mb(controller.pid()));
    work.asked = cluster.admin().counters() - before;
    const long patches = work.asked.count("PATCH", "nodes");
    last = done(patches);
    draw(what, patches, all, seconds_since(begin), last);
    if (!last && seconds_since(begin) > std::chrono::duration<double>(kPatience).count()) {
      throw std::runtime_error(what + " did not come to its end");
    }
  }
  return work;
}

void say_cost(const Work& work, long nodes) {
  const auto each = [&](const char* verb) {
    return static_cast<double>(work.asked.count(verb, "nodes")) / static_cast<double>(nodes);
  };
  fmt::print("    a node: {:.2f} PATCH, {:.2f} GET, {:.2f} PUT; at most {} MB of memory\n\n", each("PATCH"), each("GET"),
             each("PUT"), work.peak);
}

// Nodes that hold our labels already, as read from the example, are right from the start.
void label(api::SimCluster& cluster, int nodes) {
  api::Child labeler(
      {NW_BINARY_DIR "/bin/labeler", "--kubeconfig", cluster.kubeconfig(), "--kube-api-qps=-1", "--metrics-port=0"},
      cluster.folder() / "controllers.log");
  long last = 0;
  MonoTime moved = Clock::real().now();
  const Work work = watch(cluster, labeler, "labelled   ", nodes, [&](long patches) {
    if (!labeler.running()) throw std::runtime_error("the labeler ended");
    if (patches != std::exchange(last, patches)) moved = Clock::real().now();
    return patches >= nodes || (patches > 0 && Clock::real().now() > moved + 2s);
  });
  labeler.stop(30s);
  say_cost(work, std::max(1L, last));
}

std::vector<std::string> write_faults(api::SimCluster& cluster, int faults) {
  std::vector<std::string> names;
  const Json list = cluster.admin().get(fmt::format("/api/v1/nodes?limit={}", faults)).json();
  for (const Json& node : list["items"]) names.push_back(node["metadata"]["name"]);
  const std::string all = read_file(kExamples / "events.jsonl").value_or("");
  Json fault = parse_json(std::string_view(all).substr(0, all.find('\n'))).value();
  std::ofstream file(cluster.folder() / "faults.jsonl");
  for (std::size_t i = 0; i < names.size(); ++i) {
    fault["recordId"] = fmt::format("00000000-0000-4000-8000-{:012x}", i);
    fault["document"]["healthevent"]["nodeName"] = names[i];
    file << to_text(fault) << "\n";
  }
  return names;
}

void quarantine(api::SimCluster& cluster, int faults) {
  const auto names = write_faults(cluster, faults);
  api::Child controller(
      {NW_BINARY_DIR "/bin/fault-quarantine", "--kubeconfig-path", cluster.kubeconfig(), "--config-path",
       kExamples / "fault-quarantine.toml", "--event-source", "file:" + (cluster.folder() / "faults.jsonl").string(),
       "--outcomes", cluster.folder() / "outcomes.jsonl", "--circuit-breaker-enabled=false", "--kube-api-qps=-1",
       "--metrics-port=0"},
      cluster.folder() / "controllers.log");
  const Work work = watch(cluster, controller, "quarantined", static_cast<long>(names.size()),
                          [&](long) { return !controller.running(); });
  say_cost(work, static_cast<long>(names.size()));
  if (controller.exit_code() != 0) throw std::runtime_error("fault-quarantine did not settle every event");
}

}  // namespace

void show_fleet(api::SimCluster& cluster, int nodes) {
  const MonoTime begin = Clock::real().now();
  auto& simulation = cluster.simulation();
  must(simulation.load_file(kExamples / "nodes.json"));
  must(simulation.load_file(kExamples / "labeler-pods.json"));
  must(simulation.multiply_nodes(static_cast<std::size_t>(nodes)));
  must(simulation.add_pods(kPodsPerNode));
  fmt::print(
      "{} nodes and {} pods in {:.1f} s, copies of the examples. Both controllers now work without a limit of their own\n"
      "(--kube-api-qps=-1): what a second brings is what this machine does, server included.\n\n",
      nodes, nodes * kPodsPerNode, seconds_since(begin));
  label(cluster, nodes);
  quarantine(cluster, std::max(1, nodes / 10));
}

}  // namespace nodeward::demo
