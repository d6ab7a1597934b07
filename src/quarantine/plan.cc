#include "quarantine/plan.h"

#include <utility>

#include "quarantine/fold.h"

namespace nodeward::quarantine {

std::string_view to_string(Status status) {
  switch (status) {
    case Status::kQuarantined: return "Quarantined";
    case Status::kAlreadyQuarantined: return "AlreadyQuarantined";
    case Status::kUnQuarantined: return "UnQuarantined";
  }
  return "";
}

std::string_view name_of(const Decision& decision) {
  struct Name {
    std::string_view operator()(const Ignore&) const { return "ignore"; }
    std::string_view operator()(const Quarantine&) const { return "quarantine"; }
    std::string_view operator()(const Merge&) const { return "merge"; }
    std::string_view operator()(const PartialRecovery&) const { return "partial-recovery"; }
    std::string_view operator()(const Release&) const { return "release"; }
    std::string_view operator()(const Stuck&) const { return "stuck"; }
  };
  return std::visit(Name{}, decision);
}

bool to_act_on(const events::HealthEvent& event) {
  return event.processing_strategy == events::kStrategyUnspecified || event.processing_strategy == events::kExecuteRemediation;
}

Plan plan_for(std::span<const events::Arrived> waiting, const kube::Node& node, const Judge& judge, WallTime now,
              const Options& options) {
  Fold fold(node, judge, now, options);
  for (const events::Arrived& arrived : waiting) {
    if (!fold.take(arrived.event)) break;
  }
  return std::move(fold).plan();
}

}  // namespace nodeward::quarantine
