#include "apps/nodeward/sim_command.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <csignal>
#include <cstdio>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "base/text.h"
#include "sim/simulation.h"

namespace nodeward::apps {
namespace {

struct SimArguments {
  std::string listen = "127.0.0.1:0";
  std::vector<std::string> files;
  std::size_t nodes = 0;
  std::size_t pods_per_node = 0;
  double heartbeats = 0;
  std::string kubeconfig;
  bool plain = false;
};

struct Address {
  std::string host;
  int port = 0;
};

Result<Address> parse_listen(const std::string& text) {
  const auto colon = text.rfind(':');
  const auto port = colon == std::string::npos ? std::nullopt : parse_int(text.substr(colon + 1));
  if (!port || *port < 0 || *port > 65535) {
    return fail(ErrorCode::kInvalid,
                fmt::format("--listen: \"{}\" is no address; it takes one like 127.0.0.1:8001, port 0 for a free one", text));
  }
  std::string host = text.substr(0, colon);
  if (host.size() >= 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  return Address{host.empty() ? "127.0.0.1" : host, static_cast<int>(*port)};
}

// Reached from this machine alone.
bool is_loopback(const std::string& host) {
  if (in_addr v4{}; inet_pton(AF_INET, host.c_str(), &v4) == 1) return ntohl(v4.s_addr) >> 24 == 127;
  return host == "localhost" || host == "::1";
}

std::string random_token() {
  std::random_device random;
  return fmt::format("{:08x}{:08x}{:08x}{:08x}", random(), random(), random(), random());
}

Result<std::unique_ptr<sim::Simulation>> start(const SimArguments& arguments) {
  NW_TRY_ASSIGN(const Address address, parse_listen(arguments.listen));
  sim::SimulationOptions options;
  options.address = address.host;
  options.port = address.port;
  options.tls = !arguments.plain;
  options.heartbeats_per_s = arguments.heartbeats;
  if (!is_loopback(address.host)) {
    if (arguments.kubeconfig.empty()) {
      return fail(ErrorCode::kInvalid,
                  fmt::format("--listen: {} can be reached from other machines, so a token made at random is needed to get in: "
                              "say with --write-kubeconfig FILE where to put it",
                              address.host));
    }
    options.token = random_token();
    options.powerless_token = random_token();
  }
  NW_TRY_ASSIGN(auto simulation, sim::Simulation::start(std::move(options)));
  for (const std::string& file : arguments.files) NW_TRY(simulation->load_file(file));
  if (arguments.nodes > 0) NW_TRY(simulation->multiply_nodes(arguments.nodes));
  if (arguments.pods_per_node > 0) NW_TRY(simulation->add_pods(arguments.pods_per_node));
  if (!arguments.kubeconfig.empty()) NW_TRY(simulation->write_kubeconfig(arguments.kubeconfig));
  return simulation;
}

std::size_t count(sim::Simulation& simulation, std::string_view plural) {
  return simulation.run_on_loop([&](sim::ApiServer& api) {
    const sim::Resource* resource = sim::find_resource("", "v1", plural);
    return resource == nullptr ? std::size_t{0} : api.store().shelf(*resource).objects().size();
  });
}

// "" when the flag's text is a rate; CLI::Range would take "nan".
std::string check_rate(const std::string& text) {
  constexpr double kMost = 1e6;
  double rate = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), rate);
  if (error == std::errc() && end == text.data() + text.size() && rate >= 0 && rate <= kMost) return "";
  return fmt::format("\"{}\" is no number from 0 to {}", text, kMost);
}

// A signal ends the start at once, however long that takes; from then on one is waited for. The server's thread blocks them all.
int run(const SimArguments& arguments) {
  std::signal(SIGPIPE, SIG_IGN);
  const auto simulation = start(arguments);
  sigset_t stop;
  sigemptyset(&stop);
  sigaddset(&stop, SIGINT);
  sigaddset(&stop, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &stop, nullptr);
  if (!simulation) {
    fmt::print(stderr, "nodeward sim: {}\n", simulation.error().message);
    return 1;
  }
  fmt::print("nodeward sim: a simulated cluster, no real one, on {}: {} nodes, {} pods\n", (*simulation)->origin(),
             count(**simulation, "nodes"), count(**simulation, "pods"));
  if ((*simulation)->token() != sim::SimulationOptions{}.token)
    fmt::print("It can be reached from other machines; who has the token in {} may do everything.\n", arguments.kubeconfig);
  if (!arguments.kubeconfig.empty() && arguments.plain) fmt::print("kubectl needs TLS: it sends no token in clear text.\n");
  if (!arguments.kubeconfig.empty() && !arguments.plain)
    fmt::print("  kubectl --kubeconfig {} get nodes\n", arguments.kubeconfig);
  fmt::print("It keeps everything in memory and ends with Ctrl-C.\n");
  std::fflush(stdout);
  int number = 0;
  sigwait(&stop, &number);
  return 0;
}

}  // namespace

void add_sim_command(CLI::App& app, int& exit_code) {
  const auto arguments = std::make_shared<SimArguments>();
  CLI::App* sim = app.add_subcommand("sim", "Run a simulated cluster: an API server in memory, for trying things out");
  sim->description(
      "Runs a simulation, not a cluster: an API server in memory that answers as a kube-apiserver does, to programs and to "
      "kubectl. No\n"
      "kubelet, no scheduler and no controller runs behind it. docs/sim.md lists what differs from a real server.");
  sim->add_option(
         "--listen", arguments->listen,
         "Address and port to listen on; port 0 takes a free one. One that other machines reach needs --write-kubeconfig: "
         "its token is made at random")
      ->type_name("ADDR:PORT")
      ->capture_default_str();
  sim->add_option("--load", arguments->files, "What `kubectl get nodes,pods -o json` wrote; may be given several times")
      ->type_name("FILE");
  sim->add_option("--nodes", arguments->nodes, "Copy the loaded nodes, without their pods, until there are so many")
      ->type_name("N")
      ->check(CLI::Range(0, 1'000'000));
  sim->add_option("--pods-per-node", arguments->pods_per_node,
                  "Give each node so many more pods, copies of the loaded ones in turns")
      ->type_name("N")
      ->check(CLI::Range(0, 1'000));
  sim->add_option("--heartbeats", arguments->heartbeats, "Status updates of nodes a second, of all nodes together")
      ->type_name("PER_S")
      ->check(CLI::Validator(check_rate, ""));
  sim->add_option("--write-kubeconfig", arguments->kubeconfig, "Write a kubeconfig for it once it serves")->type_name("FILE");
  sim->add_flag("--plain", arguments->plain, "Clear text instead of TLS");
  sim->callback([arguments, &exit_code] { exit_code = run(*arguments); });
}

}  // namespace nodeward::apps
