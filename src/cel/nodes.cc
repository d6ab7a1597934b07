// The nodes that are no macros: names, members, operators, logic, calls.
#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <atomic>

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

// A literal key, and the place where it was found first: records of one kind have their members in one order, so the look-up
// is mostly a single comparison. The place is set once, so threads that share the program do not fight for its cache line.
class MemberKey {
 public:
  explicit MemberKey(const Key& key) : key_(key) {}
  MemberKey(const MemberKey& other) : key_(other.key_) {}

  const Value* find(const Map& map) const {
    const std::uint32_t place = place_.load(std::memory_order_relaxed);
    if (place < map.entries.size()) {
      const Map::Entry& entry = map.entries[place];
      if (entry.key.is(Kind::kString) && same_text(entry.key.text(), key_.text)) return &entry.value;
    }
    return find_anew(map, place);
  }
  const Key& key() const { return key_; }

 private:
  static constexpr std::uint32_t kUnknown = ~std::uint32_t{0};
  [[gnu::noinline]] const Value* find_anew(const Map& map, std::uint32_t place) const {
    const Value* const found = map.find(key_);
    if (found != nullptr && place == kUnknown) {
      const auto offset = reinterpret_cast<const char*>(found) - reinterpret_cast<const char*>(map.entries.data());
      place_.store(static_cast<std::uint32_t>(static_cast<std::size_t>(offset) / sizeof(Map::Entry)), std::memory_order_relaxed);
    }
    return found;
  }

  const Key key_;
  mutable std::atomic<std::uint32_t> place_{kUnknown};
};

// event.a.b: the most frequent operand. The nodes below that take one are made for it, which saves a call per term.
class VariablePath final : public Node {
 public:
  VariablePath(std::size_t index, const std::vector<Key>& path)
      : index_(index), first_(path.front()), rest_(path.begin() + 1, path.end()) {}
  Value get(Frame& frame) const {
    const Value variable = frame.variable(index_);
    const Value* at = variable.is(Kind::kMap) ? first_.find(variable.entries()) : nullptr;
    if (at == nullptr) return find_member(variable, first_.key(), frame);
    for (const MemberKey& key : rest_) {
      const Value* const found = at->is(Kind::kMap) ? key.find(at->entries()) : nullptr;
      if (found == nullptr) return find_member(*at, key.key(), frame);
      at = found;
    }
    return *at;
  }
  Value eval(Frame& frame) const override { return get(frame); }

 private:
  const std::size_t index_;
  const MemberKey first_;
  const std::vector<MemberKey> rest_;
};

// An operand of a node that is made for VariablePath and works for all others.
class Operand {
 public:
  explicit Operand(NodePtr node) : node_(std::move(node)), path_(dynamic_cast<const VariablePath*>(node_.get())) {}
  Value eval(Frame& frame) const { return path_ != nullptr ? path_->get(frame) : node_->eval(frame); }
  bool constant() const { return node_->constant(); }

 private:
  NodePtr node_;
  const VariablePath* path_;
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
NodePtr make_not(NodePtr operand, std::uint32_t count) { return std::make_unique<Not>(std::move(operand), count % 2 == 1); }
NodePtr make_negate(NodePtr operand, std::uint32_t count) { return std::make_unique<Negate>(std::move(operand), count); }
NodePtr make_chain(Nodes operands, std::span<const Operator> operators) {
  if (operators.size() == 1) return std::make_unique<Binary>(std::move(operands[0]), std::move(operands[1]), operators[0]);
  return std::make_unique<Chain>(std::move(operands), operators);
}
NodePtr make_equals_text(NodePtr operand, std::string_view text, bool negated) {
  return std::make_unique<EqualsText>(std::move(operand), text, negated);
}
NodePtr make_in_with_key(Key key, NodePtr range) { return std::make_unique<InWithKey>(key, std::move(range)); }
NodePtr make_in_set(NodePtr operand, Value set) { return std::make_unique<InSet>(std::move(operand), set); }
NodePtr make_and(Nodes operands) { return std::make_unique<Logic<false>>(std::move(operands)); }
NodePtr make_or(Nodes operands) { return std::make_unique<Logic<true>>(std::move(operands)); }
NodePtr make_conditional(Nodes operands) { return std::make_unique<Conditional>(std::move(operands)); }
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
