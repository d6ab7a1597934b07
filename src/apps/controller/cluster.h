// From a kubeconfig (or the pod's own account) to a Client: transport, credentials, counters, audit in one piece, for both
// controllers. Built in run(); the client may be used from any thread.
#pragma once

#include <memory>
#include <stop_token>
#include <string>

#include "base/clock.h"
#include "base/error.h"
#include "kube/client.h"
#include "kube/config/credentials.h"
#include "net/http.h"
#include "telemetry/audit.h"
#include "telemetry/metrics.h"

namespace nodeward::apps {

struct ClusterOptions {
  std::string kubeconfig;         // empty: the files of $KUBECONFIG; without it in-cluster
  std::string context;            // empty: current-context
  bool gzip = false;              // unless the kubeconfig has disable-compression
  std::string program;            // "labeler": user agent, audit component, prefix of the request counter
};

class Cluster {
 public:
  // Reads the configuration and runs the credential plugin, if there is one; connects to nothing yet. Errors name the file and
  // the field, or the plugin.
  static Result<std::unique_ptr<Cluster>> open(const ClusterOptions& options, telemetry::Metrics& metrics, Clock& clock,
                                               const std::stop_token& stop);

  kube::Client& client() { return client_; }
  const std::string& source() const { return source_; }   // "kubeconfig /x/y, context z" or "in-cluster"

 private:
  Cluster(const ClusterOptions& options, const kube::ClusterConfig& config, telemetry::Metrics& metrics, Clock& clock);

  const std::string source_;
  kube::Credentials credentials_;
  telemetry::Audit audit_;
  std::unique_ptr<net::Transport> transport_;
  kube::Client client_;
};

}  // namespace nodeward::apps
