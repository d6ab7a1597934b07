#include "base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <sstream>

namespace nodeward {

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const auto first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

std::string lowered(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return out;
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (true) {
    const auto end = text.find(separator);
    parts.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::optional<std::int64_t> parse_int(std::string_view text) {
  if (text.starts_with('+')) {
    text.remove_prefix(1);
    if (text.starts_with('-')) return std::nullopt;
  }
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<bool> parse_go_bool(std::string_view text) {
  for (const auto word : {"1", "t", "T", "TRUE", "true", "True"})
    if (text == word) return true;
  for (const auto word : {"0", "f", "F", "FALSE", "false", "False"})
    if (text == word) return false;
  return std::nullopt;
}

Result<std::string> read_file(const std::filesystem::path& file) {
  errno = 0;
  std::ifstream in(file, std::ios::binary);
  std::error_code ignored;
  if (std::filesystem::is_directory(file, ignored))
    return fail(ErrorCode::kInvalid, fmt::format("{}: is a folder, not a file", file.string()));
  if (!in) {
    const int reason = errno;
    return fail(reason == ENOENT ? ErrorCode::kNotFound : ErrorCode::kInvalid,
                fmt::format("{}: cannot be read: {}", file.string(), std::strerror(reason)));
  }
  std::ostringstream out;
  out << in.rdbuf();
  return std::move(out).str();
}

}  // namespace nodeward
