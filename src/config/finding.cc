#include "config/finding.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace nodeward::config {
namespace {

constexpr std::size_t kWidth = 120;   // bytes of a line that are shown

bool continues_character(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

// The byte where the code point `column` (from 1) begins; the end for one past it.
std::size_t byte_of_column(std::string_view line, std::size_t column) {
  std::size_t at = 0;
  for (std::size_t seen = 1; at < line.size(); ++at) {
    if (continues_character(line[at])) continue;
    if (seen++ == column) break;
  }
  return at;
}

// The part of a long line around `at`; `at` becomes its place in that part.
std::string_view window(std::string_view line, std::size_t& at) {
  if (line.size() <= kWidth) return line;
  std::size_t begin = at > kWidth / 2 ? at - kWidth / 2 : 0;
  while (begin > 0 && continues_character(line[begin])) --begin;
  std::size_t end = std::min(begin + kWidth, line.size());
  while (end < line.size() && continues_character(line[end])) ++end;
  at -= begin;
  return line.substr(begin, end - begin);
}

// On one line, whatever names and values of the file it holds: control characters as TOML writes them, the middle of a long one left
// out.
std::string printable(std::string_view message) {
  constexpr std::size_t kMost = 1000;
  std::string out;
  for (const char c : shortened(message, kMost)) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
  return out;
}

// Blanks as wide as `text`, so that a tab stays a tab.
std::string blanks(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (!continues_character(c)) out += c == '\t' ? '\t' : ' ';
  }
  return out;
}

// A file that is refused for its control characters must not send them to a terminal. A tab stays one.
std::string without_controls(std::string_view shown) {
  std::string out(shown);
  for (char& c : out) {
    if ((static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7f) c = '?';
  }
  return out;
}

std::string_view line_of(std::string_view text, std::size_t number) {
  for (; number > 1; --number) {
    const auto end = text.find('\n');
    if (end == std::string_view::npos) return {};
    text.remove_prefix(end + 1);
  }
  return text.substr(0, text.find_first_of("\r\n"));
}

}  // namespace

bool has_errors(const Findings& findings) {
  return std::any_of(findings.begin(), findings.end(), [](const Finding& one) { return one.severity == Severity::kError; });
}

std::string to_text(const Finding& finding, std::string_view file, std::string_view text) {
  const std::string_view word = finding.severity == Severity::kError ? "error" : "warning";
  const auto [line, column] = finding.place;
  std::string out = fmt::format("{}:{}:{}: {}: {}", file, line, column, word, printable(finding.message));
  const std::string_view whole = line_of(text, line);
  if (trimmed(whole).empty()) return out;
  std::size_t at = byte_of_column(whole, column);
  const std::string_view shown = window(whole, at);
  return out + fmt::format("\n    {}\n    {}^", without_controls(shown), blanks(shown.substr(0, at)));
}

}  // namespace nodeward::config
