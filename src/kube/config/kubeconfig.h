// Reads one context of kubeconfig files, YAML or JSON. What would change who we are or whom we trust and is not supported
// (auth-provider, basic authentication) is refused, never passed over.
// A message names file, entry and field, and never shows a value that could be a secret put in the wrong place: no server,
// no path out of the file, nothing of what the YAML parser says but line and column.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/error.h"
#include "kube/config/cluster_config.h"
#include "kube/config/environment.h"

namespace nodeward::kube {

struct KubeconfigOptions {
  std::string context = {};  // empty: current-context
  EnvLookup env = process_environment();
};

// One file, which must be there. Relative paths in it start at its folder. Warns (log) when the server's certificate is not to
// be checked.
Result<ClusterConfig> load_kubeconfig(const std::filesystem::path& file, const KubeconfigOptions& options = {});

// The files of a list like $KUBECONFIG's (separated by colons), merged: of each name the first file's entry counts, and the first
// current-context; files that are not there are passed over.
Result<ClusterConfig> load_kubeconfigs(const std::string& list, const KubeconfigOptions& options = {});

// The same for the text of one `file`, without the warning.
Result<ClusterConfig> parse_kubeconfig(const std::string& text, const std::filesystem::path& file,
                                       const KubeconfigOptions& options = {});

}  // namespace nodeward::kube
