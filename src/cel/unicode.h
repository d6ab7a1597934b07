// UTF-8, code point by code point. Bytes that are no UTF-8 count as one character each (U+FFFD), as Go's range loop does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace nodeward::cel {

constexpr char32_t kReplacement = 0xFFFD;

// Decodes at `at` and moves it on; `at` must be below text.size(). *valid tells a real U+FFFD from a broken byte.
char32_t next_code_point(std::string_view text, std::size_t& at, bool* valid = nullptr);
std::size_t count_code_points(std::string_view text);
bool is_utf8(std::string_view text);
bool is_ascii(std::string_view text);
std::size_t encode_code_point(char32_t code_point, char* to);   // bytes written, 1 to 4; `to` holds 4
void append_code_point(std::string& text, char32_t code_point);
bool is_unicode_space(char32_t code_point);   // White_Space, as Go's unicode.IsSpace

}  // namespace nodeward::cel
