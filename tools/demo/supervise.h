// Runs work that starts processes of its own (tests/api/child.h) so that Ctrl-C may come at any moment of it: afterwards no
// process and no temporary folder is left. Call it first in main, before any thread.
#pragma once

#include <functional>

namespace nodeward::demo {

// The exit code of `work`, or 128 + the number of the signal that ended it.
int supervise(const std::function<int()>& work);

}  // namespace nodeward::demo
