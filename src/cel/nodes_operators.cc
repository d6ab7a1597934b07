// The nodes of operators: sign and negation, arithmetic and comparison, logic, the conditional.
#include <limits>

#include "cel/node.h"
#include "cel/operand.h"

namespace nodeward::cel {
namespace {

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
    const Value a = left_.eval(frame);
    if (a.is_error()) return a;
    const Value b = right_.eval(frame);
    return b.is_error() ? b : apply(op_, a, b, frame);
  }
  bool constant() const override { return left_.constant() && right_.constant(); }

 private:
  const Operand left_, right_;
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
    const Value value = operand_.eval(frame);
    if (value.is(Kind::kString)) return Value::boolean(same_text(value.text(), text_) != negated_);
    return value.is_error() ? value : Value::boolean(negated_);
  }

 private:
  const Operand operand_;
  const std::string_view text_;
  const bool negated_;
};

class InSet final : public Node {
 public:
  InSet(NodePtr operand, Value set) : operand_(std::move(operand)), set_(set) {}
  Value eval(Frame& frame) const override {
    const Value value = operand_.eval(frame);
    return value.is_error() ? value : Value::boolean(set_.entries().find(value) != nullptr);
  }

 private:
  const Operand operand_;
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

}  // namespace

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

}  // namespace nodeward::cel
