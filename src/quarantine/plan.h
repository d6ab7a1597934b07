// The thinking of fault-quarantine: the events waiting for a node and the node as it is now -> one patch, and what became of each
// event (FQ spec, sections 6 to 9.1). Pure: everything is worked out anew from the node that the plan is made on.
//
//   const Plan plan = plan_for(waiting, node, judge, now, options);     // covers the first plan.judgements.size() of `waiting`
//
// Events are folded in order, each judged on the labels, taints and cordon that those before it leave. A release goes alone: the
// fold ends before it, and after it.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "events/event.h"
#include "events/source.h"
#include "kube/objects.h"
#include "nodes/node_patch.h"
#include "quarantine/options.h"
#include "quarantine/record.h"
#include "rules/verdict.h"

namespace nodeward::quarantine {

// As it stands in the event's row; none: it stays NULL.
enum class Status { kQuarantined, kAlreadyQuarantined, kUnQuarantined };
std::string_view to_string(Status status);

// What is done for a node, as the metrics count it: what was asked for, even where the node had it already.
struct Measures {
  std::vector<kube::Taint> taints = {};
  std::vector<std::string> label_keys = {};
  bool cordon = false;
};

struct Ignore {
  std::string_view why;
};  // nothing changes
struct Quarantine {
  Measures applied;
};  // opens the quarantine
struct Merge {
  Measures added;
};  // a failure on a quarantined node; added: taints and cordon it had not yet
struct PartialRecovery {};  // other failures remain
struct Release {  // the last failure is cleared
  Measures removed;
  Tracked ended;
};
struct Stuck {
  std::string why;
};  // the last failure is cleared, but the record does not say what to undo
using Decision = std::variant<Ignore, Quarantine, Merge, PartialRecovery, Release, Stuck>;
std::string_view name_of(const Decision& decision);  // "ignore", "quarantine", "merge", ...

struct Judgement {
  Decision decision;
  std::optional<Status> status;
  // Of a failure; the rules are not asked about a recovery.
  std::optional<rules::Verdict> verdict = {};
  bool fresh = true;  // judged on a node that was not quarantined
};

struct Plan {
  nodes::NodePatch patch;
  std::vector<Judgement> judgements;
  std::vector<Unreadable> unreadable;
};

using Judge = std::function<rules::Verdict(const events::HealthEvent&, const kube::Node&)>;

// Whether the event is one to act on: its strategy is absent or EXECUTE_REMEDIATION. Others never come into a plan.
bool to_act_on(const events::HealthEvent& event);

// `waiting` holds at least one event, all of this node.
Plan plan_for(std::span<const events::Arrived> waiting, const kube::Node& node, const Judge& judge, WallTime now,
              const Options& options);

}  // namespace nodeward::quarantine
