#include "cel/value.h"

#include <cmath>
#include <cstring>

namespace nodeward::cel {
namespace {

constexpr std::size_t kLinearLimit = 8;   // up to here comparing hashes one by one beats the table

std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  a = (a ^ b) * 0x9e3779b97f4a7c15ULL;
  return a ^ (a >> 32);
}

std::uint32_t hash_number(double value) {
  if (value >= -9223372036854775808.0 && value < 9223372036854775808.0 && value == std::trunc(value)) {
    return static_cast<std::uint32_t>(mix(static_cast<std::uint64_t>(static_cast<std::int64_t>(value)), 1));
  }
  if (value >= 9223372036854775808.0 && value < 18446744073709551616.0) {
    return static_cast<std::uint32_t>(mix(static_cast<std::uint64_t>(value), 1));
  }
  std::uint64_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return static_cast<std::uint32_t>(mix(bits, 2));
}

template <class T>
Order order_of(const T& a, const T& b) {
  if (a < b) return Order::kLess;
  return b < a ? Order::kGreater : Order::kEqual;
}

// Between an integer and a double the specification rounds the integer: 9223372036854775807 equals 9223372036854775808.0.
Order compare_int_double(std::int64_t a, double b) {
  return std::isnan(b) ? Order::kUnordered : order_of(static_cast<double>(a), b);
}
Order compare_uint_double(std::uint64_t a, double b) {
  return std::isnan(b) ? Order::kUnordered : order_of(static_cast<double>(a), b);
}

Order reversed(Order order) {
  if (order == Order::kLess) return Order::kGreater;
  return order == Order::kGreater ? Order::kLess : order;
}

Order compare_numbers(Value a, Value b) {
  if (a.kind() > b.kind()) return reversed(compare_numbers(b, a));   // kInt < kUint < kDouble
  if (a.is(Kind::kInt)) {
    if (b.is(Kind::kInt)) return order_of(a.as_int(), b.as_int());
    if (b.is(Kind::kDouble)) return compare_int_double(a.as_int(), b.as_double());
    return a.as_int() < 0 ? Order::kLess : order_of(static_cast<std::uint64_t>(a.as_int()), b.as_uint());
  }
  if (a.is(Kind::kUint)) {
    return b.is(Kind::kUint) ? order_of(a.as_uint(), b.as_uint()) : compare_uint_double(a.as_uint(), b.as_double());
  }
  if (std::isnan(a.as_double()) || std::isnan(b.as_double())) return Order::kUnordered;
  return order_of(a.as_double(), b.as_double());
}

bool equal_maps(const Map& a, const Map& b) {
  if (a.entries.size() != b.entries.size()) return false;
  for (const Map::Entry& entry : a.entries) {
    const Value* const other = b.find(entry.key);
    if (other == nullptr || !equal(entry.value, *other)) return false;
  }
  return true;
}

bool equal_lists(std::span<const Value> a, std::span<const Value> b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!equal(a[i], b[i])) return false;
  }
  return true;
}

bool equal_optionals(const Value* a, const Value* b) {
  if (a == nullptr || b == nullptr) return a == b;
  return equal(*a, *b);
}

}  // namespace

Value Value::optional_of(Value value, Arena& arena) {
  const auto place = arena.array<Value>(1);
  place[0] = value;
  return Value(Kind::kOptional, 1, place.data());
}

std::uint32_t hash_text(std::string_view text) {
  const char* at = text.data();
  std::size_t left = text.size();
  std::uint64_t hash = left;
  while (left >= 8) {
    std::uint64_t word;
    std::memcpy(&word, at, 8);
    hash = mix(hash, word);
    at += 8;
    left -= 8;
  }
  if (left != 0) {
    std::uint64_t word = 0;
    std::memcpy(&word, at, left);
    hash = mix(hash, word + 0x51ed27);
  }
  return static_cast<std::uint32_t>(hash);
}

