// What a cordon costs, on a real API server: fault-quarantine against a client that only sends the same PATCHes. Prints a table of
// measure, goal and value; exits 1 when it could not measure, never because a figure is bad (the machine may be busy).
#include <fmt/format.h>
#include <stdlib.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <exception>
#include <fstream>
#include <stdexcept>
#include <thread>

#include "api/real_cluster.h"
#include "base/text.h"
#include "cordons/latency.h"
#include "writes/figures.h"
#include "writes/fleet.h"
#include "writes/labeler_run.h"
#include "writes/raw_client.h"

namespace nodeward::bench {
namespace {

using namespace std::chrono_literals;

constexpr int kInFlight = 16;  // what fault-quarantine has at the most: --workers

struct Options {
  int nodes = 1000;
  int pairs = 3;
  int rate_seconds = 40;
  int rss_nodes = 2000;
  int repeats = 10'000;  // events of one node
  int single_events = 300;  // for the latency
  std::string program = NW_BINARY_DIR "/bin/fault-quarantine";
};

double at_rank(std::vector<double> values, double rank) {
  std::sort(values.begin(), values.end());
  return values.at(std::min(values.size() - 1, static_cast<std::size_t>(rank * static_cast<double>(values.size()))));
}

constexpr auto kRules = R"(label-prefix = "ops.example.com/"
[[rule-sets]]
enabled = true
version = "1"
name = "gpu-fatal"
priority = 100
  [[rule-sets.match.all]]
  kind = "HealthEvent"
  expression = "event.agent == 'gpu-health-monitor' && event.componentClass == 'GPU' && event.isFatal"
  [rule-sets.taint]
  key = "gpu.example.com/fault"
  value = "fatal"
  effect = "NoSchedule"
  [rule-sets.cordon]
  shouldCordon = true
)";

std::string event_line(const std::string& node, bool healthy) {
  return fmt::format(
             R"({{"version":1,"agent":"gpu-health-monitor","componentClass":"GPU","checkName":"GpuXidError","isFatal":{},"isHealthy":{},)"
             R"("errorCode":["79"],"entitiesImpacted":[{{"entityType":"GPU","entityValue":"0"}}],"nodeName":"{}","processingStrategy":1}})",
             !healthy, healthy, node) +
         "\n";
}

class Measurement {
 public:
  explicit Measurement(Options options) : options_(std::move(options)) {}

  void run() {
    rules_ = cluster_.folder() / "rules.toml";
    std::ofstream(rules_) << kRules;
    fill(1, options_.nodes);
    first_run();
    for (int pair = 1; pair <= options_.pairs; ++pair) measure_pair(pair);
    sum_up_pairs();
    measure_flood();
    if (options_.rate_seconds > 0) measure_rate();
    measure_memory();
    measure_latency();
    print();
  }

 private:
  void fill(int first, int count) {
    const Fleet fleet = make_fleet(first, count);
    fmt::print(stderr, "making {} nodes of {:.1f} KB\n", count, static_cast<double>(to_text(fleet.nodes[0]).size()) / 1000);
    cluster_.admin().create_nodes(fleet.nodes);
    names_.insert(names_.end(), fleet.names.begin(), fleet.names.end());
    node_json_ = to_text(fleet.nodes[0]);
  }

  // Reads its events to the end and ends; the events of the first `count` nodes are there before it starts.
  struct Run {
    std::vector<double> times;
    double cpu_ms = 0;
    Memory memory;
    api::Counters calls;
  };
  Run cordon(std::size_t count, const std::string& qps) {
    const auto events = cluster_.folder() / fmt::format("events-{}.jsonl", ++runs_);
    std::ofstream file(events);
    for (std::size_t i = 0; i < count; ++i) file << event_line(names_[i], false);
    file.close();
    const api::Counters before = cluster_.admin().counters();
    ControllerRun run(cluster_, options_.program, flags(events, qps), kNodeQuarantined);
    run.wait_for_writes(count);
    std::this_thread::sleep_for(1s);  // what the watch still brings belongs to it
    return {run.write_times(), run.cpu() / static_cast<double>(count) * 1000, run.memory(), cluster_.admin().counters() - before};
  }
  // ?follow: it stays when it has read all, so that what the kernel knows of it can be read.
  std::vector<std::string> flags(const std::filesystem::path& events, const std::string& qps) const {
    return {"--kubeconfig-path=" + cluster_.kubeconfig().string(), "--config-path=" + rules_.string(),
            "--circuit-breaker-enabled=false", fmt::format("--event-source=file:{}?follow", events.string()),
            "--kube-api-qps=" + qps};
  }

  void first_run() {
    const Json before = cluster_.admin().node(names_[0]);
    cordon(1, "-1");
    const Json after = cluster_.admin().node(names_[0]);
    Json patch, back;
    for (const char* map : {"labels", "annotations"}) {
      for (const auto& [key, value] : after["metadata"][map].items()) {
        if (before["metadata"][map].contains(key)) continue;
        patch["metadata"][map][key] = value;
        back["metadata"][map][key] = nullptr;
      }
    }
    patch["spec"] = {{"taints", after["spec"]["taints"]}, {"unschedulable", true}};
    back["spec"] = {{"taints", before["spec"].value("taints", Json::array())}, {"unschedulable", nullptr}};
    body_ = to_text(patch);
    reset_body_ = to_text(back);
    reset();
  }
  RawRun raw(const std::string& body) { return patch_nodes(cluster_, names_, {.body = body, .in_flight = kInFlight}); }
  void reset() { raw(reset_body_); }

