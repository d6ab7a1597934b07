#include "sim/simulation.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/base64.h"
#include "base/text.h"
#include "sim/certificate.h"
#include "sim/request_body.h"

namespace nodeward::sim {
namespace {

constexpr Duration kBeatEvery = 50ms;

constexpr std::string_view kKubeconfigHead = "apiVersion: v1\nkind: Config\ncurrent-context: sim\n";

// A kubeconfig that is not a simulation's own would be lost.
bool is_foreign_kubeconfig(const std::filesystem::path& file) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(file, ignored)) return false;
  const std::string text = read_file(file).value_or("");
  return !text.starts_with(kKubeconfigHead) && text.find("clusters") != std::string::npos;
}

Result<> write_private_file(const std::filesystem::path& file, std::string_view text) {
  const auto failed = [&] {
    return fail(ErrorCode::kInvalid, fmt::format("cannot write {}: {}", file.string(), std::strerror(errno)));
  };
  const int fd = ::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0) return failed();
  struct stat status {};
  bool good = ::fstat(fd, &status) == 0;
  if (good && S_ISREG(status.st_mode)) good = ::fchmod(fd, 0600) == 0;     // it may have been there, with another mode
  while (good && !text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    good = written >= 0;
    if (good) text.remove_prefix(static_cast<std::size_t>(written));
  }
  if (!good) {
    const auto error = failed();
    ::close(fd);
    return error;
  }
  return ::close(fd) == 0 ? Result<>() : failed();
}

}  // namespace

Simulation::Simulation(SimulationOptions options, wire::Tls tls, const Clock& clock)
    : options_(std::move(options)),
      tls_(std::move(tls)),
      clock_(clock),
      listener_(listening_.get_future().share()),
      api_({.token = options_.token,
            .other_token = options_.other_token,
            .powerless_token = options_.powerless_token,
            .most_changes = options_.most_changes},
           clock, [this](Duration wait, std::function<void()> task) { listener_.get()->after(wait, std::move(task)); }),
      fleet_(api_.store(), api_.writer(), clock) {}

Result<std::unique_ptr<Simulation>> Simulation::start(SimulationOptions options, const Clock& clock) {
  wire::Tls tls;
  if (options.tls) {
    NW_TRY_ASSIGN(tls, make_certificate(options.address));
  }
  std::unique_ptr<Simulation> made(new Simulation(std::move(options), std::move(tls), clock));
  made->fleet_.create_namespaces();
  const Next next = [sim = made.get()](const std::shared_ptr<wire::Exchange>& exchange) { sim->api_.handle(exchange); };
  auto server = wire::Server::listen({.address = made->options_.address, .port = made->options_.port, .tls = made->tls_},
                                     [sim = made.get(), next](std::shared_ptr<wire::Exchange> exchange) {
                                       if (sim->filter_) return sim->filter_(exchange, next);
                                       next(exchange);
                                     });
  if (!server) return tl::unexpected(std::move(server.error()));
  made->server_ = std::move(*server);
  made->listening_.set_value(made->server_.get());
  if (made->options_.heartbeats_per_s > 0) {
    made->server_->post([sim = made.get()] { sim->beat(sim->clock_.now(), 0); });
  }
  return made;
}

void Simulation::beat(MonoTime since, double owed) {
  const MonoTime now = clock_.now();
  owed += std::chrono::duration<double>(now - since).count() * options_.heartbeats_per_s;
  const auto due = static_cast<std::size_t>(owed);
  fleet_.heartbeat(due);
  server_->after(kBeatEvery, [this, now, left = owed - static_cast<double>(due)] { beat(now, left); });
}

Result<> Simulation::load(const Json& document, const std::string& source) {
  return run_on_loop([&](ApiServer&) { return fleet_.load(document, source); });
}

Result<> Simulation::load_file(const std::filesystem::path& file) {
  NW_TRY_ASSIGN(const std::string text, read_file(file));
  if (too_deep(text)) {
    return fail(ErrorCode::kInvalid, fmt::format("{}: nested deeper than {} levels", file.string(), kMostDepth));
  }
  const auto document = parse_json(text);
  if (!document) return tl::unexpected(in_context(file.string(), document.error()));
  return load(*document, file.string());
}

Result<> Simulation::multiply_nodes(std::size_t wanted) {
  return run_on_loop([&](ApiServer&) { return fleet_.multiply_nodes(wanted); });
}

Result<> Simulation::add_pods(std::size_t per_node) {
  return run_on_loop([&](ApiServer&) { return fleet_.add_pods(per_node); });
}

std::string Simulation::origin() const {
  const bool v6 = options_.address.find(':') != std::string::npos;
  return fmt::format("{}://{}{}{}:{}", options_.tls ? "https" : "http", v6 ? "[" : "", options_.address, v6 ? "]" : "",
                     server_->port());
}

Result<> Simulation::write_kubeconfig(const std::filesystem::path& file) const {
  if (is_foreign_kubeconfig(file)) {
    return fail(ErrorCode::kInvalid,
                fmt::format("{}: is the kubeconfig of something else and is left alone; name another file", file.string()));
  }
  const std::string authority = options_.tls ? fmt::format("\n    certificate-authority-data: {}", encode_base64(ca_pem())) : "";
  return write_private_file(file, fmt::format(R"({}contexts:
- name: sim
  context:
    cluster: sim
    user: sim
clusters:
- name: sim
  cluster:
    server: {}{}
users:
- name: sim
  user:
    token: {}
)",
                                              kKubeconfigHead, origin(), authority, json_quoted(options_.token)));
}

RequestCounters Simulation::counters() {
  return run_on_loop([](ApiServer& api) { return api.counters(); });
}

void Simulation::compact() {
  run_on_loop([](ApiServer& api) { api.store().compact(); });
}

void Simulation::shut() {
  run_on_loop([this](ApiServer&) { server_->shut(); });
}

Result<> Simulation::open_again() {
  return run_on_loop([this](ApiServer& api) {
    api.forget_counters();
    return server_->open_again();
  });
}

void Simulation::after(Duration wait, std::function<void()> task) { server_->after(wait, std::move(task)); }

void Simulation::set_filter(Filter filter) {
  run_on_loop([&](ApiServer&) { filter_ = std::move(filter); });
}

}  // namespace nodeward::sim
