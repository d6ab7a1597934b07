// What the configuration says to fault-quarantine beside its rules, and what it needs kept of a node. Plain values; pure.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "kube/objects.h"

namespace nodeward::quarantine {

struct Options {
  std::string label_prefix;      // joined as plain text: "ops.example.com/" + "cordon-by"

  std::string label(std::string_view suffix) const { return label_prefix + std::string(suffix); }
};

// The keys of keys.h, the labels that rule sets write, taints and cordon.
kube::NodeSelection own_selection(const Options& options, std::span<const std::string> rule_label_keys);

// What either keeps: our own and what the rules look at.
kube::NodeSelection merged(const kube::NodeSelection& a, const kube::NodeSelection& b);

}  // namespace nodeward::quarantine
