// Reads the current context of one kubeconfig file, YAML or JSON. What would change who we are or whom we trust and is not
// supported (exec, auth-provider, basic authentication, impersonation, proxy-url) is refused, never passed over.
// A message names file, entry and field, and never shows a value that could be a secret put in the wrong place: no server,
// no path out of the file, nothing of what the YAML parser says but line and column.
#pragma once

#include <filesystem>
#include <string>

#include "base/error.h"
#include "kube/config/cluster_config.h"

namespace nodeward::kube {

// Relative paths in the file start at its folder. Warns (log) when the server's certificate is not to be checked.
Result<ClusterConfig> load_kubeconfig(const std::filesystem::path& file);

// The same for the text of `file`, without the warning.
Result<ClusterConfig> parse_kubeconfig(const std::string& text, const std::filesystem::path& file);

}  // namespace nodeward::kube
