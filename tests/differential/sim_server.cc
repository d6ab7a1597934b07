#include "differential/sim_server.h"

#include <fmt/format.h>

#include <optional>
#include <stdexcept>

#include "api/certificates.h"
#include "sim/api_server.h"
#include "sim/wire/server.h"

namespace nodeward::differential {

struct SimServer::Impl {
  std::optional<sim::ApiServer> api;
  std::unique_ptr<sim::wire::Server> server;      // ends first: its loop uses `api`
};

SimServer::SimServer() : impl_(new Impl) {
  const api::Certificates certificates = api::make_certificates();
  origin_.token = "admin-token";
  origin_.powerless_token = "powerless-token";
  origin_.endpoint.ca_pem = certificates.ca_cert;
  impl_->api.emplace(sim::ApiOptions{.token = origin_.token, .powerless_token = origin_.powerless_token}, Clock::real(),
                     [this](Duration wait, std::function<void()> task) { impl_->server->after(wait, std::move(task)); });
  populate();
  auto server = sim::wire::Server::listen({.tls = {certificates.server_cert, certificates.server_key}},
                                          [this](auto exchange) { impl_->api->handle(exchange); });
  if (!server) throw std::runtime_error(server.error().message);
  impl_->server = *std::move(server);
  origin_.endpoint.origin = fmt::format("https://127.0.0.1:{}", impl_->server->port());
}

// The namespaces that every cluster has, and a past: version 1 is long gone.
void SimServer::populate() {
  for (const char* name : {"default", "kube-node-lease", "kube-public", "kube-system"}) {
    impl_->api->writer().load(*sim::find_resource("", "v1", "namespaces"), sim::Doc::from({{"metadata", {{"name", name}}}}));
  }
  impl_->api->store().compact();
}

SimServer::~SimServer() = default;

}  // namespace nodeward::differential
