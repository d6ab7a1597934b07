#include "config/checks.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/text.h"

namespace nodeward::config {
namespace {

bool is_lower_or_digit(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }
bool is_alphanumeric(char c) { return is_lower_or_digit(c) || (c >= 'A' && c <= 'Z'); }
bool is_inner(char c) { return is_alphanumeric(c) || c == '-' || c == '_' || c == '.'; }

// At most 63 characters, a letter or digit at both ends.
bool is_qualified_name(std::string_view name) {
  return !name.empty() && name.size() <= 63 && is_alphanumeric(name.front()) && is_alphanumeric(name.back()) &&
         std::all_of(name.begin(), name.end(), is_inner);
}

bool is_dns_subdomain(std::string_view name) {
  if (name.empty() || name.size() > 253) return false;
  for (const std::string& part : split(name, '.')) {
    if (part.empty() || !is_lower_or_digit(part.front()) || !is_lower_or_digit(part.back())) return false;
    if (!std::all_of(part.begin(), part.end(), [](char c) { return is_lower_or_digit(c) || c == '-'; })) return false;
  }
  return true;
}

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

bool is_label_key(std::string_view key) {
  const auto slash = key.find('/');
  if (slash == std::string_view::npos) return is_qualified_name(key);
  return is_dns_subdomain(key.substr(0, slash)) && is_qualified_name(key.substr(slash + 1));
}

bool is_label_value(std::string_view value) { return value.empty() || is_qualified_name(value); }

bool is_taint_effect(std::string_view effect) {
  return effect == "NoSchedule" || effect == "PreferNoSchedule" || effect == "NoExecute";
}

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

}  // namespace nodeward::config
