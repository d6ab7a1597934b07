// What is wrong with, or odd about, a file: where, and what would be right. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace nodeward::config {

struct Place {
  std::size_t line = 1;     // from 1
  std::size_t column = 1;   // from 1, in code points
  friend auto operator<=>(const Place&, const Place&) = default;
};

enum class Severity { kWarning, kError };

struct Finding {
  Severity severity = Severity::kError;
  Place place;
  std::string message;
};
using Findings = std::vector<Finding>;

bool has_errors(const Findings& findings);

// rules.toml:15:3: error: what is wrong
//     the line of `text`
//       ^
std::string to_text(const Finding& finding, std::string_view file, std::string_view text);

}  // namespace nodeward::config
