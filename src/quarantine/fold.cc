#include "quarantine/fold.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "events/event_json.h"
#include "quarantine/keys.h"

namespace nodeward::quarantine {

using events::HealthEvent;
using nodes::Weight;

namespace {

constexpr std::string_view kRemoved = "-removed";
constexpr std::size_t kReasonKept = 63 - kRemoved.size();      // the whole must be a label value

// Colons are not legal in label values.
std::string label_time(WallTime time) {
  return fmt::format("{:%Y-%m-%dT%H-%M-%SZ}", fmt::gmtime(std::chrono::time_point_cast<std::chrono::seconds>(time)));
}

kube::Taint as_taint(const AppliedTaint& taint) { return {taint.key, taint.value, taint.effect, {}}; }

bool forced(const HealthEvent& event) { return event.quarantine_overrides && event.quarantine_overrides->force; }

std::string cordoned_by(const HealthEvent& failure) {
  if (!forced(failure)) return std::string(kOurName);
  const bool known = failure.metadata && failure.metadata->contains("creator_id");
  return known ? fmt::format("{}-{}", failure.agent, failure.metadata->at("creator_id")) : failure.agent;
}

// The message is made legal before the names are joined to it: a full stop at its end is no part of the reason.
std::string cordon_reason(const HealthEvent& failure, const rules::Verdict& verdict) {
  std::vector<std::string> parts = verdict.cordon_reasons;
  if (forced(failure)) parts.insert(parts.begin(), nodes::legal_label_value(failure.message));
  return fmt::format("{}", fmt::join(parts, "-"));
}

Measures measures_of(const HealthEvent& failure, const rules::Verdict& verdict) {
  Measures measures{.taints = verdict.taints, .label_keys = {}, .cordon = verdict.cordon || forced(failure)};
  for (const rules::RuleLabel& label : verdict.labels) measures.label_keys.push_back(label.key);
  return measures;
}

}  // namespace

Fold::Fold(const kube::Node& node, const Judge& judge, WallTime now, const Options& options)
    : judge_(judge),
      now_(now),
      options_(options),
      before_(node),
      node_(node),
      read_(read_record(node)),
      record_(read_.record),
      patch_(node.name) {
  if (read_.present) patch_.guarded();
}

bool Fold::take(const HealthEvent& event) {
  if (released_ || (acted_ && frees(event))) return false;
  judgements_.push_back(event.is_healthy ? recover(event) : fail(event));
  acted_ = acted_ || !std::holds_alternative<Ignore>(judgements_.back().decision);
  return true;
}

Plan Fold::plan() && {
  if (!released_) write_record();
  return {std::move(patch_), std::move(judgements_), read_.unreadable};
}

Judgement Fold::fail(const HealthEvent& failure) {
  if (acted_) node_ = patch_.applied(before_);
  rules::Verdict verdict = judge_(failure, node_);
  return record_.events.empty() ? open(failure, std::move(verdict)) : merge(failure, std::move(verdict));
}

Judgement Fold::open(const HealthEvent& failure, rules::Verdict verdict) {
  if (!verdict.acts() && !forced(failure)) return {Ignore{"no rule set asks for anything"}, std::nullopt, std::move(verdict)};
  add(record_.events, failure);
  for (const std::string_view mark : {kUncordonedManually, kUntaintedManually}) patch_.drop_annotation(mark);
  patch_.label(kState, kStateQuarantined, Weight::kMark);
  apply_measures(failure, verdict);
  return {Quarantine{measures_of(failure, verdict)}, Status::kQuarantined, std::move(verdict)};
}

Judgement Fold::merge(const HealthEvent& failure, rules::Verdict verdict) {
  if (verdict.matched.empty() && !forced(failure))
    return {Ignore{"no rule set matches"}, std::nullopt, std::move(verdict), false};
  // It comes again after it opened the quarantine: its status was lost on the way.
  const bool opener = !failure.id.empty() && record_.events.front().id == failure.id;
  const std::size_t taints = record_.taints.size();
  const bool cordoned = record_.cordoned;
  add(record_.events, failure);
  apply_measures(failure, verdict);
  Merge merged{.added = {.taints = {}, .label_keys = {}, .cordon = record_.cordoned && !cordoned}};
  for (std::size_t i = taints; i < record_.taints.size(); ++i) merged.added.taints.push_back(as_taint(record_.taints[i]));
  return {std::move(merged), opener ? Status::kQuarantined : Status::kAlreadyQuarantined, std::move(verdict), false};
}

bool Fold::frees(const HealthEvent& event) const {
  if (!event.is_healthy || !concerns(record_.events, event)) return false;
  Tracked left = record_.events;
  clear(left, event);
  return left.empty();
}

Judgement Fold::recover(const HealthEvent& recovery) {
  if (!concerns(record_.events, recovery)) {
    return {Ignore{"it clears no tracked failure"}, std::nullopt, {}, record_.events.empty()};
  }
  if (frees(recovery)) return release();
  clear(record_.events, recovery);
  return {PartialRecovery{}, Status::kAlreadyQuarantined, {}, false};
}

// Freeing the node by half would leave taints that no record names any more: then rather not, until the record is mended.
Judgement Fold::release() {
  if (!read_.unreadable.empty()) {
    const Unreadable& bad = read_.unreadable.front();
    return {
        Stuck{fmt::format("annotation {} cannot be read: {}", bad.annotation, bad.why)}, Status::kAlreadyQuarantined, {}, false};
  }
  released_ = true;
  return {Release{.removed = take_off(), .ended = record_.events}, Status::kUnQuarantined, {}, false};
}

Measures Fold::take_off() {
  Measures removed{.taints = {}, .label_keys = {}, .cordon = record_.cordoned && !record_.cordon_pre_existing};
  for (const AppliedTaint& applied : record_.taints) {
    if (applied.pre_existing) continue;
    const kube::Taint ours = as_taint(applied);
    removed.taints.push_back(ours);
    const auto there = [&](const kube::Taint& present) { return present.same_identity(ours) && present.value == ours.value; };
    if (std::any_of(node_.taints.begin(), node_.taints.end(), there)) patch_.drop_taint({ours.key, ours.effect});
  }
  // The rules that gave these labels may be gone from the configuration, and with them the keys from the cache.
  for (const rules::RuleLabel& label : record_.labels) {
    removed.label_keys.push_back(label.key);
    patch_.drop_label_unseen(label.key);
  }
  patch_.drop_label(kState);
  if (removed.cordon) take_off_cordon();
  for (const std::string_view suffix : {kCordonBy, kCordonReason, kCordonTimestamp}) patch_.drop_label(options_.label(suffix));
  for (const std::string_view key : {kEvents, kAppliedTaints, kAppliedLabels, kIsCordoned, kCordonPreExisting, kDryRun})
    patch_.drop_annotation(key);
  return removed;
}

void Fold::take_off_cordon() {
  patch_.unschedulable(false);
  patch_.label(options_.label(kUncordonBy), kOurName, Weight::kOrnament);
  patch_.label(options_.label(kUncordonTimestamp), label_time(now_), Weight::kOrnament);
  if (const auto reason = node_.labels.get(options_.label(kCordonReason))) {
    patch_.label(options_.label(kUncordonReason), fmt::format("{}{}", reason->substr(0, kReasonKept), kRemoved),
                 Weight::kOrnament);
  }
}

void Fold::apply_measures(const HealthEvent& failure, const rules::Verdict& verdict) {
  for (const kube::Taint& wanted : verdict.taints) taint(wanted);
  if (verdict.cordon || forced(failure)) cordon(failure, verdict);
  for (const rules::RuleLabel& wanted : verdict.labels) label(wanted);
}

// One that the record lists stays as it was applied first, and is put back where it is missing.
void Fold::taint(const kube::Taint& wanted) {
  const auto same = [&](const auto& taint) { return taint.key == wanted.key && taint.effect == wanted.effect; };
  const auto listed = std::find_if(record_.taints.begin(), record_.taints.end(), same);
  const auto present = std::find_if(node_.taints.begin(), node_.taints.end(), same);
  if (listed == record_.taints.end()) {
    record_.taints.push_back(
        {wanted.key, wanted.value, wanted.effect, present != node_.taints.end() && present->value == wanted.value});
    patch_.add_taint(wanted);
  } else if (present == node_.taints.end()) {
    patch_.add_taint(as_taint(*listed));
  }
}

// A node that is unschedulable while the record knows of no cordon was cordoned by somebody else, and stays so after the release.
void Fold::cordon(const HealthEvent& failure, const rules::Verdict& verdict) {
  if (!node_.unschedulable) {
    record_.cordon_pre_existing = false;
    patch_.unschedulable(true);
    patch_.label(options_.label(kCordonBy), cordoned_by(failure), Weight::kOrnament);
    patch_.label(options_.label(kCordonReason), cordon_reason(failure, verdict), Weight::kOrnament);
    patch_.label(options_.label(kCordonTimestamp), label_time(now_), Weight::kOrnament);
  } else if (!record_.cordoned) {
    record_.cordon_pre_existing = true;
  }
  record_.cordoned = true;
}

void Fold::label(const rules::RuleLabel& wanted) {
  merge_label(record_.labels, wanted);
  const auto winner = std::find_if(record_.labels.begin(), record_.labels.end(),
                                   [&](const auto& label) { return label.key == wanted.key; });
  patch_.label(winner->key, winner->value, Weight::kMark);
}

// Only what changed: a form that an older writer left stays until there is something to say.
void Fold::write_record() {
  const Record& was = read_.record;
  if (record_.events != was.events) patch_.annotation(kEvents, events::to_stored_json(record_.events));
  if (record_.taints != was.taints) patch_.annotation(kAppliedTaints, annotation_text(record_.taints));
  if (record_.labels != was.labels) patch_.annotation(kAppliedLabels, annotation_text(record_.labels));
  if (record_.cordoned && !was.cordoned) patch_.annotation(kIsCordoned, kTrue);
  if (record_.cordon_pre_existing && !was.cordon_pre_existing) patch_.annotation(kCordonPreExisting, kTrue);
  if (!record_.cordon_pre_existing && was.cordon_pre_existing) patch_.drop_annotation(kCordonPreExisting);
}

}  // namespace nodeward::quarantine
