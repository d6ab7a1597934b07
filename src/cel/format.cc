#include "cel/format.h"

#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "cel/number_text.h"
#include "cel/time.h"
#include "cel/unicode.h"

namespace nodeward::cel {
namespace {

constexpr int kDefaultPrecision = 6;
constexpr int kMostPrecision = 100;
constexpr std::size_t kMostLiteral = std::size_t{16} << 20;

// What strings.quote escapes; the letter that follows the backslash.
char escape_letter(char c) {
  switch (c) {
    case '\a': return 'a';
    case '\b': return 'b';
    case '\f': return 'f';
    case '\n': return 'n';
    case '\r': return 'r';
    case '\t': return 't';
    case '\v': return 'v';
    case '\\':
    case '"': return c;
    default: return 0;
  }
}

void append_plain(std::string& to, Value value);

void append_plain_map(std::string& to, const Map& map) {
  std::vector<std::pair<std::string, std::string>> entries;
  for (const Map::Entry& entry : map.entries) {
    auto& [key, text] = entries.emplace_back();
    append_plain(key, entry.key);
    append_plain(text, entry.value);
  }
  std::ranges::stable_sort(entries, {}, &std::pair<std::string, std::string>::first);
  to += '{';
  for (std::size_t i = 0; i < entries.size(); ++i)
    to += fmt::format("{}{}: {}", i == 0 ? "" : ", ", entries[i].first, entries[i].second);
  to += '}';
}

// %s
void append_plain(std::string& to, Value value) {
  switch (value.kind()) {
    case Kind::kNull: to += "null"; break;
    case Kind::kBool: to += value.as_bool() ? "true" : "false"; break;
    case Kind::kInt: to += fmt::format("{}", value.as_int()); break;
    case Kind::kUint: to += fmt::format("{}", value.as_uint()); break;
    case Kind::kDouble: to += fixed_double(value.as_double()); break;
    case Kind::kString:
    case Kind::kBytes:
    case Kind::kType: to += value.text(); break;
    case Kind::kDuration: to += format_duration(value.nanoseconds()); break;
    case Kind::kTimestamp: to += format_timestamp({value.seconds(), value.nanos()}); break;
    case Kind::kList: {
      to += '[';
      const auto items = value.items();
      for (std::size_t i = 0; i < items.size(); ++i) {
        if (i > 0) to += ", ";
        append_plain(to, items[i]);
      }
      to += ']';
      break;
    }
    case Kind::kMap: append_plain_map(to, value.entries()); break;
    case Kind::kOptional:
    case Kind::kError: break;   // refused by the caller
  }
}

bool has_optional(Value value) {
  if (value.is(Kind::kOptional)) return true;
  if (value.is(Kind::kList)) return std::ranges::any_of(value.items(), has_optional);
  if (!value.is(Kind::kMap)) return false;
  return std::ranges::any_of(value.entries().entries, [](const Map::Entry& entry) { return has_optional(entry.value); });
}

std::string hex_of(std::string_view bytes, bool upper) {
  std::string text;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    text += upper ? fmt::format("{:02X}", byte) : fmt::format("{:02x}", byte);
  }
  return text;
}

template <class Integer>
std::string in_base(Integer value, char clause) {
  switch (clause) {
    case 'b': return fmt::format("{:b}", value);
    case 'o': return fmt::format("{:o}", value);
    case 'x': return fmt::format("{:x}", value);
    case 'X': return fmt::format("{:X}", value);
    default: return fmt::format("{}", value);
  }
}

std::optional<std::string> fixed_or_scientific(char clause, int precision, Value value) {
  double number = 0;
  if (value.is(Kind::kInt))
    number = static_cast<double>(value.as_int());
  else if (value.is(Kind::kUint))
    number = static_cast<double>(value.as_uint());
  else if (value.is(Kind::kDouble))
    number = value.as_double();
  else
    return std::nullopt;
  if (!std::isfinite(number)) return fixed_double(number);
  return clause == 'f' ? fmt::format("{:.{}f}", number, precision) : fmt::format("{:.{}e}", number, precision);
}

// nullopt: the clause cannot show a value of this kind.
std::optional<std::string> show(char clause, int precision, Value value) {
  switch (clause) {
    case 's': {
      if (has_optional(value)) return std::nullopt;
      std::string text;
      append_plain(text, value);
      return text;
    }
    case 'f':
    case 'e': return fixed_or_scientific(clause, precision, value);
    case 'b':
      if (value.is(Kind::kBool)) return value.as_bool() ? "1" : "0";
      break;
    case 'd':
      if (value.is(Kind::kDouble)) return fixed_double(value.as_double());
      break;
    case 'x':
    case 'X':
      if (value.is(Kind::kString) || value.is(Kind::kBytes)) return hex_of(value.text(), clause == 'X');
      break;
    default: break;
  }
  if (value.is(Kind::kInt)) return in_base(value.as_int(), clause);
  return value.is(Kind::kUint) ? std::optional(in_base(value.as_uint(), clause)) : std::nullopt;
}

// About the bytes of a value as text. Stops counting beyond `most`: parts may be shared, and a value of sixty doublings is soon
// built but never walked to its end. One that nests too deep for the stack counts as too large.
std::size_t text_size(Value value, std::size_t most, int levels = kMostLevels) {
  if (value.is(Kind::kString) || value.is(Kind::kBytes)) return 2 * value.text().size();
  if (levels == 0) return most + 1;
  std::size_t size = 32;
  const auto add = [&](Value part) { size += size > most ? 0 : text_size(part, most - size, levels - 1); };
  if (value.is(Kind::kList)) {
    for (const Value item : value.items()) add(item);
  } else if (value.is(Kind::kMap)) {
    for (const Map::Entry& entry : value.entries().entries) add(entry.key), add(entry.value);
  }
  return size;
}

// "%.3f" at `at`, moved past it.
struct Clause {
  char letter = 0;
  int precision = kDefaultPrecision;
};
std::optional<Clause> read_clause(std::string_view form, std::size_t& at) {
  Clause clause;
  ++at;
  if (at < form.size() && form[at] == '.') {
    const std::size_t first = ++at;
    clause.precision = 0;
    for (; at < form.size() && form[at] >= '0' && form[at] <= '9'; ++at) {
      clause.precision = std::min(clause.precision * 10 + (form[at] - '0'), kMostPrecision + 1);
    }
    if (at == first || clause.precision > kMostPrecision) return std::nullopt;
  }
  if (at >= form.size() || std::string_view("sdfeboxX").find(form[at]) == std::string_view::npos) return std::nullopt;
  clause.letter = form[at++];
  return clause;
}

void append_literal_text(std::string& to, std::string_view text, bool bytes) {
  to += bytes ? "b\"" : "\"";
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t begin = at;
    bool valid = true;
    const char32_t point = next_code_point(text, at, &valid);
    const char letter = point < 0x80 ? escape_letter(static_cast<char>(point)) : '\0';
    if (letter != 0) {
      to += '\\';
      to += letter;
    } else if (!valid || point < 0x20 || point == 0x7F) {
      to += bytes || valid ? fmt::format("\\x{:02x}", static_cast<unsigned char>(text[begin])) : "\uFFFD";
    } else {
      to += text.substr(begin, at - begin);
    }
  }
  to += '"';
}

