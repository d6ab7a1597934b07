// The syntax tree of one expression, with the standard macros already recognised. Private to this folder.
// Chains (a || b || c, a + b - c, x ? 1 : y ? 2 : 3, !!!a) are one node with many operands, so walking the tree never goes
// deeper than the brackets and member steps of the text, which the parser counts.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "cel/compile_error.h"
#include "cel/value.h"

namespace nodeward::cel {

enum class ExprKind : std::uint8_t {
  kLiteral,
  kIdent,
  kSelect,
  kHas,
  kIndex,
  kCall,
  kList,
  kMap,
  kNot,
  kNegate,
  kChain,
  kAnd,
  kOr,
  kConditional,
  kMacro
};
enum class Operator : std::uint8_t {
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,
  kModulo,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kEqual,
  kNotEqual,
  kIn
};
enum class Macro : std::uint8_t {
  kAll,
  kExists,
  kExistsOne,
  kMap,
  kFilter,
  kTransformList,
  kTransformMap,
  kTransformMapEntry,
  kBind,
  kOptMap,
  kOptFlatMap
};

struct Expr {
  ExprKind kind = ExprKind::kLiteral;
  Macro macro = Macro::kAll;
  bool optional = false;                  // kSelect, kIndex: written .? or [?
  bool absolute = false;                  // kIdent, kCall: written with a leading dot
  std::uint32_t begin = 0, end = 0;       // bytes of the text it covers
  std::uint32_t at = 0;                   // byte that an error about it points to
  std::uint32_t id = 0;                   // number of the node, in the order of parsing
  std::uint32_t height = 1;
  std::uint32_t count = 0;                // kNot, kNegate: how many signs
  Value literal;
  std::string_view name;                  // identifier, member, function
  Expr* target = nullptr;                 // operand; receiver of a call (nullptr: global); range of a macro, value of a bind
  std::span<Expr*> args;                  // operands; call arguments; elements; key, value, key, value; macro: [filter,] body
  std::span<Operator> operators;          // kChain: operators[i] stands before args[i + 1]
  std::span<bool> optionals;              // kList, kMap: elements written with ?
  std::string_view variable, variable2;   // kMacro; variable2 is empty in the one-variable form
};

struct Syntax {
  Arena arena;                            // owns nodes and texts
  std::string_view text;
  Expr* root = nullptr;
  std::vector<const Expr*> nodes;         // by id
};

struct SyntaxOptions {
  bool optional_syntax = false;
  bool two_variable_macros = false;
  bool bindings = false;
  bool macros = true;
};

constexpr std::size_t kMaxCodePoints = 100'000;
constexpr std::uint32_t kMaxBrackets = 249;    // 250 levels are refused
// Member steps count here too (a.b.c() is three high). Measured: the deepest tree takes under 640 KiB of stack.
constexpr std::uint32_t kMaxHeight = 1000;

tl::expected<Syntax, CompileError> parse(std::string_view text, const SyntaxOptions& options);

}  // namespace nodeward::cel
