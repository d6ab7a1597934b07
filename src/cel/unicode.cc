#include "cel/unicode.h"

#include <cstring>

namespace nodeward::cel {
namespace {

bool is_tail(std::string_view text, std::size_t at) { return at < text.size() && (text[at] & 0xC0) == 0x80; }

}  // namespace

char32_t next_code_point(std::string_view text, std::size_t& at, bool* valid) {
  const auto lead = static_cast<unsigned char>(text[at]);
  if (valid != nullptr) *valid = true;
  if (lead < 0x80) {
    ++at;
    return lead;
  }
  const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  char32_t point = lead & (0xFF >> (length + 1));
  bool good = lead >= 0xC2 && lead <= 0xF4;
  for (std::size_t i = 1; good && i < length; ++i) {
    good = is_tail(text, at + i);
    if (good) point = (point << 6) | (static_cast<unsigned char>(text[at + i]) & 0x3F);
  }
  // Overlong forms, surrogates and what lies above Unicode are no characters.
  if (good && length == 3) good = point >= 0x800 && (point < 0xD800 || point > 0xDFFF);
  if (good && length == 4) good = point >= 0x10000 && point <= 0x10FFFF;
  if (good) {
    at += length;
    return point;
  }
  if (valid != nullptr) *valid = false;
  ++at;
  return kReplacement;
}

bool is_ascii(std::string_view text) {
  std::size_t at = 0;
  for (; at + 8 <= text.size(); at += 8) {
    std::uint64_t word;
    std::memcpy(&word, text.data() + at, 8);
    if ((word & 0x8080808080808080ULL) != 0) return false;
  }
  for (; at < text.size(); ++at) {
    if ((text[at] & 0x80) != 0) return false;
  }
  return true;
}

std::size_t count_code_points(std::string_view text) {
  if (is_ascii(text)) return text.size();
  std::size_t count = 0;
  for (std::size_t at = 0; at < text.size(); ++count) next_code_point(text, at);
  return count;
}

bool is_utf8(std::string_view text) {
  bool valid = true;
  for (std::size_t at = 0; valid && at < text.size();) next_code_point(text, at, &valid);
  return valid;
}

std::size_t encode_code_point(char32_t point, char* to) {
  if (point < 0x80) {
    to[0] = static_cast<char>(point);
    return 1;
  }
  const std::size_t length = point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
  for (std::size_t i = length - 1; i > 0; --i, point >>= 6) to[i] = static_cast<char>(0x80 | (point & 0x3F));
  to[0] = static_cast<char>((0xF00 >> length) | point);
  return length;
}

void append_code_point(std::string& text, char32_t point) {
  char bytes[4];
  text.append(bytes, encode_code_point(point, bytes));
}

bool is_unicode_space(char32_t c) {
  return (c >= 9 && c <= 13) || c == ' ' || c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) ||
         c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

}  // namespace nodeward::cel
