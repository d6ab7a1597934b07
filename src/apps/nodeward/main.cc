// nodeward: the operator's tool. Each subcommand lives in a file of its own and is added here.
#include <CLI/CLI.hpp>
#include <string>

#include "apps/nodeward/cel_command.h"
#include "apps/nodeward/rules_command.h"
#include "base/version.h"

int main(int argc, char** argv) {
  CLI::App app("See, explain, rehearse and release what Nodeward does to nodes.", "nodeward");
  app.set_version_flag("--version", std::string(nodeward::version()));
  app.require_subcommand(1);
  int exit_code = 0;
  nodeward::apps::add_cel_command(app, exit_code);
  nodeward::apps::add_rules_command(app, exit_code);
  CLI11_PARSE(app, argc, argv);
  return exit_code;
}
