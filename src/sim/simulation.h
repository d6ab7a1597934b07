// A simulated cluster that runs: the API server in memory on its own port and thread, with the objects it was given. For tests,
// measurements, the demo and `nodeward sim`. See docs/sim.md.
//   NW_TRY_ASSIGN(const auto sim, Simulation::start({}));
//   NW_TRY(sim->load_file("nodes.json"));
//   NW_TRY(sim->multiply_nodes(1000));
//   NW_TRY(sim->write_kubeconfig("kubeconfig"));
// Any thread but the server's own.
#pragma once

#include <filesystem>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "sim/api_server.h"
#include "sim/fleet.h"
#include "sim/wire/server.h"

namespace nodeward::sim {

struct SimulationOptions {
  std::string address = "127.0.0.1";
  int port = 0;                                   // 0: a free one
  bool tls = true;
  std::string token = "sim-token";
  std::string other_token = {};                   // as good as `token`; empty: there is none
  std::string powerless_token = "sim-powerless-token";
  std::size_t most_changes = 50'000;              // remembered per resource
  double heartbeats_per_s = 0;                    // of all nodes together
};

class Simulation {
 public:
  using Next = std::function<void(const std::shared_ptr<wire::Exchange>&)>;
  // Sees each request first, on the server's thread; next(exchange) answers it as a normal server does.
  using Filter = std::function<void(const std::shared_ptr<wire::Exchange>&, const Next& next)>;

  // Listening, with the namespaces that every cluster has and nothing else. A port in use is an Error that names it.
  static Result<std::unique_ptr<Simulation>> start(SimulationOptions options, const Clock& clock = Clock::real());

  Result<> load(const Json& document, const std::string& source);
  Result<> load_file(const std::filesystem::path& file);
  Result<> multiply_nodes(std::size_t wanted);    // see Fleet
  Result<> add_pods(std::size_t per_node);

  std::string origin() const;                     // "https://127.0.0.1:43210"
  const std::string& token() const { return options_.token; }
  const std::string& powerless_token() const { return options_.powerless_token; }
  const std::string& ca_pem() const { return tls_.certificate_pem; }
  Result<> write_kubeconfig(const std::filesystem::path& file) const;       // readable by its owner alone

  RequestCounters counters();
  void compact();                                 // versions so far are forgotten: 410
  void shut();                                    // every connection is closed and new ones are refused
  Result<> open_again();                          // on the same port; requests are counted from zero
  void set_filter(Filter filter);
  void after(Duration wait, std::function<void()> task);    // on the server's thread; dropped when the server ends

  // Runs fn(ApiServer&) on the server's thread and returns what it returns.
  template <class Fn>
  auto run_on_loop(Fn fn) -> decltype(fn(std::declval<ApiServer&>())) {
    std::packaged_task<decltype(fn(std::declval<ApiServer&>()))()> task([&] { return fn(api_); });
    auto done = task.get_future();
    server_->post([&task] { task(); });
    return done.get();
  }

 private:
  Simulation(SimulationOptions options, wire::Tls tls, const Clock& clock);
  void beat(MonoTime since, double owed);

  const SimulationOptions options_;
  const wire::Tls tls_;
  const Clock& clock_;
  std::promise<wire::Server*> listening_;
  const std::shared_future<wire::Server*> listener_;      // the loop runs before start() has the server in hand
  Filter filter_;
  ApiServer api_;
  Fleet fleet_;
  std::unique_ptr<wire::Server> server_;          // last: its thread ends before what it uses
};

}  // namespace nodeward::sim
