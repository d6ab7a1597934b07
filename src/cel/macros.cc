// all, exists, exists_one, map, filter, their two-variable forms, cel.bind and optMap.
#include "cel/node.h"

namespace nodeward::cel {
namespace {

class MacroNode : public Node {
 public:
  explicit MacroNode(MacroParts parts) : parts_(std::move(parts)) {}

 protected:
  // Calls round(slot is set) for each element until it says stop. false: the budget is used up.
  template <class Round>
  Value walk(Value range, Frame& frame, Round&& round) const {
    const std::size_t first = parts_.slot, second = parts_.slot + 1;
    if (range.is(Kind::kList)) {
      std::int64_t index = 0;
      for (const Value item : range.items()) {
        if (!frame.charge(parts_.body_cost)) return Call::exhausted();
        frame.slots[first] = parts_.two_variables ? Value::integer(index) : item;
        if (parts_.two_variables) frame.slots[second] = item;
        ++index;
        if (!round()) break;
      }
      return Value::null();
    }
    if (!range.is(Kind::kMap)) return range.is_error() ? range : Value::error("only a list or a map can be walked");
    for (const Map::Entry& entry : range.entries().entries) {
      if (!frame.charge(parts_.body_cost)) return Call::exhausted();
      frame.slots[first] = entry.key;
      if (parts_.two_variables) frame.slots[second] = entry.value;
      if (!round()) break;
    }
    return Value::null();
  }
  static std::size_t size_of(Value range) {
    if (range.is(Kind::kList)) return range.items().size();
    return range.is(Kind::kMap) ? range.entries().entries.size() : 0;
  }
  // The filter's word for the present element: true, false or an error.
  Value admits(Frame& frame) const {
    if (parts_.filter == nullptr) return Value::boolean(true);
    const Value value = parts_.filter->eval(frame);
    return value.is(Kind::kBool) || value.is_error() ? value : no_overload();
  }
  const MacroParts parts_;
};

// all and exists: && and || over the elements, errors absorbed alike.
template <bool decides>
class Quantifier final : public MacroNode {
 public:
  using MacroNode::MacroNode;
  Value eval(Frame& frame) const override {
    Value result = Value::boolean(!decides);
    const Value end = walk(parts_.range->eval(frame), frame, [&] {
      const Value value = parts_.body->eval(frame);
      if (value.is(Kind::kBool)) {
        if (value.as_bool() != decides) return true;
        result = value;
        return false;
      }
      if (!result.is_error()) result = value.is_error() ? value : no_overload();
      return true;
    });
    return end.is_error() ? end : result;
  }
};

class ExistsOne final : public MacroNode {
 public:
  using MacroNode::MacroNode;
  Value eval(Frame& frame) const override {
    std::size_t count = 0;
    Value problem;
    const Value end = walk(parts_.range->eval(frame), frame, [&] {
      const Value value = parts_.body->eval(frame);
      if (!value.is(Kind::kBool)) problem = value.is_error() ? value : no_overload();
      count += value.is_true() ? 1 : 0;
      return !problem.is_error();
    });
    if (end.is_error()) return end;
    return problem.is_error() ? problem : Value::boolean(count == 1);
  }
};

// map, filter, transformList. A filter macro has the element itself for its body.
class ListBuilding final : public MacroNode {
 public:
  using MacroNode::MacroNode;
  Value eval(Frame& frame) const override {
    const Value range = parts_.range->eval(frame);
    const auto built = frame.arena().array<Value>(size_of(range));
    if (!frame.charge(2 * built.size())) return Call::exhausted();
    std::size_t size = 0;
    Value problem;
    const Value end = walk(range, frame, [&] {
      const Value admitted = admits(frame);
      if (admitted.is_false()) return true;
      const Value value = admitted.is_error() ? admitted : parts_.body->eval(frame);
      if (value.is_error())
        problem = value;
      else
        built[size++] = value;
      return !problem.is_error();
    });
    if (end.is_error()) return end;
    return problem.is_error() ? problem : Value::list(built.first(size));
  }
};

// transformMap keeps the key (of a list: the index); transformMapEntry makes the entries anew.
class MapBuilding final : public MacroNode {
 public:
  using MacroNode::MacroNode;
  Value eval(Frame& frame) const override {
    const Value range = parts_.range->eval(frame);
    const auto keys = frame.arena().array<Map::Entry>(size_of(range));
    if (!frame.charge(8 * keys.size())) return Call::exhausted();
    std::size_t size = 0, total = 0;
    Value problem;
    const Value end = walk(range, frame, [&] {
      const Value admitted = admits(frame);
      if (admitted.is_false()) return true;
      Value value = admitted.is_error() ? admitted : parts_.body->eval(frame);
      const bool entries = parts_.macro == Macro::kTransformMapEntry;
      if (entries && !value.is(Kind::kMap) && !value.is_error()) value = no_overload();
      if (value.is_error()) {
        problem = value;
        return false;
      }
      total += entries ? value.entries().entries.size() : 1;
      keys[size++] = {frame.slots[parts_.slot], value};
      return true;
    });
    if (end.is_error()) return end;
    return problem.is_error() ? problem : join(keys.first(size), total, frame);
  }

 private:
  Value join(std::span<const Map::Entry> parts, std::size_t total, Frame& frame) const {
    if (!frame.charge(8 * total)) return Call::exhausted();
    MapBuilder builder(frame.arena(), total);
    bool unique = true;
    for (const Map::Entry& part : parts) {
      if (parts_.macro == Macro::kTransformMap) {
        unique = builder.add(part.key, part.value) && unique;
        continue;
      }
      for (const Map::Entry& entry : part.value.entries().entries) unique = builder.add(entry.key, entry.value) && unique;
    }
    return unique ? builder.finish() : Value::error("the map would have a key twice");
  }
};

class Bind final : public MacroNode {
 public:
  using MacroNode::MacroNode;
  Value eval(Frame& frame) const override {
    frame.slots[parts_.slot] = parts_.range->eval(frame);   // an error, too: it counts where the name is used
    return parts_.body->eval(frame);
  }
};

class OptionalMap final : public MacroNode {
 public:
  using MacroNode::MacroNode;
  Value eval(Frame& frame) const override {
    const Value range = parts_.range->eval(frame);
    if (!range.is(Kind::kOptional)) return range.is_error() ? range : no_overload();
    if (range.optional() == nullptr) return range;
    frame.slots[parts_.slot] = *range.optional();
    const Value value = parts_.body->eval(frame);
    if (value.is_error()) return value;
    if (parts_.macro == Macro::kOptMap) return Value::optional_of(value, frame.arena());
    return value.is(Kind::kOptional) ? value : no_overload();
  }
};

}  // namespace

NodePtr make_macro(MacroParts parts) {
  switch (parts.macro) {
    case Macro::kAll: return std::make_unique<Quantifier<false>>(std::move(parts));
    case Macro::kExists: return std::make_unique<Quantifier<true>>(std::move(parts));
    case Macro::kExistsOne: return std::make_unique<ExistsOne>(std::move(parts));
    case Macro::kMap:
    case Macro::kFilter:
    case Macro::kTransformList: return std::make_unique<ListBuilding>(std::move(parts));
    case Macro::kTransformMap:
    case Macro::kTransformMapEntry: return std::make_unique<MapBuilding>(std::move(parts));
    case Macro::kBind: return std::make_unique<Bind>(std::move(parts));
    case Macro::kOptMap:
    case Macro::kOptFlatMap: return std::make_unique<OptionalMap>(std::move(parts));
  }
  return nullptr;
}

}  // namespace nodeward::cel
