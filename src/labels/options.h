// What the flags of the labeler say, and what follows from them before anything is read: whether they are legal, and what to
// keep of a node. Plain values; pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "kube/objects.h"

namespace nodeward::labels {

struct Options {
  std::vector<std::string> dcgm_apps = {"nvidia-dcgm", "nvidia-dcgm-dra"};   // --dcgm-app-label, see app_list()
  std::string driver_app = "nvidia-driver-daemonset";                        // --driver-app-label
  std::string installer_app = "nvidia-driver-installer";                     // --gke-installer-app-label
  std::string kata_label = {};                                               // --kata-label; empty: the usual key alone
  bool assume_dcgm_available = false;
  bool assume_driver_installed = false;
  bool require_dcgm_ready = true;                                            // --require-dcgm-ready-for-bootstrap
};

// The parts of --dcgm-app-label. Spaces around a part do not count; an empty part is the empty value, as in a selector.
std::vector<std::string> app_list(std::string_view flag);

// kInvalid, naming the flag, for an app value that no label can have. An empty value is legal.
Result<> validate(const Options& options);

// The labels whose truth makes a node a kata node: the usual one and --kata-label.
std::vector<std::string> kata_keys(const Options& options);

// What the node cache keeps: a change of anything else leaves the node as it was.
kube::NodeSelection node_selection(const Options& options);

}  // namespace nodeward::labels
