// The compiled form: a tree of small objects that yield values. Private to this folder.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "cel/function.h"
#include "cel/syntax.h"
#include "cel/value.h"

namespace nodeward::cel {

struct TraceEntry {
  Value value;
  std::size_t times = 0;
};

// One evaluation under way.
class Frame : public Call {
 public:
  Frame(std::span<const Value> variables, Arena& arena, std::int64_t budget) : Call(arena, budget), variables_(variables) {}
  Value variable(std::size_t i) const { return variables_[i]; }
  std::span<Value> slots;           // variables of the macros around the present node
  std::span<TraceEntry> trace;      // by expression id; empty: not traced

 private:
  std::span<const Value> variables_;
};

class Node {
 public:
  Node() = default;
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;
  virtual ~Node() = default;
  virtual Value eval(Frame& frame) const = 0;
  virtual bool constant() const { return false; }   // yields the same everywhere, so it may be worked out once
};
using NodePtr = std::unique_ptr<const Node>;
using Nodes = std::vector<NodePtr>;

bool all_constant(const Nodes& nodes);

NodePtr make_constant(Value value);
NodePtr make_variable(std::size_t index);
NodePtr make_variable_path(std::size_t index, const std::vector<Key>& path);   // event.a.b
NodePtr make_slot(std::size_t slot);
NodePtr make_select(NodePtr operand, Key name, bool optional);
NodePtr make_has(NodePtr operand, Key name);
NodePtr make_index(NodePtr operand, NodePtr index, bool optional);
NodePtr make_list(Nodes items, std::span<const bool> optionals);
NodePtr make_map(Nodes keys_and_values, std::span<const bool> optionals);
NodePtr make_not(NodePtr operand, std::uint32_t count);
NodePtr make_negate(NodePtr operand, std::uint32_t count);
NodePtr make_chain(Nodes operands, std::span<const Operator> operators);
NodePtr make_equals_text(NodePtr operand, std::string_view text, bool negated);
NodePtr make_in_with_key(Key key, NodePtr range);
NodePtr make_in_set(NodePtr operand, Value set);                        // `set`: a map whose keys are the members
NodePtr make_and(Nodes operands);
NodePtr make_or(Nodes operands);
NodePtr make_conditional(Nodes operands);
NodePtr make_call(FunctionBody body, Nodes arguments);
NodePtr make_optional_or(NodePtr first, NodePtr second, bool unwraps);  // .or(), .orValue(): the second only when needed
NodePtr make_traced(NodePtr inner, std::uint32_t id);

struct MacroParts {
  Macro macro;
  NodePtr range;
  NodePtr filter;              // may be null
  NodePtr body;
  std::size_t slot = 0;        // of the first variable; the second has the next one
  bool two_variables = false;
  std::size_t body_cost = 1;   // steps per round
};
NodePtr make_macro(MacroParts parts);

// The operators on values, shared with constant folding and functions.
Value apply(Operator op, Value a, Value b, Call& call);
Value find_member(Value operand, const Key& name, Call& call);
Value find_index(Value operand, Value index, Call& call);

// What .or() and .orValue() are registered with; the compiler makes make_optional_or of them.
Value optional_or(Call& call, std::span<const Value> args);
Value optional_or_value(Call& call, std::span<const Value> args);

// The functions of each part of the library.
void add_standard_functions(std::vector<Function>& to);
void add_time_functions(std::vector<Function>& to);
void add_string_functions(std::vector<Function>& to);
void add_specification_offsets(std::vector<Function>& to);   // put first, so that they are found first
void add_math_functions(std::vector<Function>& to);
void add_encoder_functions(std::vector<Function>& to);
void add_optional_functions(std::vector<Function>& to);

}  // namespace nodeward::cel
