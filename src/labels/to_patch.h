// The edits of a node as the patch that NodeWriter sends.
#pragma once

#include "labels/wanted.h"
#include "nodes/node_patch.h"

namespace nodeward::labels {

nodes::NodePatch to_patch(const kube::NodeName& node, const WantedLabels& wanted);

}  // namespace nodeward::labels
