// The counters of fault-quarantine (FQ spec, section 14), and what counts what. References into the registry. Any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "quarantine/plan.h"
#include "telemetry/metrics.h"

namespace nodeward::quarantine {

struct Metrics {
  explicit Metrics(telemetry::Metrics& registry);

  // One event of a node, settled as judged. `rule_sets`: the names of all that are enabled.
  void count(const kube::NodeName& node, const Judgement& judgement, const events::HealthEvent& event,
             const std::vector<std::string>& rule_sets, WallTime now);
  void error(std::string_view type) { errors.add(1, {{"error_type", std::string(type)}}); }

  telemetry::Counter& received;
  telemetry::Counter& processed;
  telemetry::Counter& errors;
  telemetry::Histogram& handling_seconds;
  telemetry::Gauge& backlog;
  telemetry::Counter& nodes_quarantined;
  telemetry::Counter& nodes_unquarantined;
  telemetry::Gauge& quarantined_now;
  telemetry::Counter& taints_applied;
  telemetry::Counter& taints_removed;
  telemetry::Counter& labels_applied;
  telemetry::Counter& labels_removed;
  telemetry::Counter& cordons_applied;
  telemetry::Counter& cordons_removed;
  telemetry::Counter& evaluations;
  telemetry::Histogram& quarantine_seconds;
  telemetry::Histogram& remediation_seconds;
  telemetry::Gauge& breaker_utilization;

 private:
  void applied(const Measures& measures);
  void released(const kube::NodeName& node, const Release& release, WallTime now);
};

// "COMPONENT_RESET"; the number of an action that has no name here.
std::string action_name(int recommended_action);

}  // namespace nodeward::quarantine
