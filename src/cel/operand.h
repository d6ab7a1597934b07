// What most operands of a rule are, event.a.b, and how the nodes that take one reach it without a virtual call. Private to the
// nodes; shared by threads that evaluate the same program.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "cel/node.h"

namespace nodeward::cel {

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

}  // namespace nodeward::cel
