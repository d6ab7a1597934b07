// A rule set as the configuration says it (FQ spec, section 3). Plain values; rule_book.h makes them work.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kube/objects.h"

namespace nodeward::rules {

enum class ConditionKind { kHealthEvent, kNode };   // of the variable: event or node

struct Condition {
  ConditionKind kind = ConditionKind::kHealthEvent;
  std::string expression;
};

struct LabelAction {
  std::string key;
  std::string value;
};

// Matches when one of `any` is true, or all of `all` are; a list without conditions never is.
struct RuleSet {
  bool enabled = false;                 // else it is neither compiled nor evaluated
  std::string version;                  // for people
  std::string name;                     // becomes the cordon reason and a metric label
  int priority = 0;
  std::vector<Condition> any;
  std::vector<Condition> all;
  std::optional<kube::Taint> taint;
  std::optional<LabelAction> label;
  bool cordon = false;
};

}  // namespace nodeward::rules
