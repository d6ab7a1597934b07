// The configuration every pod is given: KUBERNETES_SERVICE_HOST and _PORT, and the service account's folder with `token` and
// `ca.crt`. kNotFound when the process does not run in a cluster. There is no fall back to the system's authorities.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <functional>

#include "base/error.h"
#include "kube/config/cluster_config.h"

namespace nodeward::kube {

using EnvLookup = std::function<const char*(const char* name)>;  // nullptr: not set

Result<ClusterConfig> load_in_cluster(
    const std::filesystem::path& root = "/var/run/secrets/kubernetes.io/serviceaccount",
    const EnvLookup& env = [](const char* name) { return std::getenv(name); });

}  // namespace nodeward::kube
