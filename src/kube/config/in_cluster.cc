#include "kube/config/in_cluster.h"

#include <fmt/format.h>

#include <string_view>

#include "base/text.h"
#include "kube/config/pem.h"
#include "kube/config/proxy.h"
#include "kube/config/server_url.h"
#include "kube/config/token.h"

namespace nodeward::kube {
namespace {

// The file itself is named here: its path is fixed by Kubernetes, so it can be no secret.
auto naming(const std::filesystem::path& file) {
  return [where = fmt::format("in-cluster: {}", file.string())](Error error) { return in_context(where, std::move(error)); };
}

}  // namespace

Result<ClusterConfig> load_in_cluster(const std::filesystem::path& root, const EnvLookup& env) {
  const std::string host = env_value(env, "KUBERNETES_SERVICE_HOST");
  const std::string port = env_value(env, "KUBERNETES_SERVICE_PORT");
  if (host.empty() || port.empty()) {
    return fail(ErrorCode::kNotFound,
                "not in a cluster: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set; give a kubeconfig file");
  }
  const std::string address = host.find(':') == std::string::npos ? host : fmt::format("[{}]", host);
  const auto server = parse_server_url(fmt::format("https://{}:{}", address, port));
  if (!server) return tl::unexpected<Error>(in_context("in-cluster: KUBERNETES_SERVICE_HOST with _PORT", server.error()));
  const auto ca_file = std::filesystem::absolute(root / "ca.crt"), token_file = std::filesystem::absolute(root / "token");
  NW_TRY_ASSIGN(std::string ca_pem, read_unnamed(ca_file).map_error(naming(ca_file)));
  NW_TRY(check_certificates(ca_pem).map_error(naming(ca_file)));
  NW_TRY_ASSIGN(std::string token, read_token(token_file).map_error(naming(token_file)));
  NW_TRY_ASSIGN(std::string proxy, proxy_from_environment(server->origin, env));
  return ClusterConfig{.endpoint = {.origin = server->origin, .ca_pem = std::move(ca_pem), .proxy = std::move(proxy)},
                       .token = std::move(token),
                       .token_file = token_file,
                       .ca_file = ca_file,
                       .source = "in-cluster"};
}

}  // namespace nodeward::kube
