// The strings extension. Positions and sizes count code points.
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "cel/format.h"
#include "cel/node.h"
#include "cel/unicode.h"

namespace nodeward::cel {
namespace {

using Args = std::span<const Value>;

// The byte at which code point `index` begins; its end for index == size; nullopt beyond.
std::optional<std::size_t> byte_of(std::string_view text, std::int64_t index) {
  if (index < 0) return std::nullopt;
  std::size_t at = 0;
  for (; index > 0 && at < text.size(); --index) next_code_point(text, at);
  return index == 0 ? std::optional(at) : std::nullopt;
}

Value out_of_range() { return Value::error("index out of range"); }
bool is_text(Args args, std::size_t i) { return args[i].is(Kind::kString); }
bool pays(Call& call, Args args) { return call.charge_text(args[0].text().size()); }

Value char_at(Call& call, Args args) {
  if (!is_text(args, 0) || !args[1].is(Kind::kInt)) return no_overload();
  if (!pays(call, args)) return Call::exhausted();
  const std::string_view text = args[0].text();
  const auto begin = byte_of(text, args[1].as_int());
  if (!begin) return out_of_range();
  std::size_t end = *begin;
  if (end < text.size()) next_code_point(text, end);
  return Value::string(text.substr(*begin, end - *begin));
}

Value substring(Call& call, Args args) {
  if (!is_text(args, 0) || !args[1].is(Kind::kInt) || (args.size() == 3 && !args[2].is(Kind::kInt))) return no_overload();
  if (!pays(call, args)) return Call::exhausted();
  const std::string_view text = args[0].text();
  const auto begin = byte_of(text, args[1].as_int());
  const auto end = args.size() == 3 ? byte_of(text, args[2].as_int()) : std::optional(text.size());
  if (!begin || !end || *end < *begin) return out_of_range();
  return Value::string(text.substr(*begin, *end - *begin));
}

Value position(std::string_view text, std::size_t found) {
  if (found == std::string_view::npos) return Value::integer(-1);
  return Value::integer(static_cast<std::int64_t>(count_code_points(text.substr(0, found))));
}
// Searching may compare every place with the whole part.
bool pays_for_search(Call& call, Args args) { return call.charge_text(args[0].text().size() * (1 + args[1].text().size() / 16)); }

// The specification's cases want an error for an offset beyond the end, where cel-go (0.31) answers -1.
enum class Beyond { kIsMinusOne, kIsError };

// Where a search from or up to `offset` begins; a value: the answer is known without one.
struct Offset {
  std::size_t byte = 0;
  std::optional<Value> answer;
};
template <Beyond beyond>
Offset search_offset(std::string_view text, std::string_view part, Value offset) {
  if (!offset.is(Kind::kInt)) return {0, no_overload()};
  if (offset.as_int() < 0) return {0, out_of_range()};
  const auto size = static_cast<std::int64_t>(count_code_points(text));
  if (beyond == Beyond::kIsError && offset.as_int() > size) return {0, out_of_range()};
  if (part.empty()) return {0, Value::integer(std::min(offset.as_int(), size))};
  if (offset.as_int() >= size) return {0, Value::integer(-1)};
  return {*byte_of(text, offset.as_int()), std::nullopt};
}

template <Beyond beyond>
Value index_of(Call& call, Args args) {
  if (!is_text(args, 0) || !is_text(args, 1)) return no_overload();
  if (!pays_for_search(call, args)) return Call::exhausted();
  const std::string_view text = args[0].text(), part = args[1].text();
  const Offset from = args.size() == 3 ? search_offset<beyond>(text, part, args[2]) : Offset{};
  return from.answer ? *from.answer : position(text, text.find(part, from.byte));
}

template <Beyond beyond>
Value last_index_of(Call& call, Args args) {
  if (!is_text(args, 0) || !is_text(args, 1)) return no_overload();
  if (!pays_for_search(call, args)) return Call::exhausted();
  const std::string_view text = args[0].text(), part = args[1].text();
  const Offset up_to = args.size() == 3 ? search_offset<beyond>(text, part, args[2]) : Offset{text.size(), std::nullopt};
  return up_to.answer ? *up_to.answer : position(text, text.rfind(part, up_to.byte));
}

template <class Change>
Value changed_ascii(Call& call, Args args, Change&& change) {
  if (!is_text(args, 0)) return no_overload();
  if (!pays(call, args)) return Call::exhausted();
  const auto built = call.arena().array<char>(args[0].text().size());
  std::ranges::transform(args[0].text(), built.begin(), change);
  return Value::string({built.data(), built.size()});
}
Value lower_ascii(Call& call, Args args) {
  return changed_ascii(call, args, [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
}
Value upper_ascii(Call& call, Args args) {
  return changed_ascii(call, args, [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
}

// `most` < 0: all. An empty `part` stands before every code point and at the end.
std::optional<std::string> replaced(Call& call, std::string_view text, std::string_view part, std::string_view by,
                                    std::int64_t most) {
  std::string result;
  std::size_t at = 0;
  for (std::int64_t done = 0; most < 0 || done < most; ++done) {
    if (part.empty() ? at > text.size() : text.find(part, at) == std::string_view::npos) break;
    if (!call.charge_text(by.size())) return std::nullopt;
    if (part.empty()) {
      result += by;
      if (at == text.size()) return result;
      const std::size_t begin = at;
      next_code_point(text, at);
      result += text.substr(begin, at - begin);
    } else {
      const std::size_t found = text.find(part, at);
      result += text.substr(at, found - at);
      result += by;
      at = found + part.size();
    }
  }
  result += text.substr(at);
  return result;
}

Value replace(Call& call, Args args) {
  if (!is_text(args, 0) || !is_text(args, 1) || !is_text(args, 2) || (args.size() == 4 && !args[3].is(Kind::kInt)))
    return no_overload();
  if (!pays_for_search(call, args)) return Call::exhausted();
  const auto result = replaced(call, args[0].text(), args[1].text(), args[2].text(), args.size() == 4 ? args[3].as_int() : -1);
  return result ? call.text(*result) : Call::exhausted();
}

Value split(Call& call, Args args) {
  if (!is_text(args, 0) || !is_text(args, 1) || (args.size() == 3 && !args[2].is(Kind::kInt))) return no_overload();
  if (!pays_for_search(call, args)) return Call::exhausted();
  const std::string_view text = args[0].text(), by = args[1].text();
  const std::int64_t most = args.size() == 3 ? args[2].as_int() : -1;
  std::vector<Value> parts;
  std::size_t at = 0;
  const auto full = [&] { return most >= 0 && static_cast<std::int64_t>(parts.size()) + 1 >= most; };
  if (most == 0 || (by.empty() && text.empty())) return Value::list({});
  while (!full()) {
    std::size_t end = at, next = at;
    if (by.empty()) {
      next_code_point(text, next);
      end = next;
      if (next == text.size()) break;
    } else {
      end = text.find(by, at);
      if (end == std::string_view::npos) break;
      next = end + by.size();
    }
    if (!call.charge(2)) return Call::exhausted();
    parts.push_back(Value::string(text.substr(at, end - at)));
    at = next;
  }
  parts.push_back(Value::string(text.substr(at)));
  const auto kept = call.arena().array<Value>(parts.size());
  std::ranges::copy(parts, kept.begin());
  return Value::list(kept);
}

Value join(Call& call, Args args) {
  if (!args[0].is(Kind::kList) || (args.size() == 2 && !is_text(args, 1))) return no_overload();
  const std::string_view separator = args.size() == 2 ? args[1].text() : std::string_view();
  std::size_t size = 0;
  for (const Value item : args[0].items()) {
    if (!item.is(Kind::kString)) return Value::error("join() needs a list of strings");
    size += item.text().size() + separator.size();
    if (!call.charge_text(item.text().size() + separator.size())) return Call::exhausted();
  }
  std::string joined;
  joined.reserve(size);
  for (std::size_t i = 0; i < args[0].items().size(); ++i) {
    if (i > 0) joined += separator;
    joined += args[0].items()[i].text();
  }
  return call.text(joined);
}

Value trim(Call& call, Args args) {
  if (!is_text(args, 0)) return no_overload();
  if (!pays(call, args)) return Call::exhausted();
  const std::string_view text = args[0].text();
  std::optional<std::size_t> begin;
  std::size_t end = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t start = at;
    if (is_unicode_space(next_code_point(text, at))) continue;
    if (!begin) begin = start;
    end = at;
  }
  return Value::string(begin ? text.substr(*begin, end - *begin) : std::string_view());
}

Value reverse(Call& call, Args args) {
  if (!is_text(args, 0)) return no_overload();
  if (!pays(call, args)) return Call::exhausted();
  const std::string_view text = args[0].text();
  const auto built = call.arena().array<char>(text.size());
  std::size_t end = text.size();   // filled from the back
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t begin = at;
    next_code_point(text, at);
    end -= at - begin;
    std::copy_n(text.data() + begin, at - begin, built.data() + end);
  }
  return Value::string({built.data(), built.size()});
}

Value quote(Call& call, Args args) {
  if (!is_text(args, 0)) return no_overload();
  return pays(call, args) ? call.text(quoted(args[0].text())) : Call::exhausted();
}

Value format(Call& call, Args args) {
  if (!is_text(args, 0) || !args[1].is(Kind::kList)) return no_overload();
  return formatted(call, args[0].text(), args[1].items());
}

}  // namespace

void add_string_functions(std::vector<Function>& to) {
  const auto member = [](std::size_t least, std::size_t most, Kind result) {
    return FunctionShape{.member = true, .least = least, .most = most, .result = kinds(result)};
  };
  to.push_back({"charAt", member(2, 2, Kind::kString), char_at});
  to.push_back({"substring", member(2, 3, Kind::kString), substring});
  to.push_back({"indexOf", member(2, 3, Kind::kInt), index_of<Beyond::kIsMinusOne>});
  to.push_back({"lastIndexOf", member(2, 3, Kind::kInt), last_index_of<Beyond::kIsMinusOne>});
  to.push_back({"lowerAscii", member(1, 1, Kind::kString), lower_ascii});
  to.push_back({"upperAscii", member(1, 1, Kind::kString), upper_ascii});
  to.push_back({"replace", member(3, 4, Kind::kString), replace});
  to.push_back({"split", member(2, 3, Kind::kList), split});
  to.push_back({"join", member(1, 2, Kind::kString), join});
  to.push_back({"trim", member(1, 1, Kind::kString), trim});
  to.push_back({"reverse", member(1, 1, Kind::kString), reverse});
  to.push_back({"format", member(2, 2, Kind::kString), format});
  to.push_back({"strings.quote", {.result = kinds(Kind::kString)}, quote});
}

void add_specification_offsets(std::vector<Function>& to) {
  constexpr FunctionShape kSearch{.member = true, .least = 2, .most = 3, .result = kinds(Kind::kInt)};
  to.insert(to.begin(),
            {{"indexOf", kSearch, index_of<Beyond::kIsError>}, {"lastIndexOf", kSearch, last_index_of<Beyond::kIsError>}});
}

}  // namespace nodeward::cel
