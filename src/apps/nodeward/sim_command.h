// `nodeward sim`: a simulated cluster on a port of this machine, until it is interrupted (docs/sim.md).
#pragma once

#include <CLI/CLI.hpp>

namespace nodeward::apps {

// Adds the subcommand `sim`. When it was chosen, the parse runs it and sets `exit_code`: 0 after SIGINT or SIGTERM, 1 with the
// reason on standard error.
void add_sim_command(CLI::App& app, int& exit_code);

}  // namespace nodeward::apps
