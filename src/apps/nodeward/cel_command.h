// `nodeward cel eval EXPR [--event F] [--node F] [--ext all] [--explain]`: what a rule says about an event and a node.
#pragma once

#include <CLI/CLI.hpp>

namespace nodeward::apps {

// Adds the subcommand `cel`. When it was chosen, the parse runs it and sets `exit_code`: 0 with the value on standard output,
// 1 with the error and its place on standard error.
void add_cel_command(CLI::App& app, int& exit_code);

}  // namespace nodeward::apps
