#include "quarantine/metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

namespace nodeward::quarantine {
namespace {

const std::vector<double> kSeconds = {.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10};

std::vector<double> remediation_buckets() {
  std::vector<double> buckets;
  for (int i = 0; i < 27; ++i) buckets.push_back(10 * std::pow(1.5, i));
  return buckets;
}

// nullopt: no time is given, or it lies ahead.
std::optional<double> seconds_since(const std::optional<events::Timestamp>& time, WallTime now) {
  if (!time) return std::nullopt;
  const double then = static_cast<double>(time->seconds) + time->nanos / 1e9;
  const double seconds = std::chrono::duration<double>(now.time_since_epoch()).count() - then;
  return seconds > 0 ? std::optional(seconds) : std::nullopt;
}

telemetry::MetricLabels taint_labels(const kube::Taint& taint) {
  return {{"taint_key", taint.key}, {"taint_effect", taint.effect}};
}

}  // namespace

Metrics::Metrics(telemetry::Metrics& registry)
    : received(registry.counter("fault_quarantine_events_received_total", "Health events taken from the source.")),
      processed(
          registry.counter("fault_quarantine_events_successfully_processed_total", "Health events that ended with a status.")),
      errors(registry.counter("fault_quarantine_processing_errors_total", "Errors met while events were processed.",
                              {"error_type"})),
      handling_seconds(registry.histogram("fault_quarantine_event_handling_duration_seconds",
                                          "From an event's arrival to its being settled.", kSeconds)),
      backlog(registry.gauge("fault_quarantine_event_backlog_count", "Health events that are not settled yet.")),
      nodes_quarantined(registry.counter("fault_quarantine_nodes_quarantined_total", "Times a node was quarantined.", {"node"})),
      nodes_unquarantined(registry.counter("fault_quarantine_nodes_unquarantined_total", "Times a node was released.", {"node"})),
      quarantined_now(
          registry.gauge("fault_quarantine_current_quarantined_nodes", "1 for a node that is quarantined now.", {"node"})),
      taints_applied(
          registry.counter("fault_quarantine_taints_applied_total", "Taints asked for.", {"taint_key", "taint_effect"})),
      taints_removed(
          registry.counter("fault_quarantine_taints_removed_total", "Taints taken off.", {"taint_key", "taint_effect"})),
      labels_applied(registry.counter("fault_quarantine_labels_applied_total", "Labels of rule sets asked for.", {"label_key"})),
      labels_removed(registry.counter("fault_quarantine_labels_removed_total", "Labels of rule sets taken off.", {"label_key"})),
      cordons_applied(registry.counter("fault_quarantine_cordons_applied_total", "Cordons asked for.")),
      cordons_removed(registry.counter("fault_quarantine_cordons_removed_total", "Cordons taken off.")),
      evaluations(registry.counter("fault_quarantine_ruleset_evaluations_total",
                                   "Rule sets evaluated on nodes not yet quarantined.", {"ruleset", "status"})),
      quarantine_seconds(registry.histogram("fault_quarantine_node_quarantine_duration_seconds",
                                            "From a failure's own time to its node being quarantined.", kSeconds)),
      remediation_seconds(registry.histogram("fault_quarantine_node_remediation_duration_seconds",
                                             "From a failure's own time to its node being released.", remediation_buckets(),
                                             {"recommended_action"})),
      breaker_utilization(registry.gauge("fault_quarantine_breaker_utilization", "Share of GPU nodes in the breaker's window.")) {
}

void Metrics::count(const kube::NodeName& node, const Judgement& judgement, const events::HealthEvent& event,
                    const std::vector<std::string>& rule_sets, WallTime now) {
  if (judgement.status) processed.add();
  if (judgement.fresh && judgement.verdict) {
    for (const std::string& name : rule_sets) {
      const auto& matched = judgement.verdict->matched;
      const bool passed = std::find(matched.begin(), matched.end(), name) != matched.end();
      evaluations.add(1, {{"ruleset", name}, {"status", passed ? "passed" : "failed"}});
    }
    for (std::size_t i = 0; i < judgement.verdict->errors.size(); ++i) error("ruleset_evaluation_error");
  }
  if (const auto* opened = std::get_if<Quarantine>(&judgement.decision)) {
    nodes_quarantined.add(1, {{"node", node.str()}});
    quarantined_now.set(1, {{"node", node.str()}});
    applied(opened->applied);
  } else if (const auto* merged = std::get_if<Merge>(&judgement.decision)) {
    applied(merged->added);
  } else if (const auto* release = std::get_if<Release>(&judgement.decision)) {
    released(node, *release, now);
  } else if (std::holds_alternative<Stuck>(judgement.decision)) {
    error("uncordon_error");
  }
  if (judgement.status == Status::kQuarantined) {
    if (const auto seconds = seconds_since(event.generated, now)) quarantine_seconds.observe(*seconds);
  }
}

void Metrics::applied(const Measures& measures) {
  for (const kube::Taint& taint : measures.taints) taints_applied.add(1, taint_labels(taint));
  for (const std::string& key : measures.label_keys) labels_applied.add(1, {{"label_key", key}});
  if (measures.cordon) cordons_applied.add();
}

void Metrics::released(const kube::NodeName& node, const Release& release, WallTime now) {
  nodes_unquarantined.add(1, {{"node", node.str()}});
  quarantined_now.set(0, {{"node", node.str()}});
  for (const kube::Taint& taint : release.removed.taints) taints_removed.add(1, taint_labels(taint));
  for (const std::string& key : release.removed.label_keys) labels_removed.add(1, {{"label_key", key}});
  if (release.removed.cordon) cordons_removed.add();
  for (const events::HealthEvent& failure : release.ended) {
    const auto seconds = seconds_since(failure.generated, now);
    if (seconds) remediation_seconds.observe(*seconds, {{"recommended_action", action_name(failure.recommended_action)}});
  }
}

std::string action_name(int recommended_action) {
  switch (recommended_action) {
    case 0: return "NONE";
    case 2: return "COMPONENT_RESET";
    case 5: return "CONTACT_SUPPORT";
    case 6: return "RUN_FIELDDIAG";
    case 15: return "RESTART_VM";
    case 24: return "RESTART_BM";
    case 25: return "REPLACE_VM";
    case 26: return "RUN_DCGMEUD";
    case 27: return "CUSTOM";
    case 99: return "UNKNOWN";
    default: return fmt::format("{}", recommended_action);
  }
}

}  // namespace nodeward::quarantine
