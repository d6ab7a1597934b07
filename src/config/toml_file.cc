#include "config/toml_file.h"

#include <fmt/format.h>

#include "base/text.h"

namespace nodeward::config {
namespace {

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

Place place_of(const toml::source_position& position) { return {position.line, position.column}; }

bool continues_character(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

// Moves over one code point.
void step(std::string_view text, std::size_t& at, Place& place) {
  const bool line_end = text[at] == '\n';
  for (++at; at < text.size() && continues_character(text[at]); ++at) {
  }
  place = line_end ? Place{place.line + 1, 1} : Place{place.line, place.column + 1};
}

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n'; }

// How many characters of the file stand for one of the value; `escaped` follows a backslash, or is NUL.
std::size_t source_length(char escaped) {
  switch (escaped) {
    case '\0': return 1;
    case 'u': return 6;
    case 'U': return 10;
    default: return 2;
  }
}

std::string_view kind_of(const toml::node& node) {
  switch (node.type()) {
    case toml::node_type::string: return "text";
    case toml::node_type::integer: return "a whole number";
    case toml::node_type::floating_point: return "a number with a point";
    case toml::node_type::boolean: return "true or false";
    case toml::node_type::array: return "a list";
    case toml::node_type::table: return "a table";
    default: return "a date or time";
  }
}

// The first carriage return that ends no line; TOML knows it neither as a line end nor within a text.
std::optional<Place> lone_carriage_return(std::string_view text) {
  const auto at = text.find('\r');
  if (at == std::string_view::npos) return std::nullopt;
  Place place;
  for (std::size_t i = 0; i < at;) step(text, i, place);
  return place;
}

// A key of more parts than anybody writes: toml++ follows them by recursion, and a stack ends. Quotes are taken for letters, which
// is near enough: a.b.c within a text counts too.
std::optional<Place> endless_key(std::string_view text) {
  constexpr int kMostParts = 1000;
  const auto in_part = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || std::string_view("-_\"'").find(c) < 4;
  };
  Place place;
  int parts = 0;
  char last = '\n';  // blanks left out
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    const Place here = place;
    step(text, at, place);
    if (c == ' ' || c == '\t') continue;
    if (c == '.' && in_part(last)) {
      if (++parts == kMostParts) return here;
    } else if (!in_part(c)) {
      parts = 0;
    }
    last = c;
  }
  return std::nullopt;
}

}  // namespace

