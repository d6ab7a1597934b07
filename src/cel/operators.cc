// Arithmetic, ordering, membership and look-up on values.
#include <fmt/format.h>
#include <cmath>

#include "cel/node.h"
#include "cel/time.h"

namespace nodeward::cel {
namespace {

Value overflow() { return Value::error("integer overflow"); }

Value apply_int(Operator op, std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  switch (op) {
    case Operator::kAdd: return __builtin_add_overflow(a, b, &result) ? overflow() : Value::integer(result);
    case Operator::kSubtract: return __builtin_sub_overflow(a, b, &result) ? overflow() : Value::integer(result);
    case Operator::kMultiply: return __builtin_mul_overflow(a, b, &result) ? overflow() : Value::integer(result);
    case Operator::kDivide:
      if (b == 0) return Value::error("division by zero");
      return b == -1 && a == std::numeric_limits<std::int64_t>::min() ? overflow() : Value::integer(a / b);
    case Operator::kModulo:
      if (b == 0) return Value::error("modulus by zero");
      return b == -1 && a == std::numeric_limits<std::int64_t>::min() ? overflow() : Value::integer(a % b);
    default: return no_overload();
  }
}

Value apply_uint(Operator op, std::uint64_t a, std::uint64_t b) {
  std::uint64_t result = 0;
  switch (op) {
    case Operator::kAdd: return __builtin_add_overflow(a, b, &result) ? overflow() : Value::uint(result);
    case Operator::kSubtract: return a < b ? overflow() : Value::uint(a - b);
    case Operator::kMultiply: return __builtin_mul_overflow(a, b, &result) ? overflow() : Value::uint(result);
    case Operator::kDivide: return b == 0 ? Value::error("division by zero") : Value::uint(a / b);
    case Operator::kModulo: return b == 0 ? Value::error("modulus by zero") : Value::uint(a % b);
    default: return no_overload();
  }
}

Value apply_double(Operator op, double a, double b) {
  switch (op) {
    case Operator::kAdd: return Value::number(a + b);
    case Operator::kSubtract: return Value::number(a - b);
    case Operator::kMultiply: return Value::number(a * b);
    case Operator::kDivide: return Value::number(a / b);
    default: return no_overload();
  }
}

Value concatenated(Value a, Value b, Call& call) {
  const std::size_t size = a.text().size() + b.text().size();
  if (!call.charge_text(size)) return Call::exhausted();
  const auto joined = call.arena().array<char>(size);
  std::copy(a.text().begin(), a.text().end(), joined.begin());
  std::copy(b.text().begin(), b.text().end(), joined.begin() + static_cast<std::ptrdiff_t>(a.text().size()));
  const std::string_view text(joined.data(), joined.size());
  return a.is(Kind::kString) ? Value::string(text) : Value::bytes(text);
}

Value concatenated_lists(Value a, Value b, Call& call) {
  const std::size_t size = a.items().size() + b.items().size();
  if (!call.charge(2 * size + 1)) return Call::exhausted();
  const auto joined = call.arena().array<Value>(size);
  const auto next = std::copy(a.items().begin(), a.items().end(), joined.begin());
  std::copy(b.items().begin(), b.items().end(), next);
  return Value::list(joined);
}

Value moved_timestamp(Value time, std::int64_t nanoseconds, bool back) {
  const Wide total = static_cast<Wide>(time.seconds()) * kNanosPerSecond + time.nanos() +
                     (back ? -static_cast<Wide>(nanoseconds) : nanoseconds);
  Wide seconds = total / kNanosPerSecond;
  Wide nanos = total % kNanosPerSecond;
  if (nanos < 0) {
    nanos += kNanosPerSecond;
    --seconds;
  }
  if (seconds < kFirstSecond || seconds > kLastSecond) return Value::error("timestamp out of range");
  return Value::timestamp(static_cast<std::int64_t>(seconds), static_cast<std::uint32_t>(nanos));
}

Value time_between(Value from, Value to) {
  const Wide total = static_cast<Wide>(to.seconds() - from.seconds()) * kNanosPerSecond + to.nanos() - from.nanos();
  if (total > std::numeric_limits<std::int64_t>::max() || total < std::numeric_limits<std::int64_t>::min()) {
    return Value::error("duration out of range");
  }
  return Value::duration(static_cast<std::int64_t>(total));
}

Value apply_time(Operator op, Value a, Value b) {
  const bool adds = op == Operator::kAdd;
  if (!adds && op != Operator::kSubtract) return no_overload();
  if (a.is(Kind::kTimestamp) && b.is(Kind::kDuration)) return moved_timestamp(a, b.nanoseconds(), !adds);
  if (adds && a.is(Kind::kDuration) && b.is(Kind::kTimestamp)) return moved_timestamp(b, a.nanoseconds(), false);
  if (!adds && a.is(Kind::kTimestamp) && b.is(Kind::kTimestamp)) return time_between(b, a);
  if (!a.is(Kind::kDuration) || !b.is(Kind::kDuration)) return no_overload();
  const Value sum = apply_int(op, a.nanoseconds(), b.nanoseconds());
  return sum.is_error() ? Value::error("duration out of range") : Value::duration(sum.as_int());
}

Value apply_arithmetic(Operator op, Value a, Value b, Call& call) {
  if (a.kind() == b.kind()) {
    switch (a.kind()) {
      case Kind::kInt: return apply_int(op, a.as_int(), b.as_int());
      case Kind::kUint: return apply_uint(op, a.as_uint(), b.as_uint());
      case Kind::kDouble: return apply_double(op, a.as_double(), b.as_double());
      case Kind::kString:
      case Kind::kBytes: return op == Operator::kAdd ? concatenated(a, b, call) : no_overload();
      case Kind::kList: return op == Operator::kAdd ? concatenated_lists(a, b, call) : no_overload();
      default: break;
    }
  }
  return apply_time(op, a, b);
}

// Takes off the steps that comparing a value in whole costs. Ends as soon as nothing is left: parts may be shared, and a value of
// sixty doublings is soon built but never walked to its end.
void take_weight(Value value, std::int64_t& left, int levels = kMostLevels) {
  --left;
  if (levels == 0) left = -1;
  if (left < 0) return;
  if (value.is(Kind::kString) || value.is(Kind::kBytes)) {
    left -= static_cast<std::int64_t>(value.text().size() / 64);
  } else if (value.is(Kind::kOptional) && value.optional() != nullptr) {
    take_weight(*value.optional(), left, levels - 1);
  } else if (value.is(Kind::kList)) {
    for (const Value item : value.items()) {
      if (left < 0) return;
      take_weight(item, left, levels - 1);
    }
  } else if (value.is(Kind::kMap)) {
    for (const Map::Entry& entry : value.entries().entries) {
      if (--left < 0) return;
      take_weight(entry.value, left, levels - 1);
    }
  }
}

bool pays_for(Value value, Call& call) {
  std::int64_t left = call.budget_left();
  take_weight(value, left);
  return call.charge(static_cast<std::size_t>(call.budget_left() - left));
}

bool pays_to_compare(Value a, Value b, Call& call) {
  if (a.kind() != b.kind() || a.is_numeric() || a.is(Kind::kBool)) return true;
  const bool differ_in_size = (a.is(Kind::kList) && a.items().size() != b.items().size()) ||
                              (a.is(Kind::kMap) && a.entries().entries.size() != b.entries().entries.size());
  return differ_in_size || pays_for(a, call);
}

Value apply_order(Operator op, Value a, Value b, Call& call) {
  if (!pays_to_compare(a, b, call)) return Call::exhausted();
  const Order order = compare(a, b);
  if (order == Order::kNotComparable) return no_overload();
  switch (op) {
    case Operator::kLess: return Value::boolean(order == Order::kLess);
    case Operator::kLessEqual: return Value::boolean(order == Order::kLess || order == Order::kEqual);
    case Operator::kGreater: return Value::boolean(order == Order::kGreater);
    default: return Value::boolean(order == Order::kGreater || order == Order::kEqual);
  }
}

Value apply_equality(Value a, Value b, bool negated, Call& call) {
  if (!pays_to_compare(a, b, call)) return Call::exhausted();
  return Value::boolean(equal(a, b) != negated);
}

Value apply_in(Value item, Value range, Call& call) {
  if (range.is(Kind::kMap)) return Value::boolean(range.entries().find(item) != nullptr);
  if (!range.is(Kind::kList)) return no_overload();
  if (!call.charge(range.items().size() / 4)) return Call::exhausted();
  for (const Value candidate : range.items()) {
    if (!item.is(Kind::kString) && !pays_to_compare(item, candidate, call)) return Call::exhausted();
    if (equal(item, candidate)) return Value::boolean(true);
  }
  return Value::boolean(false);
}

Value no_such_key(Value key, Call& call) {
  if (key.is(Kind::kString)) return call.error(fmt::format("no such key: {}", key.text().substr(0, 200)));
  const bool has_parts = key.is(Kind::kList) || key.is(Kind::kMap) || key.is(Kind::kOptional) || key.is(Kind::kBytes);
  return call.error(fmt::format("no such key: {}", has_parts ? std::string(type_name(key)) : to_cel_text(key)));
}

Value find_in_list(std::span<const Value> items, Value index) {
  std::int64_t place = -1;
  if (index.is(Kind::kInt))
    place = index.as_int();
  else if (index.is(Kind::kUint))
    place = static_cast<std::int64_t>(std::min<std::uint64_t>(index.as_uint(), std::numeric_limits<std::int64_t>::max()));
  else if (index.is(Kind::kDouble) && index.as_double() == std::trunc(index.as_double()) && std::fabs(index.as_double()) < 1e15) {
    place = static_cast<std::int64_t>(index.as_double());
  } else {
    return Value::error("a list index must be a whole number");
  }
  if (place < 0 || place >= static_cast<std::int64_t>(items.size())) return Value::error("index out of range");
  return items[static_cast<std::size_t>(place)];
}

}  // namespace

Value apply(Operator op, Value a, Value b, Call& call) {
  switch (op) {
    case Operator::kEqual: return apply_equality(a, b, false, call);
    case Operator::kNotEqual: return apply_equality(a, b, true, call);
    case Operator::kIn: return apply_in(a, b, call);
    case Operator::kLess:
    case Operator::kLessEqual:
    case Operator::kGreater:
    case Operator::kGreaterEqual: return apply_order(op, a, b, call);
    default: return apply_arithmetic(op, a, b, call);
  }
}

Value find_member(Value operand, const Key& name, Call& call) {
  if (operand.is(Kind::kMap)) {
    const Value* const found = operand.entries().find(name);
    return found != nullptr ? *found : no_such_key(Value::string(name.text), call);
  }
  if (operand.is_error()) return operand;
  if (!operand.is(Kind::kOptional)) return no_such_key(Value::string(name.text), call);
  if (operand.optional() == nullptr || !operand.optional()->is(Kind::kMap)) {
    return operand.optional() == nullptr ? operand : no_such_key(Value::string(name.text), call);
  }
  const Value* const found = operand.optional()->entries().find(name);
  return found == nullptr ? Value::optional_none() : Value::optional_of(*found, call.arena());
}

Value find_index(Value operand, Value index, Call& call) {
  if (operand.is(Kind::kMap)) {
    const Value* const found = operand.entries().find(index);
    return found != nullptr ? *found : no_such_key(index, call);
  }
  return operand.is(Kind::kList) ? find_in_list(operand.items(), index) : no_overload();
}

}  // namespace nodeward::cel
