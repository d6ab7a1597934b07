#include "quarantine/options.h"

#include <algorithm>

#include "quarantine/keys.h"

namespace nodeward::quarantine {
namespace {

kube::KeySet merged(const kube::KeySet& a, const kube::KeySet& b) {
  kube::KeySet both{.all = a.all || b.all, .keys = a.keys};
  both.keys.insert(both.keys.end(), b.keys.begin(), b.keys.end());
  std::sort(both.keys.begin(), both.keys.end());
  both.keys.erase(std::unique(both.keys.begin(), both.keys.end()), both.keys.end());
  return both;
}

}  // namespace

kube::NodeSelection own_selection(const Options& options, std::span<const std::string> rule_label_keys) {
  kube::NodeSelection selection;
  selection.spec = true;
  for (const std::string_view suffix :
       {kCordonBy, kCordonReason, kCordonTimestamp, kUncordonBy, kUncordonReason, kUncordonTimestamp}) {
    selection.labels.keys.push_back(options.label(suffix));
  }
  selection.labels.keys.emplace_back(kState);
  selection.labels.keys.insert(selection.labels.keys.end(), rule_label_keys.begin(), rule_label_keys.end());
  for (const std::string_view key : {kEvents, kAppliedTaints, kAppliedLabels, kIsCordoned, kCordonPreExisting, kDryRun,
                                     kUncordonedManually, kUntaintedManually}) {
    selection.annotations.keys.emplace_back(key);
  }
  return selection;
}

kube::NodeSelection merged(const kube::NodeSelection& a, const kube::NodeSelection& b) {
  return {.labels = merged(a.labels, b.labels),
          .annotations = merged(a.annotations, b.annotations),
          .spec = a.spec || b.spec,
          .metadata_members = merged(a.metadata_members, b.metadata_members),
          .spec_members = merged(a.spec_members, b.spec_members)};
}

}  // namespace nodeward::quarantine
