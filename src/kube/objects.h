// What Nodeward keeps of Kubernetes objects: small records, decoded straight from the wire (decode.h), never JSON trees.
// Values without behaviour; immutable once in a store.
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/named.h"
#include "kube/symbol.h"

namespace nodeward::kube {

using NodeName = Named<struct NodeNameTag>;

// metadata.resourceVersion. Versions of one resource compare as decimal numbers (KEP-5504); others only for equality.
class ResourceVersion {
 public:
  ResourceVersion() = default;
  explicit ResourceVersion(std::string_view text) : text_(text) {}
  const std::string& str() const { return text_; }
  bool empty() const { return text_.empty(); }
  friend bool operator==(const ResourceVersion&, const ResourceVersion&) = default;

 private:
  std::string text_;
};
// a before, equal to or after b; nullopt when one of the two is no decimal number and they differ.
std::optional<std::strong_ordering> compare(const ResourceVersion& a, const ResourceVersion& b);

// metadata.uid: 16 bytes for a UUID; another text is hashed into as many.
struct Uid {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  static Uid from(std::string_view text);
  bool empty() const { return high == 0 && low == 0; }
  friend bool operator==(const Uid&, const Uid&) = default;
  friend auto operator<=>(const Uid&, const Uid&) = default;
};

// A map of texts, sorted by key. All keys of a map are one Symbol and each value is one, so that the nodes of a fleet, which have
// the same keys and mostly the same values, pay 8 bytes an entry. Made in one go; set() and erase() make the map anew.
class SymbolMap {
 public:
  using Entry = std::pair<std::string_view, std::string_view>;
  struct Key {
    std::string_view text;
    std::string_view view() const { return text; }  // as a Symbol has it
  };
  class Iterator;  // gives std::pair<Key, const Symbol&>

  SymbolMap() = default;
  explicit SymbolMap(std::span<Entry> entries);  // sorts them in place; of those with one key the last counts
  SymbolMap(const SymbolMap& other);
  SymbolMap(SymbolMap&&) noexcept = default;
  SymbolMap& operator=(SymbolMap other) noexcept {
    symbols_ = std::move(other.symbols_);
    return *this;
  }
  ~SymbolMap() = default;

  std::optional<std::string_view> get(std::string_view key) const;  // nullopt: the key is absent; "" is a value
  void set(std::string_view key, std::string_view value);
  void erase(std::string_view key);
  bool empty() const { return symbols_ == nullptr; }
  std::size_t size() const;
  Iterator begin() const;
  Iterator end() const;
  friend bool operator==(const SymbolMap& a, const SymbolMap& b);

 private:
  std::string_view packed_keys() const { return empty() ? std::string_view{} : symbols_[0].view(); }  // objects.cc knows how
  Symbol& value_at(std::size_t place) const { return symbols_[1 + place]; }
  std::vector<Entry> entries() const;

  std::unique_ptr<Symbol[]> symbols_;  // the keys, then the value of each; null: none
};

class SymbolMap::Iterator {
 public:
  Iterator(const SymbolMap& map, std::size_t at) : map_(&map), at_(at) {}
  std::pair<Key, const Symbol&> operator*() const;
  Iterator& operator++() {
    ++at_;
    return *this;
  }
  friend bool operator==(const Iterator&, const Iterator&) = default;

 private:
  const SymbolMap* map_;
  std::size_t at_;
};

// Identity is key + effect (spec.taints is unique by both).
struct Taint {
  std::string key;
  std::string value;
  std::string effect;
  std::string raw;  // the JSON it came as, so that members we do not know go back unchanged; empty for one of ours to be

  bool same_identity(const Taint& other) const { return key == other.key && effect == other.effect; }
  friend bool operator==(const Taint&, const Taint&) = default;
};

struct Node {
  NodeName name;
  Uid uid;
  ResourceVersion version;
  SymbolMap labels;  // of the keys the program selected
  SymbolMap annotations;
  SymbolMap members;  // others that were selected, as JSON: "spec.providerID" -> "\"aws:///i-1\""
  std::vector<Taint> taints;  // only when NodeSelection::spec
  bool unschedulable = false;  // only when NodeSelection::spec
  bool labelled = false;  // the node has labels, kept or not
  std::uint32_t annotation_bytes = 0;  // keys and values of all annotations, kept or not: the budget is shared

  // Equal in everything that is kept, the version aside: a heartbeat changes nothing.
  bool same_content(const Node& other) const;
};

struct Pod {  // passes through a sink; what stays is the sink's business
  Uid uid;
  std::string name_space;
  std::string name;
  std::string node;  // spec.nodeName; empty while unbound
  std::vector<std::pair<std::string, std::string>> labels;
  std::vector<std::string> images;  // of spec.containers, in order
  bool ready = false;  // the first status condition of type Ready has status True
};

// Which keys of a map are kept. `all` wins over `keys`.
struct KeySet {
  bool all = false;
  std::vector<std::string> keys;
  bool wants(std::string_view key) const;
};

// What the decoder keeps of a node.
struct NodeSelection {
  KeySet labels = {};
  KeySet annotations = {};
  bool spec = false;  // taints and unschedulable
  KeySet metadata_members = {};  // into Node::members, whatever of metadata has no place of its own in Node
  KeySet spec_members = {};  // the same of spec
};

}  // namespace nodeward::kube

template <>
struct std::hash<nodeward::kube::Uid> {
  std::size_t operator()(const nodeward::kube::Uid& uid) const noexcept { return uid.high ^ (uid.low * 0x9e3779b97f4a7c15ULL); }
};
