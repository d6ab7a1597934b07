#include "base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>

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

std::string shortened(std::string_view text, std::size_t most) {
  constexpr std::string_view kGap = "...";
  if (text.size() <= most) return std::string(text);
  const auto continues = [&](std::size_t at) { return (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80; };
  std::size_t head = (most - std::min(most, kGap.size())) / 2;
  std::size_t tail = text.size() - head;
  while (head > 0 && continues(head)) --head;
  while (tail < text.size() && continues(tail)) ++tail;
  return fmt::format("{}{}{}", text.substr(0, head), kGap, text.substr(tail));
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
  constexpr std::size_t kMost = 256 * 1024 * 1024;
  std::string text;
  std::vector<char> chunk(64 * 1024);
  while (in.read(chunk.data(), static_cast<std::streamsize>(chunk.size())) || in.gcount() > 0) {
    text.append(chunk.data(), static_cast<std::size_t>(in.gcount()));
    if (text.size() > kMost) return fail(ErrorCode::kInvalid, fmt::format("{}: is larger than 256 MiB", file.string()));
  }
  if (in.bad()) {   // half a file must not count as the whole
    const int reason = errno;
    return fail(ErrorCode::kInvalid, fmt::format("{}: cannot be read: {}", file.string(), std::strerror(reason)));
  }
  return text;
}

}  // namespace nodeward
