// What the rules say of one event on one node: the merged actions of all rule sets that match (FQ spec, section 6.1). A plain
// value, built in file order, so that the same event always gives the same verdict.
#pragma once

#include <string>
#include <vector>

#include "kube/objects.h"

namespace nodeward::rules {

struct RuleLabel {
  std::string key;
  std::string value;
  int priority = 0;
  int order = 0;                         // index of the rule set in the file, disabled ones counted
  friend bool operator==(const RuleLabel&, const RuleLabel&) = default;
};

struct RuleError {
  std::string rule_set;
  std::string reason;                    // the evaluation error; the set counts as not matched
};

struct Verdict {
  std::vector<std::string> matched;      // names of the rule sets that match, in file order
  std::vector<kube::Taint> taints;       // in file order, one per key and effect
  std::vector<RuleLabel> labels;         // one per key
  bool cordon = false;
  std::vector<std::string> cordon_reasons;   // names of the matching sets that cordon, in file order
  std::vector<RuleError> errors;

  bool acts() const { return cordon || !taints.empty() || !labels.empty(); }
};

}  // namespace nodeward::rules