std::optional<toml::table> parse_toml(std::string& text, Findings& findings) {
  const auto refuse = [&](Place place, std::string message) {
    findings.push_back({Severity::kError, place, std::move(message)});
    return std::nullopt;
  };
  if (text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff"))
    return refuse({}, "not UTF-8 but UTF-16; save the file as UTF-8");
  if (text.starts_with(kByteOrderMark)) text.erase(0, kByteOrderMark.size());
  for (std::size_t at = 0; (at = text.find("\r\n", at)) != std::string::npos;) text.erase(at, 1);
  if (const auto place = lone_carriage_return(text))
    return refuse(*place, "a carriage return alone ends no line; use LF or CRLF line ends");
  if (const auto place = endless_key(text)) return refuse(*place, "a key of more than 1000 parts; no key has more than a few");
  try {
    return toml::parse(text);
  } catch (const toml::parse_error& error) {
    std::string message(error.description());
    if (message.find("utf-8") != std::string::npos) message = "not UTF-8; save the file as UTF-8";
    return refuse(place_of(error.source().begin), std::move(message));
  }
}

Place place_of(const toml::node& node) { return place_of(node.source().begin); }

Place place_in_string(std::string_view text, Place begin, Place within) {
  Place place;
  std::size_t at = 0;
  while (place < begin && at < text.size()) step(text, at, place);
  const std::string_view rest = text.substr(at);
  const bool multi_line = rest.starts_with("\"\"\"") || rest.starts_with("'''");
  const bool escapes = rest.starts_with('"');
  for (int i = 0; i < (multi_line ? 3 : 1) && at < text.size(); ++i) step(text, at, place);
  if (multi_line && at < text.size() && text[at] == '\n') step(text, at, place);
  const auto step_by = [&](std::size_t count) {
    for (; count > 0 && at < text.size(); --count) step(text, at, place);
  };
  Place value;  // the place in the value that `at` stands for
  while (at < text.size()) {
    const char escaped = escapes && text[at] == '\\' && at + 1 < text.size() ? text[at + 1] : '\0';
    if (is_blank(escaped)) {  // a backslash at the end of a line joins it with the next text, and adds nothing
      for (step_by(1); at < text.size() && is_blank(text[at]);) step_by(1);
      continue;
    }
    if (value >= within) break;
    const bool line_end = text[at] == '\n' || escaped == 'n';
    value = line_end ? Place{value.line + 1, 1} : Place{value.line, value.column + 1};
    step_by(source_length(escaped));
  }
  return place;
}

const toml::node* TableReader::member(std::string_view name) {
  const std::string wanted = lowered(name);
  asked_.insert(wanted);
  const toml::node* found = nullptr;
  std::string_view spelled;
  for (const auto& [key, node] : table_) {
    if (lowered(key.str()) != wanted) continue;
    if (found != nullptr) {
      error(key.str(), fmt::format("given twice, also as {}", spelled));
      return nullptr;
    }
    found = &node;
    spelled = key.str();
  }
  return found;
}

Place TableReader::place(std::string_view name) const {
  for (const auto& [key, node] : table_) {
    if (lowered(key.str()) == lowered(name)) return place_of(node);
  }
  return place_of(table_);
}

void TableReader::add(Severity severity, std::string_view name, std::string message) {
  const Place at = name.empty() ? place_of(table_) : place(name);
  findings_.push_back({severity,
                       {std::max<std::size_t>(at.line, 1), std::max<std::size_t>(at.column, 1)},
                       fmt::format("{}{}{}{}", path_, name, name.empty() ? "" : ": ", message)});
}

void TableReader::wrong_type(std::string_view name, std::string_view wanted, const toml::node& node) {
  error(name, fmt::format("must be {}, not {}", wanted, kind_of(node)));
}

template <class T>
std::optional<T> TableReader::value(std::string_view name, std::string_view wanted) {
  const toml::node* const node = member(name);
  if (node == nullptr) return std::nullopt;
  const auto exact = node->value_exact<T>();
  if (!exact) wrong_type(name, wanted, *node);
  return exact;
}

std::optional<std::string> TableReader::text(std::string_view name) { return value<std::string>(name, "text"); }
std::optional<std::int64_t> TableReader::whole_number(std::string_view name) {
  return value<std::int64_t>(name, "a whole number");
}
std::optional<bool> TableReader::flag(std::string_view name) { return value<bool>(name, "true or false"); }

const toml::table* TableReader::table(std::string_view name) {
  const toml::node* const node = member(name);
  if (node != nullptr && !node->is_table()) wrong_type(name, fmt::format("a table, as in [{}]", name), *node);
  return node != nullptr ? node->as_table() : nullptr;
}

void TableReader::each_table(std::string_view name, const std::function<void(const toml::table&, std::size_t)>& read) {
  const toml::node* const node = member(name);
  if (node == nullptr) return;
  const std::string wanted = fmt::format("a list of tables, as in [[{}]]", name);
  if (!node->is_array()) return wrong_type(name, wanted, *node);
  std::size_t i = 0;
  for (const toml::node& element : *node->as_array()) {
    if (!element.is_table()) return wrong_type(name, wanted, element);
    read(*element.as_table(), i++);
  }
}

void TableReader::warn_of_unknown() {
  for (const auto& [key, node] : table_) {
    if (asked_.contains(lowered(key.str()))) continue;
    findings_.push_back(
        {Severity::kWarning, place_of(key.source().begin), fmt::format("{}{}: unknown key, ignored", path_, key.str())});
  }
}

}  // namespace nodeward::config
