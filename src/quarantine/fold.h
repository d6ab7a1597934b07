// One plan in the making: a node's state, and what the events taken so far make of it. Part of plan.h; pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "quarantine/plan.h"

namespace nodeward::quarantine {

class Fold {
 public:
  Fold(const kube::Node& node, const Judge& judge, WallTime now, const Options& options);

  // False: the event belongs to the next plan.
  bool take(const events::HealthEvent& event);
  Plan plan() &&;

 private:
  Judgement fail(const events::HealthEvent& failure);
  Judgement open(const events::HealthEvent& failure, rules::Verdict verdict);
  Judgement merge(const events::HealthEvent& failure, rules::Verdict verdict);
  Judgement recover(const events::HealthEvent& recovery);
  Judgement release();
  bool frees(const events::HealthEvent& event) const;

  void apply_measures(const events::HealthEvent& failure, const rules::Verdict& verdict);
  void taint(const kube::Taint& wanted);
  void cordon(const events::HealthEvent& failure, const rules::Verdict& verdict);
  void label(const rules::RuleLabel& wanted);
  Measures take_off();
  void take_off_cordon();
  void write_record();

  const Judge& judge_;
  const WallTime now_;
  const Options& options_;
  const kube::Node& before_;
  kube::Node node_;                          // as the events taken so far leave it
  const ReadRecord read_;
  Record record_;
  nodes::NodePatch patch_;
  std::vector<Judgement> judgements_;
  bool acted_ = false;                       // some event taken was not ignored
  bool released_ = false;
};

}  // namespace nodeward::quarantine
