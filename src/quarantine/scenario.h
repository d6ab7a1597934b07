// For tests only: a cluster in memory that plays "given, when, then" against the real plan and patch. Nodes are the JSON that an
// API server holds; a write is a merge patch (RFC 7396) of it, refused when it names another version. One thread.
//
// Rules are written as short tables here; the real ones are tested in their own folder and, together, in tests/parity.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "events/event.h"
#include "quarantine/plan.h"

namespace nodeward::quarantine::testing {

struct Rule {
  std::string name;
  int priority = 0;
  std::function<bool(const events::HealthEvent&, const kube::Node&)> when = [](const auto&, const auto&) { return true; };
  std::optional<kube::Taint> taint = {};
  std::optional<std::pair<std::string, std::string>> label = {};
  bool cordon = false;
  std::string fails_with = {};       // the evaluation error of this rule, whatever the event
};

// Merges what matches as FQ spec, section 6.1, has it.
Judge judge_by(std::vector<Rule> rules);
// tests/data/examples/fault-quarantine.toml
std::vector<Rule> example_rules();

// tests/data/examples: an event by its name, with its row's id; and a change of it.
events::HealthEvent example_event(std::string_view name);
Json example_node(std::string_view name);
Json bare_node(std::string_view name);

class Scenario {
 public:
  explicit Scenario(const std::vector<Rule>& rules = example_rules(), const Options& options = {"ops.example.com/"});
  Scenario(Judge judge, Options options, kube::NodeSelection selection);

  Json& add(Json node);              // as the cluster's
  Json& node(std::string_view name) { return nodes_.at(std::string(name)).object; }

  // Sends the events, all waiting at once, and works them off. The statuses, "-" for none: "Quarantined, AlreadyQuarantined".
  std::string send(std::vector<events::HealthEvent> events);
  std::string send(std::string_view example) { return send({example_event(example)}); }

  int writes();                      // since the last call
  std::vector<Judgement> judgements();     // the same
  const std::vector<std::string>& bodies() const { return bodies_; }

  std::optional<std::string> label(std::string_view node, std::string_view key) const;
  std::optional<std::string> annotation(std::string_view node, std::string_view key) const;
  bool unschedulable(std::string_view node) const;
  std::string taints(std::string_view node) const;      // "key=value:effect, ..."
  std::vector<events::HealthEvent> tracked(std::string_view node) const;
  // Keys of ours that are there: annotations, then labels. Empty: no trace (uncordon-* aside).
  std::vector<std::string> traces(std::string_view node) const;

  void set_now(WallTime now) { now_ = now; }

 private:
  struct ServerNode {
    Json object;
    int version = 1;
  };
  void work(const std::string& name, std::vector<events::Arrived> waiting);
  kube::Node cached(const ServerNode& node) const;

  const Judge judge_;
  const Options options_;
  const kube::NodeSelection selection_;
  WallTime now_{std::chrono::seconds{1788170402}};     // 2026-08-31T10:00:02Z
  std::map<std::string, ServerNode> nodes_;
  std::vector<std::string> bodies_;
  int writes_ = 0;
  std::vector<Judgement> judgements_;
};

}  // namespace nodeward::quarantine::testing
