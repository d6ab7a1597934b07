// The configuration every pod is given: KUBERNETES_SERVICE_HOST and _PORT, and the service account's folder with `token` and
// `ca.crt`. kNotFound when the process does not run in a cluster. There is no fall back to the system's authorities.
#pragma once

#include <filesystem>

#include "base/error.h"
#include "kube/config/cluster_config.h"
#include "kube/config/environment.h"

namespace nodeward::kube {

Result<ClusterConfig> load_in_cluster(const std::filesystem::path& root = "/var/run/secrets/kubernetes.io/serviceaccount",
                                      const EnvLookup& env = process_environment());

}  // namespace nodeward::kube