void append_literal(std::string& to, Value value, int levels = kMostLevels) {
  if (levels == 0 || to.size() > kMostLiteral) {
    if (!to.ends_with("...")) to += "...";
    return;
  }
  switch (value.kind()) {
    case Kind::kUint: to += fmt::format("{}u", value.as_uint()); break;
    case Kind::kDouble: to += double_literal(value.as_double()); break;
    case Kind::kString: append_literal_text(to, value.text(), false); break;
    case Kind::kBytes: append_literal_text(to, value.text(), true); break;
    case Kind::kDuration: to += fmt::format("duration(\"{}\")", format_duration(value.nanoseconds())); break;
    case Kind::kTimestamp: to += fmt::format("timestamp(\"{}\")", format_timestamp({value.seconds(), value.nanos()})); break;
    case Kind::kError: to += fmt::format("error: {}", value.text()); break;
    case Kind::kOptional:
      if (value.optional() == nullptr) {
        to += "optional.none()";
      } else {
        to += "optional.of(";
        append_literal(to, *value.optional(), levels - 1);
        to += ')';
      }
      break;
    case Kind::kList: {
      to += '[';
      for (std::size_t i = 0; i < value.items().size() && to.size() <= kMostLiteral; ++i) {
        if (i > 0) to += ", ";
        append_literal(to, value.items()[i], levels - 1);
      }
      to += ']';
      break;
    }
    case Kind::kMap: {
      to += '{';
      const auto entries = value.entries().entries;
      for (std::size_t i = 0; i < entries.size(); ++i) {
        if (i > 0) to += ", ";
        append_literal(to, entries[i].key, levels - 1);
        to += ": ";
        append_literal(to, entries[i].value, levels - 1);
      }
      to += '}';
      break;
    }
    default: append_plain(to, value);   // null, bool, int, type
  }
}

}  // namespace

std::string quoted(std::string_view text) {
  std::string result = "\"";
  for (std::size_t at = 0; at < text.size();) {
    const char32_t point = next_code_point(text, at);
    const char letter = point < 0x80 ? escape_letter(static_cast<char>(point)) : '\0';
    if (letter == 0) {
      append_code_point(result, point);
    } else {
      result += '\\';
      result += letter;
    }
  }
  return result + '"';
}

Value formatted(Call& call, std::string_view form, std::span<const Value> args) {
  if (!call.charge_text(form.size())) return Call::exhausted();
  std::string text;
  std::size_t used = 0;
  for (std::size_t at = 0; at < form.size();) {
    if (form[at] != '%') {
      text += form[at++];
    } else if (form.substr(at, 2) == "%%") {
      text += '%';
      at += 2;
    } else {
      const auto clause = read_clause(form, at);
      if (!clause) return Value::error("format() does not know this clause");
      if (used >= args.size()) return Value::error("format() has more clauses than values");
      const Value value = args[used++];
      if (!call.charge_text(text_size(value, call.text_left()))) return Call::exhausted();
      const auto shown = show(clause->letter, clause->precision, value);
      if (!shown) return call.error(fmt::format("format() cannot show a {} with %{}", type_name(value), clause->letter));
      text += *shown;
    }
  }
  return call.text(text);
}

std::string to_cel_text(Value value) {
  std::string text;
  append_literal(text, value);
  return text;
}

}  // namespace nodeward::cel
