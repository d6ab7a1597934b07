#include "differential/differences.h"

#include <fmt/format.h>

#include <regex>

#include "base/text.h"

namespace nodeward::differential {
namespace {

constexpr std::string_view kHeading = "## Differences";

}  // namespace

Result<std::map<std::string, std::string>> parse_differences(std::string_view page) {
  static const std::regex kName("`([^`]+)`");
  std::map<std::string, std::string> reasons;
  bool found = false;
  bool inside = false;
  for (const std::string& line : split(page, '\n')) {
    if (line.starts_with("## ")) inside = trimmed(line) == kHeading;
    found = found || inside;
    if (!inside || !line.starts_with("| `")) continue;
    const std::vector<std::string> cells = split(line, '|');  // "", steps, ..., reason, ""
    const std::string reason(cells.size() >= 4 ? trimmed(cells[cells.size() - 2]) : "");
    if (reason.empty()) return fail(ErrorCode::kInvalid, "a difference without a reason: " + line);
    for (std::sregex_iterator at(cells[1].begin(), cells[1].end(), kName), end; at != end; ++at) {
      if (!reasons.emplace((*at)[1], reason).second)
        return fail(ErrorCode::kInvalid, fmt::format("{}: listed twice", (*at)[1].str()));
    }
  }
  if (!found) return fail(ErrorCode::kInvalid, fmt::format("no section \"{}\"", kHeading));
  return reasons;
}

}  // namespace nodeward::differential
