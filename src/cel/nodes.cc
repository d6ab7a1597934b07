// The nodes that are no macros: names, members, operators, logic, calls.
#include <fmt/format.h>
#include <array>

#include "cel/node.h"

namespace nodeward::cel {
namespace {

class Constant final : public Node {
 public:
  explicit Constant(Value value) : value_(value) {}
  Value eval(Frame&) const override { return value_; }
  bool constant() const override { return true; }

 private:
  const Value value_;
};

class Variable final : public Node {
 public:
  explicit Variable(std::size_t index) : index_(index) {}
  Value eval(Frame& frame) const override { return frame.variable(index_); }

 private:
  const std::size_t index_;
};

class VariablePath final : public Node {
 public:
  VariablePath(std::size_t index, std::vector<Key> path) : index_(index), path_(std::move(path)) {}
  Value eval(Frame& frame) const override {
    Value at = frame.variable(index_);
    for (const Key& key : path_) {
      const Value* const found = at.is(Kind::kMap) ? at.entries().find(key) : nullptr;
      if (found == nullptr) return find_member(at, key, frame);
      at = *found;
    }
    return at;
  }

 private:
  const std::size_t index_;
  const std::vector<Key> path_;
};

class Slot final : public Node {
 public:
  explicit Slot(std::size_t slot) : slot_(slot) {}
  Value eval(Frame& frame) const override { return frame.slots[slot_]; }

 private:
  const std::size_t slot_;
};

class Select final : public Node {
 public:
  Select(NodePtr operand, Key name) : operand_(std::move(operand)), name_(name) {}
  Value eval(Frame& frame) const override { return find_member(operand_->eval(frame), name_, frame); }
  bool constant() const override { return operand_->constant(); }

 private:
  const NodePtr operand_;
  const Key name_;
};

// a.?b and a[?b]: what is missing becomes an empty optional; an optional operand is looked into.
Value find_optional(Value operand, Value key, Call& call) {
  if (operand.is(Kind::kOptional)) {
    if (operand.optional() == nullptr) return operand;
    operand = *operand.optional();
  }
  if (operand.is(Kind::kMap)) {
    const Value* const found = operand.entries().find(key);
    return found == nullptr ? Value::optional_none() : Value::optional_of(*found, call.arena());
  }
  if (!operand.is(Kind::kList)) return no_overload();
  const Value found = find_index(operand, key, call);
  return found.is_error() ? Value::optional_none() : Value::optional_of(found, call.arena());
}

class OptionalSelect final : public Node {
 public:
  OptionalSelect(NodePtr operand, Key name) : operand_(std::move(operand)), name_(name) {}
  Value eval(Frame& frame) const override {
    const Value operand = operand_->eval(frame);
    return operand.is_error() ? operand : find_optional(operand, Value::string(name_.text), frame);
  }

 private:
  const NodePtr operand_;
  const Key name_;
};

class Has final : public Node {
 public:
  Has(NodePtr operand, Key name) : operand_(std::move(operand)), name_(name) {}
  Value eval(Frame& frame) const override {
    Value operand = operand_->eval(frame);
    if (operand.is(Kind::kOptional)) {
      if (operand.optional() == nullptr) return Value::boolean(false);
      operand = *operand.optional();
    }
    if (operand.is(Kind::kMap)) return Value::boolean(operand.entries().find(name_) != nullptr);
    return operand.is_error() ? operand : Value::boolean(false);
  }

 private:
  const NodePtr operand_;
  const Key name_;
};

class Index final : public Node {
 public:
  Index(NodePtr operand, NodePtr index, bool optional)
      : operand_(std::move(operand)), index_(std::move(index)), optional_(optional) {}
  Value eval(Frame& frame) const override {
    const Value operand = operand_->eval(frame);
    if (operand.is_error()) return operand;
    const Value index = index_->eval(frame);
    if (index.is_error()) return index;
    if (optional_ || operand.is(Kind::kOptional)) return find_optional(operand, index, frame);
    return find_index(operand, index, frame);
  }
  bool constant() const override { return !optional_ && operand_->constant() && index_->constant(); }

