// The nodes that are neither macros nor operators: names, members, lists and maps, calls.
#include <fmt/format.h>
#include <algorithm>
#include <array>

#include "cel/node.h"
#include "cel/operand.h"

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
  Value eval(Frame& frame) const override {
    const Value operand = operand_->eval(frame);
    const Value* const found = operand.is(Kind::kMap) ? name_.find(operand.entries()) : nullptr;
    return found != nullptr ? *found : find_member(operand, name_.key(), frame);
  }
  bool constant() const override { return operand_->constant(); }

 private:
  const NodePtr operand_;
  const MemberKey name_;
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
    Value operand = operand_.eval(frame);
    if (operand.is(Kind::kOptional)) {
      if (operand.optional() == nullptr) return Value::boolean(false);
      operand = *operand.optional();
    }
    if (operand.is(Kind::kMap)) return Value::boolean(name_.find(operand.entries()) != nullptr);
    if (operand.is(Kind::kList)) return no_overload();   // as in cel-go; of all other kinds a member is simply not there
    return operand.is_error() ? operand : Value::boolean(false);
  }

 private:
  const Operand operand_;
  const MemberKey name_;
};

// 'k' in m
class InWithKey final : public Node {
 public:
  InWithKey(Key key, NodePtr range) : key_(key), range_(std::move(range)) {}
  Value eval(Frame& frame) const override {
    const Value range = range_.eval(frame);
    if (range.is(Kind::kMap)) return Value::boolean(key_.find(range.entries()) != nullptr);
    return range.is_error() ? range : apply(Operator::kIn, Value::string(key_.key().text), range, frame);
  }

 private:
  const MemberKey key_;
  const Operand range_;
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

template <std::size_t count>
class FewArguments final : public Node {
 public:
  FewArguments(FunctionBody body, Nodes arguments) : body_(body) {
    for (NodePtr& argument : arguments) arguments_.emplace_back(std::move(argument));
  }
  Value eval(Frame& frame) const override {
    std::array<Value, count> values;
    for (std::size_t i = 0; i < count; ++i) {
      values[i] = arguments_[i].eval(frame);
      if (values[i].is_error()) return values[i];
    }
    return body_(frame, values);
  }
  bool constant() const override {
    return std::ranges::all_of(arguments_, [](const Operand& argument) { return argument.constant(); });
  }

 private:
  const FunctionBody body_;
  std::vector<Operand> arguments_;
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
NodePtr make_variable_path(std::size_t index, const std::vector<Key>& path) {
  return std::make_unique<VariablePath>(index, path);
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
NodePtr make_in_with_key(Key key, NodePtr range) { return std::make_unique<InWithKey>(key, std::move(range)); }
NodePtr make_call(FunctionBody body, Nodes arguments) {
  switch (arguments.size()) {
    case 1: return std::make_unique<FewArguments<1>>(body, std::move(arguments));
    case 2: return std::make_unique<FewArguments<2>>(body, std::move(arguments));
    case 3: return std::make_unique<FewArguments<3>>(body, std::move(arguments));
    default: return std::make_unique<ManyArguments>(body, std::move(arguments));
  }
}
NodePtr make_optional_or(NodePtr first, NodePtr second, bool unwraps) {
  return std::make_unique<OptionalOr>(std::move(first), std::move(second), unwraps);
}
NodePtr make_traced(NodePtr inner, std::uint32_t id) { return std::make_unique<Traced>(std::move(inner), id); }

}  // namespace nodeward::cel