  void measure_pair(int number) {
    raw_rates_.push_back(raw(body_).per_second);
    reset();
    const Run run = cordon(names_.size(), "-1");
    rates_.push_back(static_cast<double>(run.times.size() - 1) / (run.times.back() - run.times.front()));
    ratios_.push_back(rates_.back() / raw_rates_.back());
    cpu_ms_.push_back(run.cpu_ms);
    calls_ = run.calls;
    fmt::print(stderr, "pair {}: raw {:.0f}/s, fault-quarantine {:.0f}/s, ratio {:.3f}, own CPU {:.3f} ms a node; calls:\n{}",
               number, raw_rates_.back(), rates_.back(), ratios_.back(), cpu_ms_.back(), calls_.text());
    reset();
  }
  void sum_up_pairs() {
    const auto calls = [&](const char* verb) {
      return static_cast<double>(calls_.count(verb, "nodes")) / static_cast<double>(names_.size());
    };
    add("calls per cordoned node, server's counters", "PATCH 1.00, else 0",
        fmt::format("PATCH {:.2f}, GET {:.2f}, PUT {:.2f}", calls("PATCH"), calls("GET"), calls("PUT")));
    add("fault-quarantine's rate / raw client's", ">= 0.9", with_all(ratios_, 2));
    add("  raw client, nodes/s", "", with_all(raw_rates_, 0));
    add("  fault-quarantine, nodes/s", "", with_all(rates_, 0));
    add("own CPU per cordoned node, ms", "<= 0.5", with_all(cpu_ms_, 2));
  }

  void measure_flood() {
    const auto events = cluster_.folder() / "flood.jsonl";
    std::ofstream file(events);
    for (int i = 0; i < options_.repeats; ++i) file << event_line(names_[0], false);
    file << event_line(names_[1], false);
    file.close();
    const api::Counters before = cluster_.admin().counters();
    ControllerRun run(cluster_, options_.program, flags(events, "-1"), kNodeQuarantined);
    run.wait_for_writes(2);
    std::this_thread::sleep_for(3s);
    const long writes = (cluster_.admin().counters() - before).count("PATCH", "nodes") - 1;  // the other node's
    add(fmt::format("writes for {} events of one node", options_.repeats), "<= 10", std::to_string(writes));
    reset();
  }

  void measure_rate() {
    constexpr std::size_t kBurst = 10;
    const auto wanted = kBurst + static_cast<std::size_t>(options_.rate_seconds) * 5;
    if (names_.size() < wanted) throw std::runtime_error(fmt::format("{} s at 5/s need {} nodes", options_.rate_seconds, wanted));
    const std::vector<double> times = cordon(wanted, "5").times;
    add(fmt::format("cordons/s over {} s at --kube-api-qps 5", options_.rate_seconds), ">= 4.9",
        fmt::format("{:.2f}", static_cast<double>(wanted - kBurst) / (times.back() - times[kBurst - 1])));
    reset();
  }

  void measure_memory() {
    const int more = options_.rss_nodes - static_cast<int>(names_.size());
    if (more > 0) fill(static_cast<int>(names_.size()) + 1, more);
    const Memory memory = cordon(names_.size(), "-1").memory;
    add(fmt::format("RSS at {} nodes, all cordoned, MB", names_.size()), "<= 40, RssAnon <= 15",
        fmt::format("{:.1f} ({:.1f} of it anonymous; peak {:.1f})", memory.rss_mb, memory.anonymous_mb, memory.peak_mb));
  }

  void measure_latency() {
    const std::vector<double> waits = event_to_patch_ms(rules_, names_, node_json_,
                                                        std::min(options_.single_events, static_cast<int>(names_.size())));
    add("event read -> PATCH leaves, idle, ms", "p99 <= 5",
        fmt::format("p50 {:.2f}, p99 {:.2f}", at_rank(waits, 0.5), at_rank(waits, 0.99)));
  }

  void add(std::string measure, std::string goal, std::string value) {
    table_.push_back({std::move(measure), std::move(goal), std::move(value)});
  }
  void print() const {
    double load[1] = {};
    ::getloadavg(load, 1);
    fmt::print("{:<44}{:<22}{}\n", "measure", "goal", "value: median (all)");
    for (const auto& row : table_) fmt::print("{:<44}{:<22}{}\n", row[0], row[1], row[2]);
    fmt::print("{} nodes, {} pairs, {} in flight, {} cores; load average at the end {:.1f}\n", options_.nodes, options_.pairs,
               kInFlight, std::thread::hardware_concurrency(), load[0]);
  }

  const Options options_;
  api::RealCluster cluster_;
  std::filesystem::path rules_;
  std::vector<std::string> names_;
  std::string node_json_, body_, reset_body_;
  int runs_ = 0;
  std::vector<double> raw_rates_, rates_, ratios_, cpu_ms_;
  api::Counters calls_;
  std::vector<std::array<std::string, 3>> table_;
};

int main(int argc, char** argv) {
  Options options;
  CLI::App app("What a cordon costs, on a real API server");
  app.add_option("--nodes", options.nodes, "nodes in the pairs")->capture_default_str();
  app.add_option("--pairs", options.pairs, "times the raw client and fault-quarantine take turns")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  app.add_option("--rate-seconds", options.rate_seconds, "seconds at --kube-api-qps 5; 0: left out")->capture_default_str();
  app.add_option("--rss-nodes", options.rss_nodes, "nodes when memory is read")->capture_default_str();
  app.add_option("--repeats", options.repeats, "events of one node")->capture_default_str();
  app.add_option("--single-events", options.single_events, "events for the latency")->capture_default_str();
  app.add_option("--program", options.program, "the program to measure")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  try {
    Measurement(options).run();
  } catch (const std::exception& error) {
    fmt::print(stderr, "bench: could not measure: {}\n", error.what());
    return 1;
  }
  return 0;
}

}  // namespace
}  // namespace nodeward::bench

int main(int argc, char** argv) { return nodeward::bench::main(argc, argv); }
