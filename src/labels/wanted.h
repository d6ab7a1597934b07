// The decision: a node, its pods and the options in; what to change on the node out. Pure; all keys of a node at once, so that
// one write carries them. What is already right, or not ours to touch, is not in the answer: no edits means no write.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kube/objects.h"
#include "labels/options.h"
#include "labels/pod_table.h"

namespace nodeward::labels {

struct KeyEdit {
  enum class Where { kLabel, kAnnotation };
  Where where = Where::kLabel;
  std::string key;
  std::optional<std::string> value;    // nullopt: remove
  std::string because;                 // "pod nvidia-dcgm-x7", for people; empty when there is nothing to add
};

struct WantedLabels {
  std::vector<KeyEdit> edits;
  bool opted_out = false;              // managed=false: only our labels are taken off
};

// Before the caches have synced a pod that is missing may just not have been read yet: only the opt-out is acted on.
enum class Phase { kBeforeSync, kSynced };

WantedLabels wanted(const kube::Node& node, const PodFacts& pods, const Options& options, Phase phase = Phase::kSynced);

// "gpu-07: dcgm.version 4.x -> 3.x (pod nvidia-dcgm-x7), driver.installed true -> (none)", or "gpu-07: nothing to change".
std::string describe(const kube::Node& node, const WantedLabels& wanted);

}  // namespace nodeward::labels
