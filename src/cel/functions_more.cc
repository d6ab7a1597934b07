// The encoders extension (base64) and the functions of optional values.
#include <string>

#include "cel/node.h"

namespace nodeward::cel {
namespace {

using Args = std::span<const Value>;

constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

Value base64_encode(Call& call, Args args) {
  if (!args[0].is(Kind::kBytes)) return no_overload();
  std::string text;
  const std::string_view bytes = args[0].text();
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t word = 0;
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - i);
    for (std::size_t j = 0; j < 3; ++j) word = (word << 8) | (j < count ? static_cast<unsigned char>(bytes[i + j]) : 0U);
    for (std::size_t j = 0; j < 4; ++j) text += j <= count ? kAlphabet[(word >> (18 - 6 * j)) & 63] : '=';
  }
  return call.text(text);
}

// With or without padding.
Value base64_decode(Call& call, Args args) {
  if (!args[0].is(Kind::kString)) return no_overload();
  std::string_view text = args[0].text();
  if (text.size() % 4 == 0) {
    for (int i = 0; i < 2 && text.ends_with('='); ++i) text.remove_suffix(1);
  }
  std::string bytes;
  std::uint32_t word = 0;
  int bits = 0;
  for (const char c : text) {
    const auto digit = kAlphabet.find(c);
    if (digit == std::string_view::npos) return Value::error("the text is no base64");
    word = (word << 6) | static_cast<std::uint32_t>(digit);
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    bytes += static_cast<char>((word >> bits) & 0xFF);
  }
  if (bits >= 6) return Value::error("the text is no base64");
  const Value copied = call.text(bytes);
  return copied.is_error() ? copied : Value::bytes(copied.text());
}

bool is_zero(Value value) {
  switch (value.kind()) {
    case Kind::kNull: return true;
    case Kind::kBool: return !value.as_bool();
    case Kind::kInt:
    case Kind::kUint:
    case Kind::kDuration: return value.as_uint() == 0;
    case Kind::kDouble: return value.as_double() == 0;
    case Kind::kString:
    case Kind::kBytes: return value.text().empty();
    case Kind::kList: return value.items().empty();
    case Kind::kMap: return value.entries().entries.empty();
    case Kind::kTimestamp: return value.seconds() == 0 && value.nanos() == 0;
    default: return false;
  }
}

Value optional_none(Call&, Args) { return Value::optional_none(); }
Value optional_of(Call& call, Args args) { return Value::optional_of(args[0], call.arena()); }
Value optional_of_non_zero(Call& call, Args args) {
  return is_zero(args[0]) ? Value::optional_none() : Value::optional_of(args[0], call.arena());
}
Value has_value(Call&, Args args) {
  return args[0].is(Kind::kOptional) ? Value::boolean(args[0].optional() != nullptr) : no_overload();
}
Value value_of(Call&, Args args) {
  if (!args[0].is(Kind::kOptional)) return no_overload();
  return args[0].optional() == nullptr ? Value::error("optional.none() has no value") : *args[0].optional();
}

Value unwrap(Call& call, Args args) {
  if (!args[0].is(Kind::kList)) return no_overload();
  if (!call.charge(2 * args[0].items().size())) return Call::exhausted();
  const auto kept = call.arena().array<Value>(args[0].items().size());
  std::size_t size = 0;
  for (const Value item : args[0].items()) {
    if (!item.is(Kind::kOptional)) return no_overload();
    if (item.optional() != nullptr) kept[size++] = *item.optional();
  }
  return Value::list(kept.first(size));
}
Value first(Call& call, Args args) {
  if (!args[0].is(Kind::kList)) return no_overload();
  return args[0].items().empty() ? Value::optional_none() : Value::optional_of(args[0].items().front(), call.arena());
}
Value last(Call& call, Args args) {
  if (!args[0].is(Kind::kList)) return no_overload();
  return args[0].items().empty() ? Value::optional_none() : Value::optional_of(args[0].items().back(), call.arena());
}

}  // namespace

Value optional_or(Call&, Args args) {
  if (!args[0].is(Kind::kOptional) || !args[1].is(Kind::kOptional)) return no_overload();
  return args[0].optional() == nullptr ? args[1] : args[0];
}
Value optional_or_value(Call&, Args args) {
  if (!args[0].is(Kind::kOptional)) return no_overload();
  return args[0].optional() == nullptr ? args[1] : *args[0].optional();
}

void add_encoder_functions(std::vector<Function>& to) {
  to.push_back({"base64.encode", {.result = kinds(Kind::kString)}, base64_encode});
  to.push_back({"base64.decode", {.result = kinds(Kind::kBytes)}, base64_decode});
}

void add_optional_functions(std::vector<Function>& to) {
  constexpr Kinds kOptional = kinds(Kind::kOptional);
  to.push_back({"optional.none", {.least = 0, .most = 0, .result = kOptional}, optional_none});
  to.push_back({"optional.of", {.result = kOptional}, optional_of});
  to.push_back({"optional.ofNonZeroValue", {.result = kOptional}, optional_of_non_zero});
  to.push_back({"optional.unwrap", {.result = kinds(Kind::kList)}, unwrap});
  to.push_back({"unwrapOpt", {.member = true, .result = kinds(Kind::kList)}, unwrap});
  to.push_back({"hasValue", {.member = true, .result = kinds(Kind::kBool)}, has_value});
  to.push_back({"value", {.member = true}, value_of});
  to.push_back({"or", {.member = true, .least = 2, .most = 2, .result = kOptional}, optional_or});
  to.push_back({"orValue", {.member = true, .least = 2, .most = 2}, optional_or_value});
  to.push_back({"first", {.member = true, .result = kOptional}, first});
  to.push_back({"last", {.member = true, .result = kOptional}, last});
}

}  // namespace nodeward::cel
