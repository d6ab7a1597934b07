// A CEL value: 16 bytes, copied freely. Text, lists and maps are views into an Arena, a Document (document.h) or the program;
// whoever owns that memory must outlive the value. Values are immutable, so any number of threads may read one.
// An error is a value too: && || all exists may absorb it, everything else hands it on.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "cel/arena.h"

namespace nodeward::cel {

enum class Kind : std::uint8_t {
  kNull,
  kBool,
  kInt,
  kUint,
  kDouble,
  kString,
  kBytes,
  kDuration,
  kTimestamp,
  kList,
  kMap,
  kType,
  kOptional,
  kError
};

struct Map;

class Value {
 public:
  constexpr Value() = default;   // null

  static constexpr Value null() { return {}; }
  static constexpr Value boolean(bool value) { return Value(Kind::kBool, 0, static_cast<std::uint64_t>(value)); }
  static constexpr Value integer(std::int64_t value) { return Value(Kind::kInt, 0, static_cast<std::uint64_t>(value)); }
  static constexpr Value uint(std::uint64_t value) { return Value(Kind::kUint, 0, value); }
  static Value number(double value) {
    Value result(Kind::kDouble, 0, std::uint64_t{0});
    result.payload_.number = value;
    return result;
  }
  static Value string(std::string_view text) { return Value(Kind::kString, text.size(), text.data()); }
  static Value bytes(std::string_view text) { return Value(Kind::kBytes, text.size(), text.data()); }
  static Value duration(std::int64_t nanoseconds) { return Value(Kind::kDuration, 0, static_cast<std::uint64_t>(nanoseconds)); }
  // `nanos` counts upwards from `seconds`, 0 to 999,999,999, also before 1970.
  static Value timestamp(std::int64_t seconds, std::uint32_t nanos) {
    return Value(Kind::kTimestamp, nanos, static_cast<std::uint64_t>(seconds));
  }
  static Value list(std::span<const Value> items) { return Value(Kind::kList, items.size(), items.data()); }
  static Value map(const Map& map) { return Value(Kind::kMap, 0, &map); }
  static Value type(std::string_view name) { return Value(Kind::kType, name.size(), name.data()); }
  static Value optional_none() { return Value(Kind::kOptional, 0, std::uint64_t{0}); }
  static Value optional_of(Value value, Arena& arena);
  // The message is not copied: a literal, or text in the evaluation's arena.
  static Value error(std::string_view message) { return Value(Kind::kError, message.size(), message.data()); }

  Kind kind() const { return kind_; }
  bool is(Kind kind) const { return kind_ == kind; }
  bool is_error() const { return kind_ == Kind::kError; }
  bool is_true() const { return kind_ == Kind::kBool && payload_.bits != 0; }
  bool is_false() const { return kind_ == Kind::kBool && payload_.bits == 0; }
  bool is_numeric() const { return kind_ == Kind::kInt || kind_ == Kind::kUint || kind_ == Kind::kDouble; }

  // Each may be called for its own kind only.
  bool as_bool() const { return payload_.bits != 0; }
  std::int64_t as_int() const { return static_cast<std::int64_t>(payload_.bits); }
  std::uint64_t as_uint() const { return payload_.bits; }
  double as_double() const { return payload_.number; }
  std::string_view text() const { return {static_cast<const char*>(payload_.pointer), size_}; }   // string, bytes, type, error
  std::int64_t nanoseconds() const { return as_int(); }                                           // duration
  std::int64_t seconds() const { return as_int(); }                                               // timestamp
  std::uint32_t nanos() const { return size_; }                                                   // timestamp
  std::span<const Value> items() const { return {static_cast<const Value*>(payload_.pointer), size_}; }
  const Map& entries() const { return *static_cast<const Map*>(payload_.pointer); }
  const Value* optional() const { return static_cast<const Value*>(payload_.pointer); }           // nullptr: none

 private:
  constexpr Value(Kind kind, std::size_t size, std::uint64_t bits)
      : kind_(kind), size_(static_cast<std::uint32_t>(size)), payload_{.bits = bits} {}
  constexpr Value(Kind kind, std::size_t size, const void* pointer)
      : kind_(kind), size_(static_cast<std::uint32_t>(size)), payload_{.pointer = pointer} {}

