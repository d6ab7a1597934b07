// size, conversions, the text tests, type.
#include <fmt/format.h>
#include <cmath>

#include "base/text.h"
#include "cel/node.h"
#include "cel/number_text.h"
#include "cel/regex.h"
#include "cel/time.h"
#include "cel/unicode.h"

namespace nodeward::cel {

Value Call::text(std::string_view built) { return charge_text(built.size()) ? Value::string(arena_.copy(built)) : exhausted(); }

namespace {

using Args = std::span<const Value>;

Value size_of(Call& call, Args args) {
  const Value value = args[0];
  switch (value.kind()) {
    case Kind::kString:
      if (!call.charge_text(value.text().size())) return Call::exhausted();
      return Value::integer(static_cast<std::int64_t>(count_code_points(value.text())));
    case Kind::kBytes: return Value::integer(static_cast<std::int64_t>(value.text().size()));
    case Kind::kList: return Value::integer(static_cast<std::int64_t>(value.items().size()));
    case Kind::kMap: return Value::integer(static_cast<std::int64_t>(value.entries().entries.size()));
    default: return no_overload();
  }
}

template <class Test>
Value text_test(Call& call, Args args, Test&& test) {
  if (!args[0].is(Kind::kString) || !args[1].is(Kind::kString)) return no_overload();
  if (!call.charge_text(args[0].text().size())) return Call::exhausted();
  return Value::boolean(test(args[0].text(), args[1].text()));
}
Value contains(Call& call, Args args) {
  return text_test(call, args,
                   [](std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; });
}
Value starts_with(Call& call, Args args) {
  return text_test(call, args, [](std::string_view text, std::string_view part) { return text.starts_with(part); });
}
Value ends_with(Call& call, Args args) {
  return text_test(call, args, [](std::string_view text, std::string_view part) { return text.ends_with(part); });
}

Value to_int(Call&, Args args) {
  const Value value = args[0];
  switch (value.kind()) {
    case Kind::kInt: return value;
    case Kind::kUint:
      if (value.as_uint() > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
        return Value::error("int out of range");
      return Value::integer(static_cast<std::int64_t>(value.as_uint()));
    case Kind::kDouble:   // the ends are left out: no double below 2^63 rounds to the greatest int
      if (!(value.as_double() > -9223372036854775808.0 && value.as_double() < 9223372036854775808.0))
        return Value::error("int out of range");
      return Value::integer(static_cast<std::int64_t>(value.as_double()));
    case Kind::kString: {
      const auto parsed = parse_int(value.text());
      return parsed ? Value::integer(*parsed) : Value::error("the text is no int");
    }
    case Kind::kTimestamp: return Value::integer(value.seconds());
    case Kind::kDuration: return Value::integer(value.nanoseconds());
    default: return no_overload();
  }
}

Value to_uint(Call&, Args args) {
  const Value value = args[0];
  switch (value.kind()) {
    case Kind::kUint: return value;
    case Kind::kInt:
      return value.as_int() < 0 ? Value::error("uint out of range") : Value::uint(static_cast<std::uint64_t>(value.as_int()));
    case Kind::kDouble:
      if (!(value.as_double() >= 0 && value.as_double() < 18446744073709551616.0)) return Value::error("uint out of range");
      return Value::uint(static_cast<std::uint64_t>(value.as_double()));
    case Kind::kString: {
      const auto parsed = parse_uint(value.text());
      return parsed ? Value::uint(*parsed) : Value::error("the text is no uint");
    }
    default: return no_overload();
  }
}

Value to_double(Call&, Args args) {
  const Value value = args[0];
  switch (value.kind()) {
    case Kind::kDouble: return value;
    case Kind::kInt: return Value::number(static_cast<double>(value.as_int()));
    case Kind::kUint: return Value::number(static_cast<double>(value.as_uint()));
    case Kind::kString: {
      const auto parsed = parse_double(value.text());
      return parsed ? Value::number(*parsed) : Value::error("the text is no double");
    }
    default: return no_overload();
  }
}

Value to_string(Call& call, Args args) {
  const Value value = args[0];
  switch (value.kind()) {
    case Kind::kString: return value;
    case Kind::kBool: return Value::string(value.as_bool() ? "true" : "false");
    case Kind::kInt: return call.text(fmt::format("{}", value.as_int()));
    case Kind::kUint: return call.text(fmt::format("{}", value.as_uint()));
    case Kind::kDouble: return call.text(double_text(value.as_double()));
    case Kind::kBytes:
      if (!call.charge_text(value.text().size())) return Call::exhausted();
      return is_utf8(value.text()) ? Value::string(value.text()) : Value::error("the bytes are no UTF-8");
    case Kind::kTimestamp: return call.text(format_timestamp({value.seconds(), value.nanos()}));
    case Kind::kDuration: return call.text(format_duration(value.nanoseconds()));
    default: return no_overload();
  }
}

Value to_bytes(Call&, Args args) {
  if (args[0].is(Kind::kBytes)) return args[0];
  return args[0].is(Kind::kString) ? Value::bytes(args[0].text()) : no_overload();
}

Value to_bool(Call&, Args args) {
  if (args[0].is(Kind::kBool)) return args[0];
  if (!args[0].is(Kind::kString)) return no_overload();
  const auto parsed = parse_go_bool(args[0].text());
  return parsed ? Value::boolean(*parsed) : Value::error("the text is no bool");
}

Value to_timestamp(Call&, Args args) {
  const Value value = args[0];
  if (value.is(Kind::kTimestamp)) return value;
  if (value.is(Kind::kInt)) {
    const bool fits = value.as_int() >= kFirstSecond && value.as_int() <= kLastSecond;
    return fits ? Value::timestamp(value.as_int(), 0) : Value::error("timestamp out of range");
  }
  if (!value.is(Kind::kString)) return no_overload();
  const auto parsed = parse_timestamp(value.text());
  return parsed ? Value::timestamp(parsed->seconds, parsed->nanos)
                : Value::error("the text is no RFC 3339 timestamp of the years 1 to 9999");
}

Value to_duration(Call&, Args args) {
  if (args[0].is(Kind::kDuration)) return args[0];
  if (!args[0].is(Kind::kString)) return no_overload();
  const auto parsed = parse_duration(args[0].text());
  return parsed ? Value::duration(*parsed) : Value::error("the text is no duration such as 1h30m or 1.5s");
}

Value type_of(Call&, Args args) { return Value::type(type_name(args[0])); }
Value as_dyn(Call&, Args args) { return args[0]; }

}  // namespace

void add_standard_functions(std::vector<Function>& to) {
  constexpr FunctionShape kTextTest{.member = true, .least = 2, .most = 2, .result = kinds(Kind::kBool)};
  const auto conversion = [](Kind kind) { return FunctionShape{.result = kinds(kind)}; };
  to.push_back({"size", {.result = kinds(Kind::kInt)}, size_of});
  to.push_back({"size", {.member = true, .result = kinds(Kind::kInt)}, size_of});
  to.push_back({"contains", kTextTest, contains});
  to.push_back({"startsWith", kTextTest, starts_with});
  to.push_back({"endsWith", kTextTest, ends_with});
  to.push_back({"matches", kTextTest, matches_computed});
  to.push_back({"matches", {.least = 2, .most = 2, .result = kinds(Kind::kBool)}, matches_computed});
  to.push_back({"int", conversion(Kind::kInt), to_int});
  to.push_back({"uint", conversion(Kind::kUint), to_uint});
  to.push_back({"double", conversion(Kind::kDouble), to_double});
  to.push_back({"string", conversion(Kind::kString), to_string});
  to.push_back({"bytes", conversion(Kind::kBytes), to_bytes});
  to.push_back({"bool", conversion(Kind::kBool), to_bool});
  to.push_back({"timestamp", conversion(Kind::kTimestamp), to_timestamp});
  to.push_back({"duration", conversion(Kind::kDuration), to_duration});
  to.push_back({"type", conversion(Kind::kType), type_of});
  to.push_back({"dyn", {}, as_dyn});
}

}  // namespace nodeward::cel