 private:
  const NodePtr operand_, index_;
  const bool optional_;
};

class List final : public Node {
 public:
  List(Nodes items, std::span<const bool> optionals) : items_(std::move(items)), optionals_(optionals) {}
  Value eval(Frame& frame) const override {
    if (!frame.charge(2 * items_.size())) return Call::exhausted();
    const auto built = frame.arena().array<Value>(items_.size());
    std::size_t size = 0;
    for (std::size_t i = 0; i < items_.size(); ++i) {
      Value item = items_[i]->eval(frame);
      if (item.is_error()) return item;
      if (!optionals_.empty() && optionals_[i]) {
        if (!item.is(Kind::kOptional)) return no_overload();
        if (item.optional() == nullptr) continue;
        item = *item.optional();
      }
      built[size++] = item;
    }
    return Value::list(built.first(size));
  }
  bool constant() const override { return optionals_.empty() && all_constant(items_); }

 private:
  const Nodes items_;
  const std::span<const bool> optionals_;
};

bool may_be_key(Value key) { return key.is(Kind::kString) || key.is(Kind::kInt) || key.is(Kind::kUint) || key.is(Kind::kBool); }

class MapLiteral final : public Node {
 public:
  MapLiteral(Nodes items, std::span<const bool> optionals) : items_(std::move(items)), optionals_(optionals) {}
  Value eval(Frame& frame) const override {
    if (!frame.charge(4 * items_.size())) return Call::exhausted();
    MapBuilder builder(frame.arena(), items_.size() / 2);
    for (std::size_t i = 0; i < items_.size(); i += 2) {
      const Value key = items_[i]->eval(frame);
      if (key.is_error()) return key;
      Value value = items_[i + 1]->eval(frame);
      if (value.is_error()) return value;
      if (!optionals_.empty() && optionals_[i / 2]) {
        if (!value.is(Kind::kOptional)) return no_overload();
        if (value.optional() == nullptr) continue;
        value = *value.optional();
      }
      if (!may_be_key(key)) return Value::error("a map key must be a string, an int, a uint or a bool");
      if (!builder.add(key, value)) return Value::error("the map has a key twice");
    }
    return builder.finish();
  }
  bool constant() const override { return optionals_.empty() && all_constant(items_); }

 private:
  const Nodes items_;
  const std::span<const bool> optionals_;
};

class Not final : public Node {
 public:
  Not(NodePtr operand, bool flips) : operand_(std::move(operand)), flips_(flips) {}
  Value eval(Frame& frame) const override {
    const Value value = operand_->eval(frame);
    if (value.is(Kind::kBool)) return Value::boolean(value.as_bool() != flips_);
    return value.is_error() ? value : no_overload();
  }
  bool constant() const override { return operand_->constant(); }

 private:
  const NodePtr operand_;
  const bool flips_;
};

class Negate final : public Node {
 public:
  Negate(NodePtr operand, std::uint32_t count) : operand_(std::move(operand)), odd_(count % 2 == 1) {}
  Value eval(Frame& frame) const override {
    const Value value = operand_->eval(frame);
    if (value.is(Kind::kDouble)) return odd_ ? Value::number(-value.as_double()) : value;
    if (!value.is(Kind::kInt)) return value.is_error() ? value : no_overload();
    if (value.as_int() == std::numeric_limits<std::int64_t>::min()) return Value::error("integer overflow");
    return odd_ ? Value::integer(-value.as_int()) : value;
  }
  bool constant() const override { return operand_->constant(); }

 private:
  const NodePtr operand_;
  const bool odd_;
};

class Binary final : public Node {
 public:
  Binary(NodePtr left, NodePtr right, Operator op) : left_(std::move(left)), right_(std::move(right)), op_(op) {}
  Value eval(Frame& frame) const override {
    const Value a = left_->eval(frame);
    if (a.is_error()) return a;
    const Value b = right_->eval(frame);
    return b.is_error() ? b : apply(op_, a, b, frame);
  }
  bool constant() const override { return left_->constant() && right_->constant(); }

