// The user of a context: token, client certificate, impersonation. Private to kube/config.
#pragma once

#include "base/error.h"
#include "kube/config/cluster_config.h"
#include "kube/config/section.h"

namespace nodeward::kube {

Result<> read_user(const Section& user, ClusterConfig& config);

// The name of an extra header: `key` with what cannot stand in a header's name percent-encoded (as client-go sends it).
std::string impersonation_header(std::string_view key);

}  // namespace nodeward::kube
