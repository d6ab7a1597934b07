// The version of this build, as `--version` and the log show it.
#pragma once

#include <string_view>

namespace nodeward {

std::string_view version();   // "0.1.0"

}  // namespace nodeward
