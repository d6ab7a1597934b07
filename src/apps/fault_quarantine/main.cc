// fault-quarantine: health events -> cordons, taints and labels on faulty nodes, and their release. Flags, wiring, signals, exit
// codes; what it does is in src/quarantine.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "apps/controller/cluster.h"
#include "apps/controller/health.h"
#include "apps/controller/leadership.h"
#include "apps/controller/node_events.h"
#include "apps/controller/process.h"
#include "apps/fault_quarantine/flags.h"
#include "apps/fault_quarantine/source.h"
#include "base/version.h"
#include "config/fault_quarantine.h"
#include "events/lines/lines_source.h"
#include "quarantine/fault_quarantine.h"
#include "telemetry/log.h"
#include "telemetry/metrics.h"

namespace nodeward::apps {
namespace {

// The rule file, whole and compiled; each finding is one line on standard error.
Result<config::FaultQuarantine> load_rules(const FaultQuarantineFlags& flags) {
  if (flags.config_path.empty()) return fail(ErrorCode::kInvalid, "--config-path: is empty; it takes the path of the rule file");
  NW_TRY_ASSIGN(auto rules, config::load_fault_quarantine(flags.config_path, {.breaker_enabled = flags.circuit_breaker_enabled}));
  for (const config::Finding& finding : rules.findings) {
    fmt::print(stderr, "{}\n", config::to_text(finding, flags.config_path, rules.text));
  }
  if (!rules.good())
    return fail(ErrorCode::kInvalid, fmt::format("{}: the rule file is wrong; nothing was read or written", flags.config_path));
  return rules;
}

Result<quarantine::FaultQuarantineOptions> quarantine_options(const FaultQuarantineFlags& flags,
                                                              const config::FaultQuarantine& rules) {
  NW_TRY_ASSIGN(const int workers, workers_from_flag(flags.workers));
  NW_TRY_ASSIGN(const Rate rate, rate_from_flags(flags.kube_api_qps, flags.kube_api_burst));
  const quarantine::Options own{.label_prefix = rules.label_prefix};
  quarantine::FaultQuarantineOptions options{
      .quarantine = own,
      .selection = quarantine::merged(quarantine::own_selection(own, rules.book.label_keys()), rules::node_selection(rules.book)),
      .rule_sets = rules.book.names(),
      .qps = rate.qps,
      .burst = rate.burst,
      .workers = workers};
  if (flags.print_only) {
    options.print_only = [](const kube::NodeName& node, std::string_view body) {
      fmt::print("{}: {}\n", node.str(), body);
      std::fflush(stdout);   // a pipe shows it now, not after 4 KiB: the input may be followed
    };
  }
  return options;
}

// For people who look at a node: that it was taken out of use, by which rules and for which check, and that it is back.
void announce(NodeEvents& events, const events::HealthEvent& event, const quarantine::Judgement& judgement) {
  const kube::NodeName node(event.node_name);
  if (std::holds_alternative<quarantine::Quarantine>(judgement.decision)) {
    events.warn(node, "Quarantined",
                fmt::format("{} reported a fault of {}; rules: {}", event.agent, event.check_name,
                            judgement.verdict ? fmt::format("{}", fmt::join(judgement.verdict->matched, ", ")) : ""));
  } else if (std::holds_alternative<quarantine::Release>(judgement.decision)) {
    events.tell(node, "Released",
                fmt::format("{} reported {} healthy; nothing is left against the node", event.agent, event.check_name));
  }
}

void tell_start(const FaultQuarantineFlags& flags, const std::string& cluster, const std::string& events) {
  telemetry::info(flags.print_only ? "fault-quarantine starts; print-only: nothing is written" : "fault-quarantine starts",
                  {{"cluster", cluster}, {"events", events}});
  if (flags.circuit_breaker_enabled) {
    telemetry::warn(
        "this version has no circuit breaker: nothing stops it when many nodes fall ill at once; --circuit-breaker-enabled=false "
        "silences this line");
  }
}

// The exit code.
int tell_end(const FaultQuarantineFlags& flags, std::size_t left, bool lost_outcomes) {
  if (left > 0) telemetry::error("not every event could be settled", {{"events", std::to_string(left)}});
  if (lost_outcomes) telemetry::error("not every outcome could be written", {{"outcomes", flags.outcomes}});
  return left > 0 || lost_outcomes ? 1 : 0;
}

Result<int> run(const FaultQuarantineFlags& flags, Clock& clock, const std::stop_token& stop) {
  NW_TRY_ASSIGN(const auto lines, events::lines::parse_source(flags.event_source));
  NW_TRY(check_gpu_node_label(flags.gpu_node_label));
  NW_TRY_ASSIGN(const auto rules, load_rules(flags));
  NW_TRY_ASSIGN(auto options, quarantine_options(flags, rules));
  telemetry::Metrics metrics;
  NW_TRY_ASSIGN(const auto cluster, Cluster::open({flags.kubeconfig_path, flags.context, flags.kube_api_gzip, "fault-quarantine"},
                                                  metrics, clock, stop));
  NW_TRY_ASSIGN(const auto source, events::lines::LinesSource::open(lines, flags.outcomes, clock));
  const auto judge = [&](const events::HealthEvent& event, const kube::Node& node) { return rules.book.judge(event, node); };
  LeaseFlags lease = flags.lease;
  if (flags.print_only) lease.leader_elect = false;  // it sends nothing
  NW_TRY_ASSIGN(const auto leadership, Leadership::open(lease, "fault-quarantine", cluster->client(), clock));
  NodeEvents node_events(cluster->client(), "fault-quarantine", clock);
  options.fence = leadership->fence();
  options.on_refused = [&](const kube::NodeName& node, const std::string& why) { node_events.warn(node, kWriteRefused, why); };
  if (flags.node_events && !flags.print_only) {
    options.on_settled = [&](const auto& event, const auto& judgement) { announce(node_events, event, judgement); };
  }
  quarantine::FaultQuarantine controller(cluster->client(), *source, judge, std::move(options), metrics, clock);
  NW_TRY_ASSIGN(const auto health, serve_health(flags.metrics_port, health_of(controller, *leadership, metrics)));
  tell_start(flags, cluster->source(), source->description());
  Result<std::size_t> left = 0;
  NW_TRY(leadership->run(
      stop, [&] { controller.resume(); }, [&](const std::stop_token& end) { left = controller.run(end); }));
  NW_TRY(left);
  return tell_end(flags, *left, source->lost_outcomes());
}

int main(const std::vector<std::string>& args) {
  const auto flags = read_fault_quarantine_flags(args);
  if (!flags) {
    fmt::print(stderr, "{}", flags.error().text);
    return flags.error().exit_code;
  }
  if (flags->version) {
    fmt::print("fault-quarantine {}\n", version());
    return 0;
  }
  const auto refusal = refusal_of(*flags);
  if (refusal && refusal->exit_code == 2) {
    fmt::print(stderr, "fault-quarantine: {}\n", refusal->sentence);
    return 2;
  }
  return run_controller("fault-quarantine", [&](Clock& clock, const std::stop_token& stop) -> Result<int> {
    if (refusal) return fail(ErrorCode::kInvalid, refusal->sentence);
    return run(*flags, clock, stop);
  });
}

}  // namespace
}  // namespace nodeward::apps

int main(int argc, char** argv) { return nodeward::apps::main({argv + 1, argv + argc}); }
