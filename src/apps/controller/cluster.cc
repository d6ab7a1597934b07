#include "apps/controller/cluster.h"

#include <fmt/format.h>

#include "base/version.h"
#include "kube/config/in_cluster.h"
#include "kube/config/kubeconfig.h"
#include "net/curl_transport.h"

namespace nodeward::apps {

Result<std::unique_ptr<Cluster>> Cluster::open(const ClusterOptions& options, telemetry::Metrics& metrics, Clock& clock) {
  auto config = options.kubeconfig.empty() ? kube::load_in_cluster() : kube::load_kubeconfig(options.kubeconfig);
  if (!config) {
    const bool outside = options.kubeconfig.empty() && config.error().code == ErrorCode::kNotFound;
    if (outside) config.error().message += options.program == "labeler" ? " (--kubeconfig)" : " (--kubeconfig-path)";
    return tl::unexpected(std::move(config.error()));
  }
  return std::unique_ptr<Cluster>(new Cluster(options, *config, metrics, clock));
}

Cluster::Cluster(const ClusterOptions& options, const kube::ClusterConfig& config, telemetry::Metrics& metrics, Clock& clock)
    : source_(config.source),
      credentials_(config, clock),
      audit_(telemetry::AuditOptions::from_environment(options.program), clock),
      transport_(net::make_curl_transport(config.endpoint)),
      client_(*transport_,
              {.path_prefix = config.path_prefix,
               .user_agent = fmt::format("{}/{} (nodeward)", options.program, version()),
               .authorization = [this] { return credentials_.authorization(); },
               .reload_credentials = [this] { return credentials_.reload(); },
               .requests = &metrics.counter(
                   options.program == "labeler" ? "labeler_api_requests_total" : "fault_quarantine_api_requests_total",
                   "Requests to the API server; code 0: no answer came.", {"verb", "code"}),
               .audit = &audit_},
              clock) {}

}  // namespace nodeward::apps
