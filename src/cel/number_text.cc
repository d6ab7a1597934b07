#include "cel/number_text.h"

#include <fmt/format.h>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "base/text.h"

namespace nodeward::cel {

namespace {

// The shortest digits that read back as the value: -1.25e+02 is negative, "125", 2.
struct Digits {
  bool negative = false;
  std::string digits;
  int exponent = 0;
};
Digits shortest(double value) {
  char buffer[64];
  const auto result = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific);
  std::string_view text(buffer, static_cast<std::size_t>(result.ptr - buffer));
  Digits parts;
  parts.negative = text.starts_with('-');
  if (parts.negative) text.remove_prefix(1);
  const auto mark = text.find('e');
  for (const char c : text.substr(0, mark)) {
    if (c != '.') parts.digits += c;
  }
  text.remove_prefix(mark + (text[mark + 1] == '+' ? 2 : 1));
  std::from_chars(text.data(), text.data() + text.size(), parts.exponent);
  return parts;
}

}  // namespace

std::string fixed_double(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  Digits parts = shortest(value);
  if (parts.exponent < 0) {
    parts.digits.insert(0, static_cast<std::size_t>(-parts.exponent), '0');
    parts.exponent = 0;
  }
  const auto whole = static_cast<std::size_t>(parts.exponent) + 1;
  if (parts.digits.size() < whole) parts.digits.append(whole - parts.digits.size(), '0');
  std::string text = (parts.negative ? "-" : "") + parts.digits.substr(0, whole);
  if (parts.digits.size() > whole) text += "." + parts.digits.substr(whole);
  return text;
}

std::string double_text(double value) {
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  if (std::isnan(value)) return "NaN";
  const Digits parts = shortest(value);
  if (parts.exponent >= -4 && parts.exponent < 6) return fixed_double(value);   // Go's %g
  char buffer[64];
  return {buffer, std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific).ptr};
}

std::string double_literal(double value) {
  if (!std::isfinite(value)) return fmt::format("double('{}')", double_text(value));
  std::string text = double_text(value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

std::optional<double> parse_double(std::string_view text) {
  const bool negative = text.starts_with('-');
  std::string_view digits = text;
  if (negative || text.starts_with('+')) digits.remove_prefix(1);
  const std::string word = lowered(digits);
  if (word == "inf" || word == "infinity") return negative ? -HUGE_VAL : HUGE_VAL;
  if (word == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (word.empty() || (word.front() != '.' && (word.front() < '0' || word.front() > '9'))) return std::nullopt;
  double value = 0;
  const auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (end != digits.data() + digits.size()) return std::nullopt;
  if (problem == std::errc::result_out_of_range) value = std::strtod(std::string(digits).c_str(), nullptr);
  if ((problem != std::errc() && problem != std::errc::result_out_of_range) || std::isinf(value)) return std::nullopt;
  return negative ? -value : value;
}

std::optional<std::uint64_t> parse_uint(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace nodeward::cel
