// Runs a program and keeps what it prints, for at most so long and so much. The child has a process group, a signal mask and
// signal actions of its own, an empty standard input and none of our open files. Any thread. Private to kube/config.
#pragma once

#include <cstddef>
#include <stop_token>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/error.h"

namespace nodeward::kube {

struct ChildCommand {
  std::vector<std::string> arguments;    // the first is the program: a path with a slash, or a name to be found in PATH
  std::vector<std::string> environment;  // all of it, NAME=value
};

struct ChildLimits {
  Duration time = 30s;
  std::size_t output = 1024 * 1024;
};

struct ChildOutput {
  int exit_code = 0;      // 128 + the signal that ended it, as a shell says it
  std::string output;     // standard output
  std::string complaint;  // the start of standard error
};

// Messages say what happened to the program, never what it printed. kNotFound: there is no such program. A child that
// takes too long, prints too much or is in the way of a stop is killed with its process group.
Result<ChildOutput> run_child(const ChildCommand& command, const ChildLimits& limits, const std::stop_token& stop);

}  // namespace nodeward::kube
