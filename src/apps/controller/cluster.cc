#include "apps/controller/cluster.h"

#include <fmt/format.h>

#include "base/version.h"
#include "kube/config/in_cluster.h"
#include "kube/config/kubeconfig.h"
#include "net/curl_transport.h"

namespace nodeward::apps {
namespace {

Result<kube::ClusterConfig> load_config(const ClusterOptions& options) {
  const kube::KubeconfigOptions choice{.context = options.context};
  if (!options.kubeconfig.empty()) return kube::load_kubeconfig(options.kubeconfig, choice);
  if (const std::string list = kube::env_value(choice.env, "KUBECONFIG"); !list.empty())
    return kube::load_kubeconfigs(list, choice);
  const std::string flag = options.program == "labeler" ? "--kubeconfig" : "--kubeconfig-path";
  if (!options.context.empty()) {
    return fail(ErrorCode::kInvalid,
                fmt::format("--context: there is no kubeconfig to take it from; give {} or set KUBECONFIG", flag));
  }
  auto config = kube::load_in_cluster();
  if (!config && config.error().code == ErrorCode::kNotFound) config.error().message += fmt::format(" ({} or KUBECONFIG)", flag);
  return config;
}

}  // namespace

Result<std::unique_ptr<Cluster>> Cluster::open(const ClusterOptions& options, telemetry::Metrics& metrics, Clock& clock,
                                               const std::stop_token& stop) {
  NW_TRY_ASSIGN(kube::ClusterConfig config, load_config(options));
  config.endpoint.gzip = options.gzip && !config.disable_compression;
  auto cluster = std::unique_ptr<Cluster>(new Cluster(options, config, metrics, clock));
  NW_TRY(cluster->credentials_.authorization(stop).map_error(
      [&](Error error) { return in_context(config.source, std::move(error)); }));
  return cluster;
}

Cluster::Cluster(const ClusterOptions& options, const kube::ClusterConfig& config, telemetry::Metrics& metrics, Clock& clock)
    : source_(config.source),
      credentials_(config, clock),
      audit_(telemetry::AuditOptions::from_environment(options.program), clock),
      transport_(net::make_curl_transport(net::EndpointSource([this] { return credentials_.endpoint(); }))),
      client_(*transport_,
              {.path_prefix = config.path_prefix,
               .user_agent = fmt::format("{}/{} (nodeward)", options.program, version()),
               .headers = config.impersonation,
               .authorization = [this](const std::stop_token& token) { return credentials_.authorization(token); },
               .reload_credentials = [this](const kube::Authorization& refused,
                                            const std::stop_token& token) { return credentials_.reload(refused, token); },
               .requests = &metrics.counter(
                   options.program == "labeler" ? "labeler_api_requests_total" : "fault_quarantine_api_requests_total",
                   "Requests to the API server; code 0: no answer came.", {"verb", "code"}),
               .audit = &audit_},
              clock) {}

}  // namespace nodeward::apps