 private:
  const NodePtr left_, right_;
  const Operator op_;
};

class Chain final : public Node {
 public:
  Chain(Nodes operands, std::span<const Operator> operators) : operands_(std::move(operands)), operators_(operators) {}
  Value eval(Frame& frame) const override {
    Value left = operands_[0]->eval(frame);
    for (std::size_t i = 0; i < operators_.size() && !left.is_error(); ++i) {
      const Value right = operands_[i + 1]->eval(frame);
      left = right.is_error() ? right : apply(operators_[i], left, right, frame);
    }
    return left;
  }
  bool constant() const override { return all_constant(operands_); }

 private:
  const Nodes operands_;
  const std::span<const Operator> operators_;
};

class EqualsText final : public Node {
 public:
  EqualsText(NodePtr operand, std::string_view text, bool negated)
      : operand_(std::move(operand)), text_(text), negated_(negated) {}
  Value eval(Frame& frame) const override {
    const Value value = operand_->eval(frame);
    if (value.is(Kind::kString)) return Value::boolean((value.text() == text_) != negated_);
    return value.is_error() ? value : Value::boolean(negated_);
  }

 private:
  const NodePtr operand_;
  const std::string_view text_;
  const bool negated_;
};

class InSet final : public Node {
 public:
  InSet(NodePtr operand, Value set) : operand_(std::move(operand)), set_(set) {}
  Value eval(Frame& frame) const override {
    const Value value = operand_->eval(frame);
    return value.is_error() ? value : Value::boolean(set_.entries().find(value) != nullptr);
  }

 private:
  const NodePtr operand_;
  const Value set_;
};

// `decides` ends it, wherever it stands; an error, or a value that is no bool, counts only when nothing decides.
template <bool decides>
class Logic final : public Node {
 public:
  explicit Logic(Nodes operands) : operands_(std::move(operands)) {}
  Value eval(Frame& frame) const override {
    Value result = Value::boolean(!decides);
    for (const NodePtr& operand : operands_) {
      const Value value = operand->eval(frame);
      if (value.is(Kind::kBool)) {
        if (value.as_bool() == decides) return value;
      } else if (!result.is_error()) {
        result = value.is_error() ? value : no_overload();
      }
    }
    return result;
  }
  bool constant() const override { return all_constant(operands_); }

 private:
  const Nodes operands_;
};

class Conditional final : public Node {
 public:
  explicit Conditional(Nodes operands) : operands_(std::move(operands)) {}
  Value eval(Frame& frame) const override {
    std::size_t i = 0;
    for (; i + 1 < operands_.size(); i += 2) {
      const Value condition = operands_[i]->eval(frame);
      if (condition.is_true()) return operands_[i + 1]->eval(frame);
      if (!condition.is(Kind::kBool)) return condition.is_error() ? condition : no_overload();
    }
    return operands_[i]->eval(frame);
  }
  bool constant() const override { return all_constant(operands_); }

 private:
  const Nodes operands_;
};

class FewArguments final : public Node {
 public:
  static constexpr std::size_t kMost = 4;
  FewArguments(FunctionBody body, Nodes arguments) : body_(body), arguments_(std::move(arguments)) {}
  Value eval(Frame& frame) const override {
    std::array<Value, kMost> values;
    for (std::size_t i = 0; i < arguments_.size(); ++i) {
      values[i] = arguments_[i]->eval(frame);
      if (values[i].is_error()) return values[i];
    }
    return body_(frame, {values.data(), arguments_.size()});
  }
  bool constant() const override { return all_constant(arguments_); }

 private:
  const FunctionBody body_;
  const Nodes arguments_;
};

class ManyArguments final : public Node {
 public:
  ManyArguments(FunctionBody body, Nodes arguments) : body_(body), arguments_(std::move(arguments)) {}
  Value eval(Frame& frame) const override {
    const auto values = frame.arena().array<Value>(arguments_.size());
    for (std::size_t i = 0; i < arguments_.size(); ++i) {
      values[i] = arguments_[i]->eval(frame);
      if (values[i].is_error()) return values[i];
    }
    return body_(frame, values);
  }

