// The rule file of fault-quarantine (FQ spec, section 3): read, checked whole, compiled. All that is wrong is told at once.
//   NW_TRY_ASSIGN(const FaultQuarantine config, load_fault_quarantine(path, {}));
//   if (!config.good()) for (const Finding& one : config.findings) print(to_text(one, path, config.text));
// Nothing here is read again while the program runs.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "config/finding.h"
#include "rules/rule_book.h"
#include "rules/rule_set.h"

namespace nodeward::config {

struct Breaker {
  int percentage = 0;             // of the GPU nodes; 0: no such bound
  Duration duration{};            // the window in which nodes are counted
  int max_nodes = 0;              // in the window; 0: no such bound
  int max_cordoned_nodes = 0;     // at all; 0: no such bound
};

struct FaultQuarantine {
  std::string label_prefix;
  Breaker breaker;
  std::vector<rules::RuleSet> rule_sets;   // all, in file order, disabled ones too
  rules::RuleBook book;                    // of the enabled ones
  Findings findings;                       // in the order of the file
  std::string text;                        // what the findings' places are in

  bool good() const { return !has_errors(findings); }
};

struct LoadOptions {
  bool breaker_enabled = true;             // else [circuitBreaker] may be missing, and what is wrong with it is a warning
};

FaultQuarantine read_fault_quarantine(std::string text, const LoadOptions& options);
// An error: the file cannot be read at all.
Result<FaultQuarantine> load_fault_quarantine(const std::filesystem::path& file, const LoadOptions& options);

}  // namespace nodeward::config
