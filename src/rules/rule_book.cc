#include "rules/rule_book.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "cel/environment.h"
#include "rules/views.h"

namespace nodeward::rules {
namespace {

// The two variables, each made when the first condition asks for it.
class Inputs {
 public:
  Inputs(const events::HealthEvent& event, const kube::Node& node, bool whole_taints)
      : event_(event), node_(node), whole_taints_(whole_taints) {}

  cel::Value evaluate(ConditionKind kind, const cel::Program& program) {
    const cel::Value value = kind == ConditionKind::kHealthEvent ? event() : node();
    return program.evaluate({&value, 1}, scratch_);
  }

 private:
  cel::Value event() {
    if (!event_view_) event_view_ = event_view(event_, arena_);
    return *event_view_;
  }
  cel::Value node() {
    if (!node_view_) node_view_ = node_view(node_, whole_taints_, arena_);
    return *node_view_;
  }

  const events::HealthEvent& event_;
  const kube::Node& node_;
  const bool whole_taints_;
  std::optional<cel::Value> event_view_;
  std::optional<cel::Value> node_view_;
  cel::Arena arena_;        // of the variables; the scratch is emptied at each evaluation
  cel::Scratch scratch_;
};

void note(std::string& problem, std::string_view list, std::size_t condition, std::string_view why) {
  problem += fmt::format("{}match.{}[{}]: {}", problem.empty() ? "" : "; ", list, condition, why);
}

void add_key(kube::KeySet& keys, const std::string& key) {
  if (!keys.wants(key)) keys.keys.push_back(key);
}

// One of metadata or spec; path[0] names it.
void select_metadata(kube::NodeSelection& selection, const cel::Touch& touch) {
  const auto& path = touch.path;
  if (path.size() == 1) {
    if (!touch.presence_only) selection.labels.all = selection.annotations.all = selection.metadata_members.all = true;
  } else if (path[1] == "labels" || path[1] == "annotations") {
    kube::KeySet& keys = path[1] == "labels" ? selection.labels : selection.annotations;
    if (path.size() > 2) {
      add_key(keys, path[2]);
    } else if (!touch.presence_only) {
      keys.all = true;
    }
  } else {
    add_key(selection.metadata_members, path[1]);
  }
}

void select_spec(kube::NodeSelection& selection, const cel::Touch& touch) {
  const auto& path = touch.path;
  selection.spec = true;
  if (path.size() > 1) {
    if (path[1] != "taints" && path[1] != "unschedulable") add_key(selection.spec_members, path[1]);
  } else if (!touch.presence_only) {
    selection.spec_members.all = true;
  }
}

void select(kube::NodeSelection& selection, const cel::Touch& touch) {
  if (touch.path.empty()) {
    select_metadata(selection, {touch.variable, {"metadata"}});
    select_spec(selection, {touch.variable, {"spec"}});
  } else if (touch.path[0] == "metadata") {
    select_metadata(selection, touch);
  } else if (touch.path[0] == "spec") {
    select_spec(selection, touch);
  }
}

bool reads_taints(const cel::Touch& touch) {
  const auto& path = touch.path;
  if (path.empty()) return true;
  if (path[0] != "spec" || (path.size() == 1 && touch.presence_only)) return false;
  return path.size() == 1 || (path[1] == "taints" && !(path.size() == 2 && touch.presence_only));
}

// ---- Judging ------------------------------------------------------------------------------------------------------------------

using Matching = std::vector<const CompiledSet*>;

// The first that is true decides, whatever failed before it.
bool any_true(const CompiledSet& set, Inputs& inputs, std::string& problem) {
  std::string failed;
  for (std::size_t i = 0; i < set.any.size(); ++i) {
    const cel::Value value = inputs.evaluate(set.any[i].kind, set.any[i].program);
    if (value.is_true()) return true;
    if (value.is_error()) note(failed, "any", i, value.text());
  }
  problem += failed;
  return false;
}

// The first that is false or fails decides.
bool all_true(const CompiledSet& set, Inputs& inputs, std::string& problem) {
  for (std::size_t i = 0; i < set.all.size(); ++i) {
    const cel::Value value = inputs.evaluate(set.all[i].kind, set.all[i].program);
    if (value.is_error()) note(problem, "all", i, value.text());
    if (!value.is_true()) return false;
  }
  return !set.all.empty();
}

// Of the sets that give one key and value, one decides the effect; of those left that give one key and effect, one decides the
// value. The higher priority wins, then the earlier in the file.
std::vector<kube::Taint> merged_taints(const Matching& sets) {
  Matching ranked;
  std::copy_if(sets.begin(), sets.end(), std::back_inserter(ranked),
               [](const CompiledSet* one) { return one->set.taint.has_value(); });
  std::stable_sort(ranked.begin(), ranked.end(), [](const auto* a, const auto* b) { return a->set.priority > b->set.priority; });
  const auto keep_first = [&ranked](auto&& same) {
    Matching kept;
    for (const CompiledSet* one : ranked) {
      const auto beats = [&](const CompiledSet* better) { return same(*better->set.taint, *one->set.taint); };
      if (std::none_of(kept.begin(), kept.end(), beats)) kept.push_back(one);
    }
    ranked = std::move(kept);
  };
  keep_first([](const kube::Taint& a, const kube::Taint& b) { return a.key == b.key && a.value == b.value; });
  keep_first([](const kube::Taint& a, const kube::Taint& b) { return a.same_identity(b); });
  std::sort(ranked.begin(), ranked.end(), [](const auto* a, const auto* b) { return a->order < b->order; });
  std::vector<kube::Taint> taints;
  for (const CompiledSet* one : ranked) taints.push_back(*one->set.taint);
  return taints;
}

// Per key the higher priority wins, then the later in the file.
std::vector<RuleLabel> merged_labels(const Matching& sets) {
  std::map<std::string, RuleLabel> by_key;
  for (const CompiledSet* one : sets) {
    if (!one->set.label) continue;
    const auto& [key, value] = *one->set.label;
    const auto [place, is_new] = by_key.try_emplace(key);
    if (is_new || one->set.priority >= place->second.priority) place->second = {key, value, one->set.priority, one->order};
  }
  std::vector<RuleLabel> labels;
  for (auto& [key, label] : by_key) labels.push_back(std::move(label));
  return labels;
}

}  // namespace

Verdict RuleBook::judge(const events::HealthEvent& event, const kube::Node& node) const {
  Inputs inputs(event, node, reads_taints_);
  Verdict verdict;
  Matching matching;
  for (const CompiledSet& one : sets_) {
    std::string problem;
    if (any_true(one, inputs, problem) || all_true(one, inputs, problem)) {
      matching.push_back(&one);
    } else if (!problem.empty()) {
      verdict.errors.push_back({one.set.name, std::move(problem)});
    }
  }
  for (const CompiledSet* one : matching) {
    verdict.matched.push_back(one->set.name);
    if (one->set.cordon) verdict.cordon_reasons.push_back(one->set.name);
    verdict.cordon |= one->set.cordon;
  }
  verdict.taints = merged_taints(matching);
  verdict.labels = merged_labels(matching);
  return verdict;
}

// ---- What is known of the whole -----------------------------------------------------------------------------------------------

std::vector<std::string> RuleBook::names() const {
  std::vector<std::string> all;
  for (const CompiledSet& one : sets_) all.push_back(one.set.name);
  return all;
}

std::vector<std::string> RuleBook::label_keys() const {
  std::vector<std::string> keys;
  for (const CompiledSet& one : sets_) {
    if (one.set.label && std::find(keys.begin(), keys.end(), one.set.label->key) == keys.end())
      keys.push_back(one.set.label->key);
  }
  return keys;
}

kube::NodeSelection node_selection(const RuleBook& book) { return book.reads_; }

// ---- Compiling ----------------------------------------------------------------------------------------------------------------

namespace {

const cel::Environment& environment(ConditionKind kind) {
  const auto with = [](std::string variable) {
    cel::Environment made;
    made.variable(std::move(variable)).extension(cel::Extension::kStrings);
    return made;
  };
  static const cel::Environment kEvent = with("event");
  static const cel::Environment kNode = with("node");
  return kind == ConditionKind::kHealthEvent ? kEvent : kNode;
}

// What does not compile goes to `problems`, with its `place`.
std::vector<CompiledCondition> compile_all(const std::vector<Condition>& conditions, Problem place,
                                           std::vector<Problem>& problems) {
  std::vector<CompiledCondition> compiled;
  for (place.condition = 0; place.condition < conditions.size(); ++place.condition) {
    const Condition& one = conditions[place.condition];
    auto program = environment(one.kind).compile(one.expression, cel::Wanted::kBool);
    if (program) {
      compiled.push_back({one.kind, std::move(*program)});
      continue;
    }
    Problem& problem = problems.emplace_back(place);
    problem.message = program.error().message;
    problem.line = program.error().line;
    problem.column = program.error().column;
  }
  return compiled;
}

}  // namespace

void RuleBook::add(CompiledSet set) {
  for (const auto* conditions : {&set.any, &set.all}) {
    for (const CompiledCondition& one : *conditions) {
      if (one.kind != ConditionKind::kNode) continue;
      for (const cel::Touch& touch : one.program.touches()) {
        select(reads_, touch);
        reads_taints_ |= reads_taints(touch);
      }
    }
  }
  sets_.push_back(std::move(set));
}

Compiled compile(std::span<const RuleSet> sets) {
  Compiled result;
  for (std::size_t i = 0; i < sets.size(); ++i) {
    if (!sets[i].enabled) continue;
    const std::size_t problems = result.problems.size();
    CompiledSet set{sets[i], static_cast<int>(i), {}, {}};
    set.any = compile_all(sets[i].any, {.rule_set = i, .in_any = true}, result.problems);
    set.all = compile_all(sets[i].all, {.rule_set = i, .in_any = false}, result.problems);
    if (result.problems.size() == problems) result.book.add(std::move(set));
  }
  return result;
}

}  // namespace nodeward::rules