std::uint32_t hash_key(Value key) {
  switch (key.kind()) {
    case Kind::kString: return hash_text(key.text());
    case Kind::kInt:
    case Kind::kUint: return static_cast<std::uint32_t>(mix(key.as_uint(), 1));
    case Kind::kDouble: return hash_number(key.as_double());
    case Kind::kBool: return key.as_bool() ? 3 : 5;
    default: return 7;
  }
}

const Value* Map::find(Value key) const {
  if (key.is(Kind::kString)) return find(Key(key.text()));
  return find_where(hash_key(key), [&](const Value& at) { return equal(at, key); });
}

MapBuilder::MapBuilder(Arena& arena, std::size_t capacity) : arena_(arena), entries_(arena.array<Map::Entry>(capacity)) {
  std::size_t slots = capacity;
  if (capacity > kLinearLimit) {
    for (slots = 32; slots < 2 * capacity;) slots *= 2;
    mask_ = static_cast<std::uint32_t>(slots - 1);
  }
  slots_ = arena.array<Map::Slot>(slots);
}

void MapBuilder::insert(Value key, std::uint32_t hash, Value value) {
  entries_[size_] = {key, value};
  std::size_t at = size_++;
  if (mask_ != 0) {
    for (at = hash & mask_; slots_[at].place != 0;) at = (at + 1) & mask_;
  }
  slots_[at] = {hash, static_cast<std::uint32_t>(size_)};
}

void MapBuilder::add(const Key& key, Value value) { insert(Value::string(key.text), key.hash, value); }

bool MapBuilder::add(Value key, Value value) {
  if (built().find(key) != nullptr) return false;
  insert(key, hash_key(key), value);
  return true;
}

Value MapBuilder::finish() {
  const auto place = arena_.array<Map>(1);
  place[0] = built();
  return Value::map(place[0]);
}

bool equal(Value a, Value b) {
  if (a.kind() != b.kind()) return a.is_numeric() && b.is_numeric() && compare_numbers(a, b) == Order::kEqual;
  switch (a.kind()) {
    case Kind::kNull: return true;
    case Kind::kBool:
    case Kind::kInt:
    case Kind::kUint:
    case Kind::kDuration: return a.as_uint() == b.as_uint();
    case Kind::kDouble: return a.as_double() == b.as_double();
    case Kind::kString:
    case Kind::kBytes:
    case Kind::kType:
    case Kind::kError: return same_text(a.text(), b.text());
    case Kind::kTimestamp: return a.seconds() == b.seconds() && a.nanos() == b.nanos();
    case Kind::kList: return equal_lists(a.items(), b.items());
    case Kind::kMap: return equal_maps(a.entries(), b.entries());
    case Kind::kOptional: return equal_optionals(a.optional(), b.optional());
  }
  return false;
}

Order compare(Value a, Value b) {
  if (a.is_numeric() && b.is_numeric()) return compare_numbers(a, b);
  if (a.kind() != b.kind()) return Order::kNotComparable;
  switch (a.kind()) {
    case Kind::kBool: return order_of(a.as_bool(), b.as_bool());
    case Kind::kString:
    case Kind::kBytes: return order_of(a.text(), b.text());
    case Kind::kDuration: return order_of(a.nanoseconds(), b.nanoseconds());
    case Kind::kTimestamp:
      return a.seconds() != b.seconds() ? order_of(a.seconds(), b.seconds()) : order_of(a.nanos(), b.nanos());
    default: return Order::kNotComparable;
  }
}

std::string_view type_name(Value value) {
  switch (value.kind()) {
    case Kind::kNull: return "null_type";
    case Kind::kBool: return "bool";
    case Kind::kInt: return "int";
    case Kind::kUint: return "uint";
    case Kind::kDouble: return "double";
    case Kind::kString: return "string";
    case Kind::kBytes: return "bytes";
    case Kind::kDuration: return "google.protobuf.Duration";
    case Kind::kTimestamp: return "google.protobuf.Timestamp";
    case Kind::kList: return "list";
    case Kind::kMap: return "map";
    case Kind::kType: return "type";
    case Kind::kOptional: return "optional_type";
    case Kind::kError: return "error";
  }
  return "error";
}

}  // namespace nodeward::cel