 private:
  const FunctionBody body_;
  const Nodes arguments_;
};

class OptionalOr final : public Node {
 public:
  OptionalOr(NodePtr first, NodePtr second, bool unwraps)
      : first_(std::move(first)), second_(std::move(second)), unwraps_(unwraps) {}
  Value eval(Frame& frame) const override {
    const Value first = first_->eval(frame);
    if (!first.is(Kind::kOptional)) return first.is_error() ? first : no_overload();
    if (first.optional() != nullptr) return unwraps_ ? *first.optional() : first;
    const Value second = second_->eval(frame);
    return unwraps_ || second.is(Kind::kOptional) || second.is_error() ? second : no_overload();
  }

 private:
  const NodePtr first_, second_;
  const bool unwraps_;
};

class Traced final : public Node {
 public:
  Traced(NodePtr inner, std::uint32_t id) : inner_(std::move(inner)), id_(id) {}
  Value eval(Frame& frame) const override {
    const Value value = inner_->eval(frame);
    if (!frame.trace.empty()) {
      frame.trace[id_].value = value;
      ++frame.trace[id_].times;
    }
    return value;
  }

 private:
  const NodePtr inner_;
  const std::uint32_t id_;
};

}  // namespace

bool all_constant(const Nodes& nodes) {
  for (const NodePtr& node : nodes) {
    if (!node->constant()) return false;
  }
  return true;
}

NodePtr make_constant(Value value) { return std::make_unique<Constant>(value); }
NodePtr make_variable(std::size_t index) { return std::make_unique<Variable>(index); }
NodePtr make_variable_path(std::size_t index, std::vector<Key> path) {
  return std::make_unique<VariablePath>(index, std::move(path));
}
NodePtr make_slot(std::size_t slot) { return std::make_unique<Slot>(slot); }
NodePtr make_select(NodePtr operand, Key name, bool optional) {
  if (optional) return std::make_unique<OptionalSelect>(std::move(operand), name);
  return std::make_unique<Select>(std::move(operand), name);
}
NodePtr make_has(NodePtr operand, Key name) { return std::make_unique<Has>(std::move(operand), name); }
NodePtr make_index(NodePtr operand, NodePtr index, bool optional) {
  return std::make_unique<Index>(std::move(operand), std::move(index), optional);
}
NodePtr make_list(Nodes items, std::span<const bool> optionals) { return std::make_unique<List>(std::move(items), optionals); }
NodePtr make_map(Nodes items, std::span<const bool> optionals) {
  return std::make_unique<MapLiteral>(std::move(items), optionals);
}
NodePtr make_not(NodePtr operand, std::uint32_t count) { return std::make_unique<Not>(std::move(operand), count % 2 == 1); }
NodePtr make_negate(NodePtr operand, std::uint32_t count) { return std::make_unique<Negate>(std::move(operand), count); }
NodePtr make_chain(Nodes operands, std::span<const Operator> operators) {
  if (operators.size() == 1) return std::make_unique<Binary>(std::move(operands[0]), std::move(operands[1]), operators[0]);
  return std::make_unique<Chain>(std::move(operands), operators);
}
NodePtr make_equals_text(NodePtr operand, std::string_view text, bool negated) {
  return std::make_unique<EqualsText>(std::move(operand), text, negated);
}
NodePtr make_in_set(NodePtr operand, Value set) { return std::make_unique<InSet>(std::move(operand), set); }
NodePtr make_and(Nodes operands) { return std::make_unique<Logic<false>>(std::move(operands)); }
NodePtr make_or(Nodes operands) { return std::make_unique<Logic<true>>(std::move(operands)); }
NodePtr make_conditional(Nodes operands) { return std::make_unique<Conditional>(std::move(operands)); }
NodePtr make_call(FunctionBody body, Nodes arguments) {
  if (arguments.size() <= FewArguments::kMost) return std::make_unique<FewArguments>(body, std::move(arguments));
  return std::make_unique<ManyArguments>(body, std::move(arguments));
}
NodePtr make_optional_or(NodePtr first, NodePtr second, bool unwraps) {
  return std::make_unique<OptionalOr>(std::move(first), std::move(second), unwraps);
}
NodePtr make_traced(NodePtr inner, std::uint32_t id) { return std::make_unique<Traced>(std::move(inner), id); }

}  // namespace nodeward::cel
