#include "apps/nodeward/command_line.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "apps/nodeward/cel_command.h"
#include "apps/nodeward/rules_command.h"
#include "apps/nodeward/sim_command.h"
#include "base/version.h"

namespace nodeward::apps {
namespace {

std::string what_is_wrong(const CLI::App& command, const CLI::ParseError& error) {
  std::vector<std::string> choices;
  for (const CLI::App* const one : command.get_subcommands([](const CLI::App*) { return true; }))
    choices.push_back(one->get_name());
  const auto strays = command.remaining();
  if (!strays.empty() && strays.front().front() == '-') return fmt::format("unknown flag {}", strays.front());
  if (!choices.empty()) {
    const std::string what = strays.empty() ? "a command is missing" : fmt::format("unknown command \"{}\"", strays.front());
    return fmt::format("{}; there are: {}", what, fmt::join(choices, ", "));
  }
  if (!strays.empty()) return fmt::format("\"{}\" is too much", strays.front());
  return error.what();
}

// CLI11's own words name neither a mistyped command nor the choices.
std::string in_one_line(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App* command = &app;
  std::string name = app.get_name();
  while (!command->get_subcommands().empty()) {
    command = command->get_subcommands().front();
    name += " " + command->get_name();
  }
  return fmt::format("{}: {} ({} --help says more)\n", name, what_is_wrong(*command, error), name);
}

}  // namespace

int run_nodeward(int argc, const char* const* argv) {
  CLI::App app("Nodeward's tool for operators: try and check rules before a cluster meets them, run a simulated one.",
               "nodeward");
  app.set_version_flag("--version", fmt::format("nodeward {}", version()), "Print the version and end");
  app.footer("Exit codes: 0 good, 1 what was looked at is wrong, 2 the command line is.");
  app.require_subcommand(1);
  int exit_code = 0;
  add_cel_command(app, exit_code);
  add_rules_command(app, exit_code);
  add_sim_command(app, exit_code);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);   // --help, --version
    fmt::print(stderr, "{}", in_one_line(app, error));
    return 2;
  }
  return exit_code;
}

}  // namespace nodeward::apps
