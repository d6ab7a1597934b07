// `nodeward rules check FILE`: all that is wrong with a rule file of fault-quarantine, before a cluster sees it.
#pragma once

#include <CLI/CLI.hpp>

namespace nodeward::apps {

// Adds the subcommand `rules`. When it was chosen, the parse runs it and sets `exit_code`: 0 with one line on standard output, 1
// when the file would keep fault-quarantine from starting. Errors and warnings go to standard error, each with its place.
void add_rules_command(CLI::App& app, int& exit_code);

}  // namespace nodeward::apps
