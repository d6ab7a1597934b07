// The math extension.
#include <cmath>

#include "cel/node.h"

namespace nodeward::cel {
namespace {

using Args = std::span<const Value>;

// The least or greatest of the arguments, or of the one list that is given.
template <Order better>
Value extreme(Call& call, Args args) {
  if (args.size() == 1 && args[0].is(Kind::kList)) {
    args = args[0].items();
    if (args.empty()) return Value::error("the list is empty");
  }
  if (!call.charge(args.size())) return Call::exhausted();
  Value best = args[0];
  for (const Value candidate : args) {
    if (!candidate.is_numeric()) return no_overload();
    if (compare(candidate, best) == better) best = candidate;
  }
  return best;
}

template <class Change>
Value changed_double(Args args, Change&& change) {
  return args[0].is(Kind::kDouble) ? Value::number(change(args[0].as_double())) : no_overload();
}
Value ceil(Call&, Args args) {
  return changed_double(args, [](double x) { return std::ceil(x); });
}
Value floor(Call&, Args args) {
  return changed_double(args, [](double x) { return std::floor(x); });
}
Value round(Call&, Args args) {
  return changed_double(args, [](double x) { return std::round(x); });
}
Value trunc(Call&, Args args) {
  return changed_double(args, [](double x) { return std::trunc(x); });
}

template <class Test>
Value tested_double(Args args, Test&& test) {
  return args[0].is(Kind::kDouble) ? Value::boolean(test(args[0].as_double())) : no_overload();
}
Value is_nan(Call&, Args args) {
  return tested_double(args, [](double x) { return std::isnan(x); });
}
Value is_inf(Call&, Args args) {
  return tested_double(args, [](double x) { return std::isinf(x); });
}
Value is_finite(Call&, Args args) {
  return tested_double(args, [](double x) { return std::isfinite(x); });
}

Value abs(Call&, Args args) {
  if (args[0].is(Kind::kDouble)) return Value::number(std::fabs(args[0].as_double()));
  if (!args[0].is(Kind::kInt)) return args[0].is(Kind::kUint) ? args[0] : no_overload();
  if (args[0].as_int() == std::numeric_limits<std::int64_t>::min()) return Value::error("integer overflow");
  return Value::integer(std::abs(args[0].as_int()));
}

Value sign(Call&, Args args) {
  if (args[0].is(Kind::kInt)) return Value::integer((args[0].as_int() > 0 ? 1 : 0) - (args[0].as_int() < 0 ? 1 : 0));
  if (args[0].is(Kind::kUint)) return Value::uint(args[0].as_uint() > 0 ? 1 : 0);
  return changed_double(args, [](double x) { return std::isnan(x) ? x : (x > 0 ? 1.0 : 0.0) - (x < 0 ? 1.0 : 0.0); });
}

Value sqrt(Call&, Args args) {
  if (args[0].is(Kind::kInt)) return Value::number(std::sqrt(static_cast<double>(args[0].as_int())));
  if (args[0].is(Kind::kUint)) return Value::number(std::sqrt(static_cast<double>(args[0].as_uint())));
  return changed_double(args, [](double x) { return std::sqrt(x); });
}

bool is_whole(Value value) { return value.is(Kind::kInt) || value.is(Kind::kUint); }
Value like(Value model, std::uint64_t bits) {
  return model.is(Kind::kInt) ? Value::integer(static_cast<std::int64_t>(bits)) : Value::uint(bits);
}

template <class Combine>
Value combined_bits(Args args, Combine&& combine) {
  if (!is_whole(args[0]) || args[0].kind() != args[1].kind()) return no_overload();
  return like(args[0], combine(args[0].as_uint(), args[1].as_uint()));
}
Value bit_and(Call&, Args args) {
  return combined_bits(args, [](std::uint64_t a, std::uint64_t b) { return a & b; });
}
Value bit_or(Call&, Args args) {
  return combined_bits(args, [](std::uint64_t a, std::uint64_t b) { return a | b; });
}
Value bit_xor(Call&, Args args) {
  return combined_bits(args, [](std::uint64_t a, std::uint64_t b) { return a ^ b; });
}
Value bit_not(Call&, Args args) { return is_whole(args[0]) ? like(args[0], ~args[0].as_uint()) : no_overload(); }

template <class Shift>
Value shifted(Args args, Shift&& shift) {
  if (!is_whole(args[0]) || !args[1].is(Kind::kInt)) return no_overload();
  if (args[1].as_int() < 0) return Value::error("a shift must not be negative");
  return like(args[0], args[1].as_int() >= 64 ? 0 : shift(args[0].as_uint(), args[1].as_int()));
}
Value shift_left(Call&, Args args) {
  return shifted(args, [](std::uint64_t bits, std::int64_t by) { return bits << by; });
}
Value shift_right(Call&, Args args) {
  return shifted(args, [](std::uint64_t bits, std::int64_t by) { return bits >> by; });
}

}  // namespace

void add_math_functions(std::vector<Function>& to) {
  constexpr Kinds kNumber = kinds(Kind::kInt, Kind::kUint, Kind::kDouble);
  constexpr FunctionShape kAnyOf{.least = 1, .most = kAnyNumber, .result = kNumber};
  constexpr FunctionShape kDoubleToDouble{.result = kinds(Kind::kDouble)};
  constexpr FunctionShape kTest{.result = kinds(Kind::kBool)};
  constexpr FunctionShape kTwoWhole{.least = 2, .most = 2, .result = kinds(Kind::kInt, Kind::kUint)};
  to.push_back({"math.greatest", kAnyOf, extreme<Order::kGreater>});
  to.push_back({"math.least", kAnyOf, extreme<Order::kLess>});
  to.push_back({"math.ceil", kDoubleToDouble, ceil});
  to.push_back({"math.floor", kDoubleToDouble, floor});
  to.push_back({"math.round", kDoubleToDouble, round});
  to.push_back({"math.trunc", kDoubleToDouble, trunc});
  to.push_back({"math.isNaN", kTest, is_nan});
  to.push_back({"math.isInf", kTest, is_inf});
  to.push_back({"math.isFinite", kTest, is_finite});
  to.push_back({"math.abs", {.result = kNumber}, abs});
  to.push_back({"math.sign", {.result = kNumber}, sign});
  to.push_back({"math.sqrt", kDoubleToDouble, sqrt});
  to.push_back({"math.bitAnd", kTwoWhole, bit_and});
  to.push_back({"math.bitOr", kTwoWhole, bit_or});
  to.push_back({"math.bitXor", kTwoWhole, bit_xor});
  to.push_back({"math.bitNot", {.result = kinds(Kind::kInt, Kind::kUint)}, bit_not});
  to.push_back({"math.bitShiftLeft", kTwoWhole, shift_left});
  to.push_back({"math.bitShiftRight", kTwoWhole, shift_right});
}

}  // namespace nodeward::cel
