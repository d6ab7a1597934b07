#include "base/go_duration.h"

#include <cstdint>
#include <utility>

namespace nodeward {
namespace {

// Takes digits with at most one point off the front; nullopt where there is no digit.
std::optional<long double> take_number(std::string_view& text) {
  long double value = 0;
  long double unit = 1;
  bool digits = false;
  for (bool fraction = false; !text.empty(); text.remove_prefix(1)) {
    const char c = text.front();
    if (c == '.' && !fraction) {
      fraction = true;
      continue;
    }
    if (c < '0' || c > '9') break;
    digits = true;
    value = value * 10 + (c - '0');
    if (fraction) unit *= 10;
  }
  return digits ? std::optional(value / unit) : std::nullopt;
}

// Takes a unit off the front: its length in nanoseconds.
std::optional<long double> take_unit(std::string_view& text) {
  constexpr std::pair<std::string_view, long double> kUnits[] = {{"ns", 1},   {"us", 1e3}, {"\xc2\xb5s", 1e3}, {"\xce\xbcs", 1e3},
                                                                 {"ms", 1e6}, {"s", 1e9},  {"m", 60e9},        {"h", 3600e9}};
  for (const auto& [name, nanoseconds] : kUnits) {
    if (!text.starts_with(name)) continue;
    text.remove_prefix(name.size());
    return nanoseconds;
  }
  return std::nullopt;
}

}  // namespace

std::optional<Duration> parse_go_duration(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  if (text == "0") return Duration{};
  if (text.empty()) return std::nullopt;
  long double total = 0;
  while (!text.empty()) {
    const auto number = take_number(text);
    const auto unit = number ? take_unit(text) : std::nullopt;
    if (!unit) return std::nullopt;
    total += *number * *unit;
  }
  if (!(total < 9.2e18L)) return std::nullopt;   // beyond what 64 bits of nanoseconds hold
  const auto nanoseconds = static_cast<std::int64_t>(total);
  return Duration(negative ? -nanoseconds : nanoseconds);
}

}  // namespace nodeward