  Kind kind_ = Kind::kNull;
  std::uint32_t size_ = 0;
  union {
    std::uint64_t bits;
    double number;
    const void* pointer;
  } payload_{.bits = 0};
};
static_assert(sizeof(Value) == 16);

// Equal values that may be map keys have equal hashes, whatever their numeric kind.
std::uint32_t hash_text(std::string_view text);
std::uint32_t hash_key(Value key);

// Whether `size` bytes are the same. Inline: names and labels are short, and calling memcmp costs more than comparing them.
inline bool same_bytes(const char* a, const char* b, std::size_t size) {
  const auto differ = [&]<class Word>(Word, std::size_t at) {
    Word x, y;
    std::memcpy(&x, a + at, sizeof x);
    std::memcpy(&y, b + at, sizeof y);
    return x != y;
  };
  if (size >= 8) {
    for (std::size_t at = 0; at + 8 < size; at += 8) {
      if (differ(std::uint64_t{}, at)) return false;
    }
    return !differ(std::uint64_t{}, size - 8);
  }
  if (size >= 4) return !differ(std::uint32_t{}, 0) && !differ(std::uint32_t{}, size - 4);
  for (std::size_t at = 0; at < size; ++at) {
    if (a[at] != b[at]) return false;
  }
  return true;
}
inline bool same_text(std::string_view a, std::string_view b) {
  return a.size() == b.size() && same_bytes(a.data(), b.data(), a.size());
}

// A text with its hash, worked out once: for keys that are looked up or built again and again.
struct Key {
  Key() = default;
  explicit Key(std::string_view name) : text(name), hash(hash_text(name)) {}
  std::string_view text;
  std::uint32_t hash = 0;
};

// Entries in the order they were added. Made by MapBuilder only.
struct Map {
  struct Entry {
    Value key;
    Value value;
  };
  struct Slot {
    std::uint32_t hash = 0;
    std::uint32_t place = 0;   // index of the entry + 1; 0: free
  };
  std::span<const Entry> entries;
  const Slot* slots = nullptr;   // a small map: one per entry, in order; else a table with open addressing
  std::uint32_t mask = 0;        // 0: small

  // nullptr: no such key.
  const Value* find(const Key& key) const {
    return find_where(key.hash, [&](const Value& at) { return at.is(Kind::kString) && same_text(at.text(), key.text); });
  }
  const Value* find(Value key) const;   // any kind; numbers match across kinds

  template <class Matches>
  const Value* find_where(std::uint32_t hash, Matches&& matches) const {
    if (mask == 0) {
      for (std::size_t i = 0; i < entries.size(); ++i) {
        if (slots[i].hash == hash && matches(entries[i].key)) return &entries[i].value;
      }
      return nullptr;
    }
    for (std::uint32_t at = hash & mask; slots[at].place != 0; at = (at + 1) & mask) {
      if (slots[at].hash != hash) continue;
      const Entry& entry = entries[slots[at].place - 1];
      if (matches(entry.key)) return &entry.value;
    }
    return nullptr;
  }
};

// Builds one map in `arena`. `capacity` is the most entries that will be added.
class MapBuilder {
 public:
  MapBuilder(Arena& arena, std::size_t capacity);
  void add(const Key& key, Value value);               // the caller sees to it that keys differ
  bool add(Value key, Value value);                    // false: that key is there already
  Value finish();

 private:
  void insert(Value key, std::uint32_t hash, Value value);
  Map built() const { return {entries_.first(size_), slots_.data(), mask_}; }
  Arena& arena_;
  std::span<Map::Entry> entries_;
  std::span<Map::Slot> slots_;
  std::uint32_t mask_ = 0;
  std::size_t size_ = 0;
};

// CEL equality: numbers across kinds, lists and maps by content; different kinds are unequal, never an error.
bool equal(Value a, Value b);

enum class Order : std::uint8_t { kLess, kEqual, kGreater, kUnordered, kNotComparable };
Order compare(Value a, Value b);   // kUnordered: a NaN takes part

std::string_view type_name(Value value);   // "int", "google.protobuf.Timestamp", ...
// Values nest as deep as an expression can build them; whatever walks one on the stack goes no deeper than this.
inline constexpr int kMostLevels = 1000;
// As an expression that yields the value; "..." stands for what lies deeper than kMostLevels or beyond 16 MiB.
std::string to_cel_text(Value value);      // as an expression that yields the value: 24.0, 7u, "a\"b", {"k": [1, null]}

}  // namespace nodeward::cel
