// Functions that expressions may call. A function gets values that are no errors and answers with a value; Call is what it
// may use meanwhile: memory that lives as long as the result, and the budget of the evaluation.
// A function must answer the same for the same values: with constant arguments it is called once, while the rule is loaded.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>

#include "cel/value.h"

namespace nodeward::cel {

// A set of kinds: what an expression or a function can yield.
using Kinds = std::uint32_t;
constexpr Kinds kinds(Kind kind) { return Kinds{1} << static_cast<unsigned>(kind); }
template <class... More>
constexpr Kinds kinds(Kind first, More... more) {
  return kinds(first) | kinds(more...);
}
constexpr Kinds kAnyKind = ~Kinds{0};

class Call {
 public:
  Call(Arena& arena, std::int64_t budget) : arena_(arena), budget_(budget) {}

  Arena& arena() { return arena_; }
  // Pays for work that grows with its input. false: the evaluation has used up its bound; return exhausted().
  bool charge(std::size_t steps) {
    budget_ -= static_cast<std::int64_t>(steps);
    return budget_ >= 0;
  }
  bool charge_text(std::size_t bytes) { return charge(bytes / kBytesPerStep + 1); }
  // More bytes than this cannot be paid for.
  std::size_t text_left() const { return budget_ < 0 ? 0 : static_cast<std::size_t>(budget_) * kBytesPerStep; }
  std::int64_t budget_left() const { return budget_; }
  static Value exhausted() { return Value::error("the evaluation costs too much"); }

  Value error(std::string_view message) { return Value::error(arena_.copy(message)); }   // copies, unlike Value::error
  Value text(std::string_view built);                                                    // copies and pays for it

 private:
  static constexpr std::size_t kBytesPerStep = 8;
  Arena& arena_;
  std::int64_t budget_;
};

inline Value no_overload() { return Value::error("no such overload"); }

using FunctionBody = Value (*)(Call&, std::span<const Value>);

struct FunctionShape {
  bool member = false;                    // called as a.f(b): the receiver is the first argument
  std::size_t least = 1, most = 1;        // arguments, with the receiver
  Kinds result = kAnyKind;
};
constexpr std::size_t kAnyNumber = std::numeric_limits<std::size_t>::max();

struct Function {
  std::string name;
  FunctionShape shape;
  FunctionBody body = nullptr;
};

}  // namespace nodeward::cel
