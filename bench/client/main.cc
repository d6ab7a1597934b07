// What reading a cluster costs: our reflector beside client-go's informer (bench/client/peer), both from one simulated server, whole
// nodes as JSON over TLS. Prints a table; exits 1 when it could not measure, never because a figure is bad.
//   scripts/bench.sh client [--nodes 10000] [--kilobytes 17] [--peer PROGRAM] [--idle-seconds 60]
#include <fmt/format.h>
#include <malloc.h>
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <thread>

#include "api/child.h"
#include "api/cluster.h"
#include "base/text.h"
#include "kube/client.h"
#include "kube/config/credentials.h"
#include "kube/config/kubeconfig.h"
#include "kube/reflector.h"
#include "net/curl_transport.h"
#include "nodes/node_view.h"
#include "writes/figures.h"
#include "writes/fleet.h"

namespace nodeward::bench {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

struct Options {
  int nodes = 10'000;
  int kilobytes = 17;
  int events = 20'000;
  int rounds = 3;
  int idle_seconds = 60;  // 0: leave it out
  std::string peer;  // empty: ours alone
};

constexpr int kLabels = 48;
constexpr int kWatchedNodes = 1000;
constexpr int kHeartbeats = 4000;  // a second

double own_cpu() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

void wait_for(const char* what, const std::function<bool()>& holds, Duration patience = 120s) {
  const MonoTime end = Clock::real().now() + patience;
  while (!holds()) {
    if (Clock::real().now() > end) throw std::runtime_error(fmt::format("{} did not come", what));
    std::this_thread::sleep_for(2ms);
  }
}

// A node with 48 labels, its host's name among them, whose JSON is as long as asked for: images of its status fill it up.
Json node_template(int kilobytes) {
  Json node = make_fleet(1, 1).nodes.at(0);
  Json& labels = node["metadata"]["labels"];  // the example has more
  const Json hostname = labels.at("kubernetes.io/hostname");
  while (static_cast<int>(labels.size()) >= kLabels) labels.erase(std::prev(labels.end()));
  labels["kubernetes.io/hostname"] = hostname;  // the one value that no two nodes share
  Json& images = node["status"]["images"];
  for (int i = 0; static_cast<int>(to_text(node).size()) < kilobytes * 1000; ++i) {
    images.push_back({{"names",
                       {fmt::format("registry.example.org/team-{}/a-service@sha256:{:064x}", i, i),
                        fmt::format("registry.example.org/team-{}/a-service:v1.{}.0", i, i)}},
                      {"sizeBytes", 104'857'600 + i}});
  }
  return node;
}

// The simulated server as its users start it, in a process of its own, so that its work is not counted as ours.
class Server {
 public:
  Server(const api::TempFolder& folder, const Json& node, int nodes, int heartbeats) : kubeconfig_(folder.path() / "kubeconfig") {
    const fs::path file = folder.path() / "node.json";
    std::ofstream(file) << to_text(node);
    fs::remove(kubeconfig_);
    child_ = api::Child(
        {NW_BINARY_DIR "/bin/nodeward", "sim", "--listen", fmt::format("127.0.0.1:{}", api::free_port()), "--load", file,
         "--nodes", std::to_string(nodes), "--heartbeats", std::to_string(heartbeats), "--write-kubeconfig", kubeconfig_},
        folder.path() / "sim.log");
    wait_for("the simulated server", [&] { return !child_.running() || fs::exists(kubeconfig_); });
    if (!child_.running()) throw std::runtime_error(read_file(folder.path() / "sim.log").value_or("nodeward sim ended"));
  }
  const fs::path& kubeconfig() const { return kubeconfig_; }

 private:
  const fs::path kubeconfig_;
  api::Child child_;
};

// Counts what a reflector reads: bytes on their way up, objects on their way into the cache.
class CountingTransport final : public net::Transport {
 public:
  explicit CountingTransport(std::unique_ptr<net::Transport> below) : below_(std::move(below)) {}
  Result<net::Response> send(const net::Request& request, const std::stop_token& stop) override {
    return below_->send(request, stop);
  }
  Result<std::unique_ptr<net::Stream>> open(const net::Request& request, const std::stop_token& stop) override {
    NW_TRY_ASSIGN(auto stream, below_->open(request, stop));
    return std::make_unique<Counted>(std::move(stream), bytes);
  }
  std::atomic<long> bytes = 0;

