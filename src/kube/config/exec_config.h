// A user's `exec` in a kubeconfig. Private to kube/config.
#pragma once

#include "base/error.h"
#include "kube/config/cluster_config.h"
#include "kube/config/section.h"

namespace nodeward::kube {

// Sets config.exec when `user` has one. What `cluster` says is in `config` already; the plugin may ask to be told it.
Result<> read_exec(const Section& user, const Section& cluster, ClusterConfig& config);

}  // namespace nodeward::kube
