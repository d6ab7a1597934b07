// Numbers as text and back, in the forms that CEL took over from Go. Private to this folder.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace nodeward::cel {

std::string double_text(double value);                         // shortest that reads back: 1e+06, 123.456, +Inf, NaN
std::string fixed_double(double value);                        // the same without an exponent: 1000000, Infinity
std::string double_literal(double value);                      // as a CEL literal: 24.0, 1e+06
std::optional<double> parse_double(std::string_view text);     // decimal, Inf, Infinity, NaN in any case
std::optional<std::uint64_t> parse_uint(std::string_view text);

}  // namespace nodeward::cel
