#include "labels/to_patch.h"

namespace nodeward::labels {

nodes::NodePatch to_patch(const kube::NodeName& node, const WantedLabels& wanted) {
  nodes::NodePatch patch(node);
  for (const KeyEdit& edit : wanted.edits) {
    const bool label = edit.where == KeyEdit::Where::kLabel;
    if (label && edit.value) patch.label(edit.key, *edit.value);
    if (label && !edit.value) patch.drop_label(edit.key);
    if (!label && edit.value) patch.annotation(edit.key, *edit.value);
    if (!label && !edit.value) patch.drop_annotation(edit.key);
  }
  return patch;
}

}  // namespace nodeward::labels