 private:
  struct Counted final : net::Stream {
    Counted(std::unique_ptr<net::Stream> from, std::atomic<long>& into) : below(std::move(from)), count(into) {}
    int status() const override { return below->status(); }
    std::optional<std::string_view> header(std::string_view name) const override { return below->header(name); }
    Result<std::optional<std::string>> read(Duration patience, const std::stop_token& stop) override {
      auto chunk = below->read(patience, stop);
      if (chunk && *chunk) count += static_cast<long>((*chunk)->size());
      return chunk;
    }
    std::unique_ptr<net::Stream> below;
    std::atomic<long>& count;
  };
  std::unique_ptr<net::Transport> below_;
};

struct CountingSink final : kube::Sink<kube::Node> {
  nodes::NodeView view{[](const auto&, const auto&) {}};
  std::atomic<long> applied = 0;
  void list_begins() override { view.list_begins(); }
  void apply(kube::Node node) override {
    view.apply(std::move(node));
    ++applied;
  }
  void remove(const kube::Node& last) override { view.remove(last); }
  void unreadable(const kube::Node& who) override { view.unreadable(who); }
  void list_ends(const kube::ResourceVersion& version) override { view.list_ends(version); }
};

// A reflector of whole nodes at work, all labels kept.
class Reader {
 public:
  explicit Reader(const fs::path& kubeconfig)
      : config_(kube::load_kubeconfig(kubeconfig.string()).value()),
        credentials_(config_, Clock::real()),
        transport_(net::make_curl_transport(config_.endpoint)),
        client_(transport_, {.authorization = [this](const std::stop_token& stop) { return credentials_.authorization(stop); }},
                Clock::real()),
        reflector_(client_, kube::Resource{"nodes", "/api/v1/nodes"}, kube::make_node_decoder(selection()), sink, Clock::real()),
        thread_([this](const std::stop_token& stop) { reflector_.run(stop); }) {}

  bool synced() const { return reflector_.synced(); }
  long bytes() const { return transport_.bytes; }
  CountingSink sink;

