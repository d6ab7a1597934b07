// What a node write costs, on a real API server: the labeler against a client that only sends the same PATCHes. Prints a table
// of measure, goal and value; exits 1 when it could not measure, never because a figure is bad (the machine may be busy).
#include <fmt/format.h>
#include <stdlib.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <exception>
#include <optional>
#include <stdexcept>
#include <thread>

#include "api/real_cluster.h"
#include "writes/figures.h"
#include "writes/fleet.h"
#include "writes/labeler_run.h"
#include "writes/raw_client.h"

namespace nodeward::bench {
namespace {

using namespace std::chrono_literals;

struct Options {
  int nodes = 1000;
  int pairs = 5;
  int rate_seconds = 40;        // 0: leave --kube-api-qps 5 out
  int rss_nodes = 2000;         // as many as `nodes` or fewer: the memory of the last run counts
  std::string accept = "application/json";
  std::string labeler = NW_BINARY_DIR "/bin/labeler";
};

constexpr int kInFlight = 16;    // what the labeler has at the most: --workers

struct Row {
  std::string measure, goal, value;
};

double rate(const std::vector<double>& times) { return static_cast<double>(times.size() - 1) / (times.back() - times.front()); }

// The merge patch from `before` to `after` in labels and annotations, or back.
Json difference(const Json& before, const Json& after, bool back) {
  Json patch = Json::object();
  for (const char* map : {"labels", "annotations"}) {
    for (const auto& [key, value] : after["metadata"][map].items()) {
      if (before["metadata"][map].contains(key)) continue;
      patch["metadata"][map][key] = back ? Json() : value;
    }
  }
  return patch;
}

class Measurement {
 public:
  explicit Measurement(Options options) : options_(std::move(options)) {}

  void run() {
    fill(1, options_.nodes);
    first_run();
    for (int pair = 1; pair <= options_.pairs; ++pair) measure_pair(pair);
    sum_up_pairs();
    measure_memory();
    measure_restart();
    if (options_.rate_seconds > 0) measure_rate();
    print();
  }

 private:
  void fill(int first, int count) {
    const Fleet fleet = make_fleet(first, count);
    fmt::print(stderr, "making {} nodes of {:.1f} KB, two pods each\n", count,
               static_cast<double>(to_text(fleet.nodes[0]).size()) / 1000);
    cluster_.admin().create_nodes(fleet.nodes);
    cluster_.admin().create_pods(fleet.pods);
    names_.insert(names_.end(), fleet.names.begin(), fleet.names.end());
  }

  // Not counted: it warms the server up, and shows which PATCH the labeler sends, so that the raw client can send the same.
  void first_run() {
    const Json before = cluster_.admin().node(names_[0]);
    LabelerRun(cluster_, options_.labeler, {"--kube-api-qps=-1"}).wait_for_writes(names_.size());
    const Json after = cluster_.admin().node(names_[0]);
    body_ = to_text(difference(before, after, false));
    reset_body_ = to_text(difference(before, after, true));
    fmt::print(stderr, "the PATCH: {}\n", body_);
    reset();
  }

  RawRun raw(const std::string& body) {
    return patch_nodes(cluster_, names_, {.body = body, .in_flight = kInFlight, .accept = options_.accept});
  }
  void reset() { raw(reset_body_); }
  double server_cpu() const { return cpu_seconds(cluster_.api_server_pid()); }

  void measure_pair(int number) {
    const auto count = static_cast<double>(names_.size());
    const double server = server_cpu();
    const double own = cpu_seconds(::getpid());
    const RawRun plain = raw(body_);
    raw_cpu_ms_.push_back((cpu_seconds(::getpid()) - own) / count * 1000);
    raw_server_ms_.push_back((server_cpu() - server) / count * 1000);
    raw_rates_.push_back(plain.per_second);
    answer_kb_ = plain.answer_kb;
    reset();

    label_all();
    ratios_.push_back(rates_.back() / raw_rates_.back());
    fmt::print(stderr, "pair {}: raw {:.0f}/s, labeler {:.0f}/s, ratio {:.3f}, own CPU {:.3f} ms a node; calls:\n{}", number,
               raw_rates_.back(), rates_.back(), ratios_.back(), cpu_ms_.back(), calls_.text());
    reset();
  }

  // The labeler is gone at the end: it would undo the reset.
  void label_all() {
    const auto count = static_cast<double>(names_.size());
    const double server = server_cpu();
    const api::Counters before = cluster_.admin().counters();
    LabelerRun labeler(cluster_, options_.labeler, {"--kube-api-qps=-1"});
    labeler.wait_for_writes(names_.size());
    std::this_thread::sleep_for(500ms);    // what the watches still bring belongs to it
    cpu_ms_.push_back(labeler.cpu() / count * 1000);
    switches_.push_back(labeler.switches() / count);
    server_ms_.push_back((server_cpu() - server) / count * 1000);
    calls_ = cluster_.admin().counters() - before;
    rates_.push_back(rate(labeler.write_times()));
  }

