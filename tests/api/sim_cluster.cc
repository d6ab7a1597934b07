#include "api/sim_cluster.h"

#include <fmt/format.h>

#include <fstream>
#include <future>
#include <optional>
#include <stdexcept>

#include "api/certificates.h"
#include "sim/api_server.h"
#include "sim/wire/server.h"

namespace nodeward::api {

const std::string SimCluster::kAdminToken = "test-admin-token";
const std::string SimCluster::kPowerlessToken = "test-powerless-token";

struct SimCluster::Parts {
  std::optional<sim::ApiServer> api;
  std::unique_ptr<sim::wire::Server> server;  // ends first: its loop calls `api`

  // Runs on the loop and waits for its end.
  template <class Task>
  auto on_loop(Task task) {
    std::packaged_task<decltype(task())()> packed(std::move(task));
    auto done = packed.get_future();
    server->post([&packed] { packed(); });
    return done.get();
  }
};

SimCluster::SimCluster() : parts_(new Parts) {
  const Certificates certificates = make_certificates();
  ca_cert_ = certificates.ca_cert;
  parts_->api.emplace(sim::ApiOptions{.token = kAdminToken, .powerless_token = kPowerlessToken}, Clock::real(),
                      [this](Duration wait, std::function<void()> task) { parts_->server->after(wait, std::move(task)); });
  auto server = sim::wire::Server::listen({.port = free_port(), .tls = {certificates.server_cert, certificates.server_key}},
                                          [this](auto exchange) { parts_->api->handle(exchange); });
  if (!server) throw std::runtime_error(server.error().message);
  parts_->server = *std::move(server);
  origin_ = fmt::format("https://127.0.0.1:{}", parts_->server->port());
  admin_ = std::make_unique<Admin>(origin_, ca_cert_, kAdminToken);
  std::ofstream(kubeconfig()) << fmt::format(
      R"(apiVersion: v1
kind: Config
current-context: test
contexts:
- name: test
  context: {{cluster: test, user: admin}}
clusters:
- name: test
  cluster:
    server: {}
    certificate-authority-data: {}
users:
- name: admin
  user: {{token: {}}}
)",
      origin_, base64(ca_cert_), kAdminToken);
}

SimCluster::~SimCluster() = default;

void SimCluster::kill_api_server() {
  parts_->on_loop([this] { parts_->server->shut(); });
  serves_ = false;
}

void SimCluster::start_api_server() {
  if (serves_) return;
  const Result<> open = parts_->on_loop([this] { return parts_->server->open_again(); });
  if (!open) throw std::runtime_error(open.error().message);
  serves_ = true;
}

}  // namespace nodeward::api