 private:
  static kube::NodeSelection selection() {
    return {.labels = {.all = true, .keys = {}}, .annotations = {.all = false, .keys = {"quarantineHealthEvent"}}, .spec = true};
  }
  const kube::ClusterConfig config_;
  kube::Credentials credentials_;
  CountingTransport transport_;
  kube::Client client_;
  kube::Reflector<kube::Node> reflector_;
  std::jthread thread_;
};

// What the peer prints, by its "what".
Json run_peer(const Options& options, const fs::path& kubeconfig, int events, const std::string& what) {
  const std::string command = fmt::format("{} -kubeconfig {} -json -events {}", options.peer, kubeconfig.string(), events);
  const std::unique_ptr<FILE, int (*)(FILE*)> out(::popen(command.c_str(), "r"), ::pclose);
  char line[512];
  Json found;
  while (out && std::fgets(line, sizeof line, out.get()) != nullptr) {
    const Json said = parse_json(line).value();
    if (said["what"] == what) found = said;
  }
  if (found.is_null()) throw std::runtime_error("the peer did not come to its end: " + command);
  return found;
}

void row(const std::string& measure, const std::string& goal, const std::string& ours, const std::string& peer) {
  fmt::print("| {} | {} | {} | {} |\n", measure, goal, ours, peer);
}

void measure_list(const Options& options, const api::TempFolder& folder) {
  const Json node = node_template(options.kilobytes);
  const Server server(folder, node, options.nodes, 0);
  std::vector<double> rates, seconds, kept, peer_cpu, own, peer_kept;
  double megabytes = 0;
  for (int round = 0; round < options.rounds; ++round) {
    malloc_trim(0);
    const double heap = static_cast<double>(mallinfo2().uordblks + mallinfo2().hblkhd);
    const double cpu = own_cpu();
    const MonoTime begin = Clock::real().now();
    const Reader reader(server.kubeconfig());
    wait_for("the list", [&] { return reader.synced(); });
    own.push_back(own_cpu() - cpu);
    seconds.push_back(std::chrono::duration<double>(Clock::real().now() - begin).count());
    megabytes = static_cast<double>(reader.bytes()) / 1e6;
    rates.push_back(megabytes / own.back());
    std::this_thread::sleep_for(200ms);  // the list's buffers are given back
    kept.push_back((static_cast<double>(mallinfo2().uordblks + mallinfo2().hblkhd) - heap) / options.nodes);
    if (!options.peer.empty()) {
      const Json said = run_peer(options, server.kubeconfig(), 0, "list");
      peer_cpu.push_back(said["cpu_seconds"]);
      peer_kept.push_back(run_peer(options, server.kubeconfig(), 0, "kept")["rss_mb"].get<double>() * 1e6 / options.nodes);
    }
  }
  const bool peer = !peer_cpu.empty();
  row(fmt::format("list of {} nodes of {:.1f} KB: MB/s per core of own CPU", options.nodes, megabytes * 1e3 / options.nodes),
      ">= 300", with_all(rates, 0), peer ? fmt::format("{:.0f}", megabytes / median(peer_cpu)) : "");
  row("own CPU for it, s", "", with_all(own, 2), peer ? with_all(peer_cpu, 2) : "");
  row("the same, ratio", "", "1", peer ? fmt::format("{:.1f}", median(peer_cpu) / median(own)) : "");
  row("until the cache is full, s", "", with_all(seconds, 2), "");
  row(fmt::format("bytes kept a node, {} labels (peer: RSS after it all)", kLabels), "<= 1,200", with_all(kept, 0),
      peer ? with_all(peer_kept, 0) : "");
}

void measure_watch(const Options& options, const api::TempFolder& folder) {
  const Server server(folder, node_template(options.kilobytes), kWatchedNodes, kHeartbeats);
  std::vector<double> rates, own, peer_cpu;
  for (int round = 0; round < options.rounds; ++round) {
    Reader reader(server.kubeconfig());
    wait_for("the list", [&] { return reader.synced(); });
    const long before = reader.sink.applied, bytes = reader.bytes();
    const double cpu = own_cpu();
    wait_for("the changes", [&] { return reader.sink.applied >= before + options.events; });
    own.push_back((own_cpu() - cpu) * 1e6 / options.events);
    rates.push_back(static_cast<double>(reader.bytes() - bytes) / 1e6 / (own_cpu() - cpu));
    if (!options.peer.empty()) {
      peer_cpu.push_back(run_peer(options, server.kubeconfig(), options.events, "watch")["cpu_seconds"].get<double>() * 1e6 /
                         options.events);
    }
  }
  row(fmt::format("watch, {} heartbeats a second: MB/s per core of own CPU", kHeartbeats), ">= 300", with_all(rates, 0), "");
  row("own CPU an event, us", "", with_all(own, 1), peer_cpu.empty() ? "" : with_all(peer_cpu, 1));
}

void measure_idle(const Options& options, const api::TempFolder& folder) {
  const Server server(folder, node_template(options.kilobytes), kWatchedNodes, 0);
  const Reader reader(server.kubeconfig());
  wait_for("the list", [&] { return reader.synced(); });
  std::this_thread::sleep_for(1s);
  const double cpu = own_cpu();
  std::this_thread::sleep_for(std::chrono::seconds(options.idle_seconds));
  row(fmt::format("own CPU of an idle watch for {} s, ms", options.idle_seconds), "< 50",
      fmt::format("{:.1f}", (own_cpu() - cpu) * 1e3), "");
}

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Reading nodes: the reflector beside client-go's informer");
  app.add_option("--nodes", options.nodes)->capture_default_str();
  app.add_option("--kilobytes", options.kilobytes)->capture_default_str();
  app.add_option("--events", options.events)->capture_default_str();
  app.add_option("--rounds", options.rounds)->capture_default_str();
  app.add_option("--idle-seconds", options.idle_seconds)->capture_default_str();
  app.add_option("--peer", options.peer, "the program built in bench/client/peer");
  CLI11_PARSE(app, argc, argv);
  try {
    const api::TempFolder folder;
    std::setvbuf(stdout, nullptr, _IOLBF, 0);
    fmt::print("| measure | goal | ours | client-go |\n|---|---|---|---|\n");
    measure_list(options, folder);
    measure_watch(options, folder);
    if (options.idle_seconds > 0) measure_idle(options, folder);
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "bench: {}\n", error.what());
    return 1;
  }
}

}  // namespace
}  // namespace nodeward::bench

int main(int argc, char** argv) { return nodeward::bench::main(argc, argv); }
