// The differences that are meant: the table of docs/sim.md's section "Differences", whose first column names steps of the list in
// backquotes and whose last says why.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/error.h"

namespace nodeward::differential {

// Step -> reason. kInvalid: no such section, a row without a reason, a step named twice.
Result<std::map<std::string, std::string>> parse_differences(std::string_view page);

}  // namespace nodeward::differential
