#include "sim/request_body.h"

#include <fmt/format.h>

#include "base/text.h"

namespace nodeward::sim {

bool too_deep(std::string_view text) {
  int depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (quoted) {
      if (text[i] == '\\')
        ++i;
      else if (text[i] == '"')
        quoted = false;
    } else if (text[i] == '"') {
      quoted = true;
    } else if (text[i] == '{' || text[i] == '[') {
      if (++depth > kMostDepth) return true;
    } else if (text[i] == '}' || text[i] == ']') {
      --depth;
    }
  }
  return false;
}

tl::expected<Json, std::string> parse_body(std::string_view body) {
  const std::string_view text = trimmed(body);
  if (text.empty()) return tl::unexpected(std::string("unexpected end of JSON input"));
  if (too_deep(text)) return tl::unexpected(std::string("exceeded max depth"));
  Result<Json> json = parse_json(text);
  if (json) return std::move(*json);
  // The first byte decides the two most common complaints.
  if (std::string_view("{[\"-0123456789tfn").find(text.front()) == std::string_view::npos) {
    return tl::unexpected(fmt::format("invalid character '{}' looking for beginning of value", text.front()));
  }
  const bool cut = text.front() == '{' ? text.back() != '}' : text.front() == '[' && text.back() != ']';
  return tl::unexpected(cut ? std::string("unexpected end of JSON input") : json.error().message);
}

}  // namespace nodeward::sim