  void sum_up_pairs() {
    const auto count = static_cast<double>(names_.size());
    const auto calls = [&](const char* verb) { return static_cast<double>(calls_.count(verb, "nodes")) / count; };
    table_.push_back({"calls per node, server's counters", "PATCH 1.00, else 0",
                      fmt::format("PATCH {:.2f}, GET {:.2f}, PUT {:.2f}", calls("PATCH"), calls("GET"), calls("PUT"))});
    table_.push_back({"labeler's rate / raw client's", ">= 0.9", with_all(ratios_, 2)});
    table_.push_back({"  raw client, nodes/s", "", with_all(raw_rates_, 0)});
    table_.push_back({"  labeler, nodes/s", "", with_all(rates_, 0)});
    table_.push_back({"labeler's own CPU per node, ms", "<= 0.5", with_all(cpu_ms_, 2)});
    table_.push_back({"  its context switches per node", "", with_all(switches_, 1)});
    table_.push_back({"  raw client's own CPU per node, ms", "", with_all(raw_cpu_ms_, 2)});
    table_.push_back({"  server's CPU per node, ms: raw", "", with_all(raw_server_ms_, 1)});
    table_.push_back({"  server's CPU per node, ms: labeler", "", with_all(server_ms_, 1)});
    table_.push_back({"  answer to a PATCH, KB", "", fmt::format("{:.1f}", answer_kb_)});
  }

  void measure_memory() {
    const int more = options_.rss_nodes - static_cast<int>(names_.size());
    if (more > 0) fill(static_cast<int>(names_.size()) + 1, more);
    LabelerRun labeler(cluster_, options_.labeler, {"--kube-api-qps=-1"});
    labeler.wait_for_writes(names_.size());
    std::this_thread::sleep_for(3s);
    const Memory memory = labeler.memory();
    table_.push_back(
        {fmt::format("labeler's RSS at {} nodes, MB", names_.size()), "<= 25",
         fmt::format("{:.1f} ({:.1f} of it anonymous; peak {:.1f})", memory.rss_mb, memory.anonymous_mb, memory.peak_mb)});
  }

  void measure_restart() {
    const api::Counters before = cluster_.admin().counters();
    LabelerRun labeler(cluster_, options_.labeler, {"--kube-api-qps=-1"});
    labeler.wait_until_synced();
    std::this_thread::sleep_for(2s);
    const api::Counters calls = cluster_.admin().counters() - before;
    table_.push_back({fmt::format("restart, all {} nodes right: writes", names_.size()), "0",
                      fmt::format("{}", calls.count("PATCH", "nodes"))});
    const Memory memory = labeler.memory();
    table_.push_back(
        {"  RSS after it, MB", "", fmt::format("{:.1f} ({:.1f} of it anonymous)", memory.rss_mb, memory.anonymous_mb)});
  }

  // The rate once the burst is used up.
  void measure_rate() {
    constexpr std::size_t kBurst = 10;
    constexpr double kPerSecond = 5;
    const auto wanted = kBurst + static_cast<std::size_t>(options_.rate_seconds * kPerSecond);
    if (names_.size() < wanted) throw std::runtime_error(fmt::format("{} s at 5/s need {} nodes", options_.rate_seconds, wanted));
    reset();
    LabelerRun labeler(cluster_, options_.labeler, {"--kube-api-qps=5"});
    labeler.wait_for_writes(kBurst);
    std::this_thread::sleep_for(std::chrono::seconds(options_.rate_seconds + 1));
    const std::vector<double> times = labeler.write_times();
    const double begin = times.at(kBurst - 1);
    const auto in_time = std::count_if(times.begin() + kBurst, times.end(),
                                       [&](double time) { return time <= begin + options_.rate_seconds; });
    table_.push_back({fmt::format("nodes/s over {} s at --kube-api-qps 5", options_.rate_seconds), ">= 4.9",
                      fmt::format("{:.2f}", static_cast<double>(in_time) / options_.rate_seconds)});
  }

  void print() const {
    double load[1] = {};
    ::getloadavg(load, 1);
    fmt::print("{:<44}{:<21}{}\n", "measure", "goal", "value: median (all)");
    for (const Row& row : table_) fmt::print("{:<44}{:<21}{}\n", row.measure, row.goal, row.value);
    fmt::print("{} nodes, {} pairs, {} in flight, {} cores; load average at the end {:.1f}\n", options_.nodes, options_.pairs,
               kInFlight, std::thread::hardware_concurrency(), load[0]);
  }

  const Options options_;
  api::RealCluster cluster_;
  std::vector<std::string> names_;
  std::string body_, reset_body_;
  std::vector<double> raw_rates_, rates_, ratios_, cpu_ms_, switches_, raw_cpu_ms_, raw_server_ms_, server_ms_;
  double answer_kb_ = 0;
  api::Counters calls_;
  std::vector<Row> table_;
};

int main(int argc, char** argv) {
  Options options;
  CLI::App app("What a node write costs, on a real API server");
  app.add_option("--nodes", options.nodes, "nodes in the pairs")->capture_default_str();
  app.add_option("--pairs", options.pairs, "times the raw client and the labeler take turns")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  app.add_option("--rate-seconds", options.rate_seconds, "seconds at --kube-api-qps 5; 0: left out")->capture_default_str();
  app.add_option("--rss-nodes", options.rss_nodes, "nodes when memory is read")->capture_default_str();
  app.add_option("--accept", options.accept, "what the raw client asks for")->capture_default_str();
  app.add_option("--labeler", options.labeler, "the program to measure")->capture_default_str();
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
