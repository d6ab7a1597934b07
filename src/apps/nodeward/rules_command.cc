#include "apps/nodeward/rules_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <string>

#include "config/fault_quarantine.h"

namespace nodeward::apps {
namespace {

struct CheckOptions {
  std::string file;
  bool breaker_enabled = true;
};

std::string counted(std::ptrdiff_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

std::string summary(const config::FaultQuarantine& config) {
  std::size_t conditions = 0;
  for (const rules::RuleSet& one : config.rule_sets) {
    if (one.enabled) conditions += one.any.size() + one.all.size();
  }
  return fmt::format("{}, {} of them enabled with {}", counted(std::ssize(config.rule_sets), "rule set"),
                     config.book.names().size(), counted(static_cast<std::ptrdiff_t>(conditions), "condition"));
}

int run_check(const CheckOptions& options) {
  const auto config = config::load_fault_quarantine(options.file, {.breaker_enabled = options.breaker_enabled});
  if (!config) {
    std::cerr << config.error().message << '\n';
    return 1;
  }
  for (const config::Finding& one : config->findings) std::cerr << config::to_text(one, options.file, config->text) << '\n';
  if (config->good()) {
    std::cout << options.file << ": " << summary(*config) << '\n';
    return 0;
  }
  const auto errors = std::count_if(config->findings.begin(), config->findings.end(),
                                    [](const config::Finding& one) { return one.severity == config::Severity::kError; });
  std::cerr << options.file << ": " << counted(errors, "error") << '\n';
  return 1;
}

}  // namespace

void add_rules_command(CLI::App& app, int& exit_code) {
  CLI::App* const rules = app.add_subcommand("rules", "Check a rule file of fault-quarantine: nodeward rules check FILE");
  rules->require_subcommand(1);
  CLI::App* const check = rules->add_subcommand(
      "check", "Name everything that is wrong with a rule file, with line and column; exit code 1 when it would not be loaded");
  const auto options = std::make_shared<CheckOptions>();
  check->add_option("file", options->file, "The rule file (TOML)")->required();
  check
      ->add_option("--circuit-breaker-enabled", options->breaker_enabled,
                   "As fault-quarantine will be started; false: [circuitBreaker] may be missing")
      ->check(CLI::IsMember({"true", "false"}))
      ->default_str("true");
  check->callback([options, &exit_code] { exit_code = run_check(*options); });
}

}  // namespace nodeward::apps
