// The enabled rule sets of a configuration, compiled: an event and a node in, the verdict out (FQ spec, sections 5 and 6.1).
//   Compiled compiled = compile(config.rule_sets);
//   if (compiled.problems.empty()) verdict = compiled.book.judge(event, node);
// Pure. judge() may be called by any number of threads.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "cel/program.h"
#include "events/event.h"
#include "kube/objects.h"
#include "rules/rule_set.h"
#include "rules/verdict.h"

namespace nodeward::rules {

struct CompiledCondition {
  ConditionKind kind;
  cel::Program program;
};
struct CompiledSet {
  RuleSet set;
  int order = 0;                                  // in the file, disabled sets counted
  std::vector<CompiledCondition> any;
  std::vector<CompiledCondition> all;
};

class RuleBook {
 public:
  // Judged in the order of the file, so that equal facts give equal verdicts. A set whose conditions fail counts as not matched.
  Verdict judge(const events::HealthEvent& event, const kube::Node& node) const;

  std::vector<std::string> names() const;  // of the enabled sets, in file order
  std::vector<std::string> label_keys() const;  // that sets may write
  // What the cache must keep of a node for judge() to see it all.
  friend kube::NodeSelection node_selection(const RuleBook& book);

  void add(CompiledSet set);  // compile() does

 private:
  std::vector<CompiledSet> sets_;
  kube::NodeSelection reads_;
  bool reads_taints_ = false;  // what is in them, not only whether there are any
};

// What is wrong with one expression; line and column, from 1, are within it, columns count code points.
struct Problem {
  std::size_t rule_set = 0;  // index in the file
  bool in_any = false;  // of match.any, else match.all
  std::size_t condition = 0;
  std::string message = {};
  std::size_t line = 1;
  std::size_t column = 1;
};

struct Compiled {
  RuleBook book;  // without the sets that have problems
  std::vector<Problem> problems;  // all there are
};
Compiled compile(std::span<const RuleSet> sets);

kube::NodeSelection node_selection(const RuleBook& book);

}  // namespace nodeward::rules
