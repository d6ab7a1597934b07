#include "cel/compile_error.h"

#include <fmt/format.h>
#include <algorithm>

#include "cel/unicode.h"

namespace nodeward::cel {
namespace {

constexpr std::size_t kBefore = 60, kAfter = 40;   // code points shown around the place

}  // namespace

std::string CompileError::to_text() const { return fmt::format("{}:{}: {}\n  {}\n  {}", line, column, message, excerpt, caret); }

CompileError compile_error_at(std::string_view text, std::size_t at, std::string message) {
  CompileError error;
  error.message = std::move(message);
  at = std::min(at, text.size());
  const std::size_t last_break = at == 0 ? std::string_view::npos : text.rfind('\n', at - 1);
  const std::size_t line_begin = last_break == std::string_view::npos ? 0 : last_break + 1;
  error.line = static_cast<std::size_t>(std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(line_begin), '\n')) +
               1;
  const std::size_t before = count_code_points(text.substr(line_begin, at - line_begin));
  error.column = before + 1;

  const std::size_t skipped = before > kBefore ? before - kBefore : 0;
  std::size_t place = line_begin;
  for (std::size_t i = 0; i < skipped; ++i) next_code_point(text, place);
  for (std::size_t shown = 0; place < text.size() && text[place] != '\n' && shown < before - skipped + kAfter; ++shown) {
    bool valid = true;
    const char32_t point = next_code_point(text, place, &valid);
    append_code_point(error.excerpt, point < 0x20 || point == 0x7F ? U' ' : point);   // a tab would move the caret
  }
  error.caret = std::string(before - skipped, ' ') + '^';
  return error;
}

}  // namespace nodeward::cel
