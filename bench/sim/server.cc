#include "sim/server.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <chrono>
#include <exception>
#include <stdexcept>

#include "sim/simulation.h"
#include "writes/fleet.h"

namespace nodeward::bench {
namespace {

constexpr int kPodTemplates = 2;      // the first node's

template <class T>
bool receive(int fd, T& value) {
  return ::recv(fd, &value, sizeof value, MSG_WAITALL) == static_cast<ssize_t>(sizeof value);
}
template <class T>
bool send(int fd, const T& value) {
  return ::send(fd, &value, sizeof value, MSG_NOSIGNAL) == static_cast<ssize_t>(sizeof value);
}

void must(const Result<>& done) {
  if (!done) throw std::runtime_error(done.error().message);
}

Json list_of(const char* kind, std::vector<Json> items) {
  return {{"kind", kind}, {"apiVersion", "v1"}, {"items", std::move(items)}};
}

}  // namespace

ServerProcess::ServerProcess(const ServerPlan& plan) : plan_(plan) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) throw std::runtime_error("socketpair failed");
  pid_ = ::fork();
  if (pid_ < 0) throw std::runtime_error("fork failed");
  ::close(ends[pid_ == 0 ? 0 : 1]);
  if (pid_ == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    try {
      serve(plan, ends[1]);
      ::_exit(0);
    } catch (const std::exception& error) {
      fmt::print(stderr, "bench: the server: {}\n", error.what());
      ::_exit(1);
    }
  }
  orders_ = ends[0];
  if (!receive(orders_, started_)) throw std::runtime_error("the server did not start");
}

ServerProcess::~ServerProcess() {
  ::close(orders_);
  ::kill(pid_, SIGKILL);        // the memory of 100,000 nodes need not be given back piece by piece
  ::waitpid(pid_, nullptr, 0);
}

void ServerProcess::serve(const ServerPlan& plan, int orders) {
  Fleet fleet = make_fleet(1, plan.templates);
  fleet.pods.resize(kPodTemplates);
  const Json nodes = list_of("NodeList", std::move(fleet.nodes));
  const Json pods = list_of("PodList", std::move(fleet.pods));

  const auto begin = std::chrono::steady_clock::now();
  auto simulation = sim::Simulation::start({.tls = plan.tls});
  if (!simulation) throw std::runtime_error(simulation.error().message);
  must((*simulation)->load(nodes, "nodes"));
  must((*simulation)->multiply_nodes(static_cast<std::size_t>(plan.nodes)));
  if (plan.pods_per_node > 0) must((*simulation)->load(pods, "pods"));
  must((*simulation)->add_pods(static_cast<std::size_t>(plan.pods_per_node)));
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();

  const std::string origin = (*simulation)->origin();
  send(orders, Started{.port = std::stoi(origin.substr(origin.rfind(':') + 1)), .seconds = seconds});
  auto kubelets = (*simulation)->run_on_loop([](sim::ApiServer& api) {
    return std::make_unique<sim::Fleet>(api.store(), api.writer(), Clock::real());
  });
  for (int count = 0; receive(orders, count);) {
    (*simulation)->run_on_loop([&](sim::ApiServer&) { kubelets->heartbeat(static_cast<std::size_t>(count)); });
    send(orders, count);
  }
}

std::string ServerProcess::node(int number) const {
  const std::string model = fmt::format("gpu-{:05}", number % plan_.templates + 1);
  return number < plan_.templates ? model : fmt::format("{}-{:06}", model, number);
}

void ServerProcess::change(int count) {
  if (!send(orders_, count) || !receive(orders_, count)) throw std::runtime_error("the server has ended");
}

double ServerProcess::cpu() const {
  clockid_t clock{};
  timespec time{};
  if (::clock_getcpuclockid(pid_, &clock) != 0 || ::clock_gettime(clock, &time) != 0) {
    throw std::runtime_error("the server has ended");
  }
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

}  // namespace nodeward::bench
