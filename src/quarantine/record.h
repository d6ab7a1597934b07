// What a node's annotations say of its quarantine, read and written as all programs of this family do (FQ spec, section 6.3).
// Bytes are stable: equal records give equal text. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kube/objects.h"
#include "quarantine/tracking.h"
#include "rules/verdict.h"

namespace nodeward::quarantine {

struct AppliedTaint {
  std::string key;
  std::string value;
  std::string effect;
  bool pre_existing = false;      // it was there before us: a release leaves it
  friend bool operator==(const AppliedTaint&, const AppliedTaint&) = default;
};

struct Record {
  Tracked events;                         // oldest first; empty: the node is not quarantined
  std::vector<AppliedTaint> taints;       // in the order they were applied, one per key and effect
  std::vector<rules::RuleLabel> labels;   // sorted by key
  bool cordoned = false;
  bool cordon_pre_existing = false;
};

// An annotation that cannot be understood counts as empty; what it was belongs in the log.
struct Unreadable {
  std::string_view annotation;    // a key of keys.h
  std::string why;
  std::string text;
};

struct ReadRecord {
  Record record;
  std::vector<Unreadable> unreadable;
  bool present = false;           // the node holds some of it: what replaces it must be guarded
};
ReadRecord read_record(const kube::Node& node);

std::string annotation_text(const std::vector<AppliedTaint>& taints);
std::string annotation_text(const std::vector<rules::RuleLabel>& labels);

// Per key the higher priority wins, then the later place in the file, then the newcomer. Keeps `labels` sorted.
void merge_label(std::vector<rules::RuleLabel>& labels, const rules::RuleLabel& label);

}  // namespace nodeward::quarantine
