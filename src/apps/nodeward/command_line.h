// The command line of nodeward as a whole: its commands, and one line for what is wrong with it. Each command is a file of its own
// that exports add_..._command; a new one is added in command_line.cc.
#pragma once

namespace nodeward::apps {

// Reads argv and runs what it says. Exit code: that of the command (0 good, 1 not), or 2 when the command line is wrong.
int run_nodeward(int argc, const char* const* argv);

}  // namespace nodeward::apps
