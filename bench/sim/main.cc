// What the simulated server can carry, alone: PATCHes, watch events, and the start with a big fleet. Its CPU time is counted
// alone too, since rates depend on what else runs. Prints a table in markdown; exits 1 when it could not measure, never because
// a figure is bad.
#include <fmt/format.h>
#include <stdlib.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <exception>
#include <thread>

#include "sim/client.h"
#include "sim/server.h"
#include "writes/figures.h"

namespace nodeward::bench {
namespace {

struct Options {
  int rounds = 5;
  int requests = 20'000;        // of a round
  int events = 20'000;
  int nodes = 1000;             // that are patched and watched
  int big_fleet = 100'000;      // 0: left out
};

constexpr int kBatch = 100;     // changes made at a time; the watchers are at most two batches behind

// What one round took of the server.
struct Cost {
  double wall_s = 0;
  double cpu_s = 0;
};

template <class Fn>
Cost cost_of(const ServerProcess& server, Fn run) {
  const double cpu = server.cpu();
  const auto begin = std::chrono::steady_clock::now();
  run();
  return {std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(), server.cpu() - cpu};
}

class Measurement {
 public:
  explicit Measurement(Options options) : options_(options) {}

  void run() {
    fmt::print("| measure | goal a core | CPU µs each: median (all) | a core | wall rate |\n|---|---|---|---|---|\n");
    measure_patches();
    measure_watches();
    if (options_.big_fleet > 0) measure_big_fleet();
    double load[1] = {};
    ::getloadavg(load, 1);
    fmt::print("\n{} rounds of {} requests or {} events, {} nodes; {} cores; load average at the end {:.1f}\n", options_.rounds,
               options_.requests, options_.events, options_.nodes, std::thread::hardware_concurrency(), load[0]);
  }

 private:
  // Prints a row: `count` things happened in each round.
  template <class Fn>
  void rounds(const std::string& measure, const std::string& goal, ServerProcess& server, int count, Fn round) {
    std::vector<double> each;
    std::vector<double> rates;
    round();                    // buffers grow, texts are made
    for (int i = 0; i < options_.rounds; ++i) {
      const Cost cost = cost_of(server, round);
      each.push_back(cost.cpu_s / count * 1e6);
      rates.push_back(count / cost.wall_s);
    }
    fmt::print("| {} | {} | {} | {:.0f} | {:.0f}/s |\n", measure, goal, with_all(each, 1), 1e6 / median(each), median(rates));
    std::fflush(stdout);
  }

  void patches(const std::string& measure, const std::string& goal, ServerProcess& server, PatchLoad load,
               void (*patch)(const PatchLoad&)) {
    load.port = server.port();
    load.count = options_.requests;
    load.node = [&](int number) { return server.node(number % server.nodes()); };
    rounds("PATCH, " + measure, goal, server, load.count, [&] { patch(load); });
  }

  void measure_patches() {
    const std::string goal = ">= 20000";
    {
      ServerProcess server({.nodes = options_.nodes});
      patches("HTTP/2, whole nodes", goal, server, {}, patch_over_http2);
      patches("HTTP/2, metadata", goal, server, {.accept = kMetadata}, patch_over_http2);
      patches("64 connections of HTTP/1.1, whole nodes", "", server, {}, patch_over_http1);
      patches("64 connections of HTTP/1.1, metadata", "", server, {.accept = kMetadata}, patch_over_http1);
    }
    {
      ServerProcess server({.tls = true, .nodes = options_.nodes});
      patches("HTTP/2 over TLS, whole nodes", goal, server, {.tls = true}, patch_over_http2);
      patches("HTTP/2 over TLS, metadata", goal, server, {.tls = true, .accept = kMetadata}, patch_over_http2);
    }
    ServerProcess server({.templates = options_.nodes, .nodes = options_.nodes});
    patches("HTTP/2, whole nodes that share nothing", "", server, {}, patch_over_http2);
  }

  void measure_watches() {
    const std::string goal = ">= 100000";
    ServerProcess server({.nodes = options_.nodes});
    rounds("a node's heartbeat, nobody watches", "", server, options_.events, [&] {
      for (int made = 0; made < options_.events; made += kBatch) server.change(kBatch);
    });
    for (const int watchers : {1, 4}) {
      watches(fmt::format("event of a heartbeat, {} watching, whole nodes", watchers), goal, server, watchers, kWhole);
      watches(fmt::format("event of a heartbeat, {} watching, metadata", watchers), goal, server, watchers, kMetadata);
    }
  }

  // An event is one change told to one watcher.
  void watches(const std::string& measure, const std::string& goal, ServerProcess& server, int count, const char* accept) {
    Watchers watchers(server.port(), count, accept, options_.nodes);
    int made = 0;
    rounds(measure, goal, server, options_.events * count, [&] {
      for (const int end = made + options_.events; made < end; made += kBatch) {
        server.change(kBatch);
        watchers.read_until(static_cast<std::size_t>(made));
      }
      watchers.read_until(static_cast<std::size_t>(made));
    });
  }

  void measure_big_fleet() {
    ServerProcess server({.nodes = options_.big_fleet, .pods_per_node = 2});
    const auto row = [&](const std::string& measure, const std::string& goal, const std::string& value) {
      fmt::print("| {} | {} | {} |\n", measure, goal, value);
      std::fflush(stdout);
    };
    const auto memory = [&] { return fmt::format("{:.0f} MB", server.memory().rss_mb); };
    fmt::print("\n| measure | goal | value |\n|---|---|---|\n");
    row(fmt::format("start with {} nodes and 2 pods each", options_.big_fleet), "<= 5 s",
        fmt::format("{:.2f} s, of it {:.2f} s CPU", server.start_seconds(), server.cpu()));
    row("RSS then", "< 2000 MB", memory());
    PatchLoad load{.port = server.port(), .count = options_.big_fleet, .node = [&](int number) { return server.node(number); }};
    const Cost once = cost_of(server, [&] { patch_over_http2(load); });
    row("PATCH of each node once, whole nodes", "", fmt::format("{:.1f} µs CPU each", once.cpu_s / load.count * 1e6));
    row("RSS then", "< 2000 MB", memory());
    std::unique_ptr<Watchers> watchers;
    const Cost all = cost_of(server,
                             [&] { watchers = std::make_unique<Watchers>(server.port(), 1, kWhole, options_.big_fleet); });
    row("a watch is told of all nodes, whole", "", fmt::format("{:.2f} s, of it {:.2f} s CPU", all.wall_s, all.cpu_s));
    server.change(options_.big_fleet / 4);
    watchers->read_until(static_cast<std::size_t>(options_.big_fleet / 4));
    row("RSS after a watcher that was a quarter of the nodes behind", "< 2000 MB", memory());
  }

  const Options options_;
};

int main(int argc, char** argv) {
  Options options;
  CLI::App app("What the simulated server can carry");
  app.add_option("--rounds", options.rounds, "how often each row is measured")->capture_default_str()->check(CLI::PositiveNumber);
  app.add_option("--requests", options.requests, "PATCHes of a round")->capture_default_str()->check(CLI::PositiveNumber);
  app.add_option("--events", options.events, "changes of a round, told to each watcher")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  app.add_option("--nodes", options.nodes, "nodes that are patched and watched")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  app.add_option("--big-fleet", options.big_fleet, "nodes of the start; 0: left out")->capture_default_str();
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
