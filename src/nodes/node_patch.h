// NodePatch: what this product wants of one node, as edits of single keys. It can say set, remove or leave alone, and nothing
// else; what is sent is the difference to the freshest node (docs/architecture.md, "The write contract"). Pure.
//   NodePatch patch(node.name);
//   patch.label("a/b", "true").drop_label("c/d").add_taint({...});
//   if (auto body = patch.body(node)) ...            // nullopt: nothing differs, no call
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kube/objects.h"

namespace nodeward::nodes {

// What may be left out when the API refuses a body (400, 422): first the ornament, then everything but the vital part.
// Taints and the cordon are always vital.
enum class Weight {
  kOrnament,    // cosmetic labels and annotations
  kMark,        // labels that others read
  kVital,       // what the write is for: the record, the labeler's keys
};

struct TaintKey {
  std::string key;
  std::string effect;
};

class NodePatch {
 public:
  explicit NodePatch(kube::NodeName node) : node_(std::move(node)) {}

  // The value is made legal (legal_label_value) before it is compared or sent.
  NodePatch& label(std::string_view key, std::string_view value, Weight weight = Weight::kVital);
  NodePatch& drop_label(std::string_view key, Weight weight = Weight::kVital);
  // For a label that the cache may not keep: removed unseen, whenever there is anything else to send.
  NodePatch& drop_label_unseen(std::string_view key, Weight weight = Weight::kVital);
  NodePatch& annotation(std::string_view key, std::string_view value, Weight weight = Weight::kVital);
  NodePatch& drop_annotation(std::string_view key, Weight weight = Weight::kVital);
  NodePatch& unschedulable(bool value);
  NodePatch& add_taint(kube::Taint taint);           // takes the place of a taint of the same key and effect
  NodePatch& drop_taint(const TaintKey& taint);
  // The body names the version it was computed from even without taints: for what replaces a value read from the node.
  NodePatch& guarded();

  const kube::NodeName& node() const { return node_; }
  // Without the labels and annotations that weigh less than `least`.
  NodePatch lightened(Weight least) const;

  struct Body {
    std::string json;       // RFC 7396, keys sorted
    std::string identity;   // the same without the version: equal identities ask for the same change
    bool guarded = false;
  };
  // nullopt: `freshest` already is as wanted.
  std::optional<Body> body(const kube::Node& freshest) const;
  // `node` as it would be after the write; its version is left as it is.
  kube::Node applied(kube::Node node) const;

 private:
  struct Edit {
    std::optional<std::string> value;    // nullopt: remove
    Weight weight = Weight::kVital;
    bool unseen = false;                 // whether the key is there is not known
  };
  using Edits = std::map<std::string, Edit, std::less<>>;
  struct TaintEdit {
    kube::Taint taint;
    bool drop = false;
  };

  std::vector<kube::Taint> taints_on(const kube::Node& freshest) const;

  kube::NodeName node_;
  Edits labels_;
  Edits annotations_;
  std::optional<bool> unschedulable_;
  std::vector<TaintEdit> taints_;
  bool guarded_ = false;
};

// `text` as a legal label value: foreign characters become '-', cut to 63 bytes, then '-', '_', '.' trimmed at both ends.
// May be empty, which is legal too.
std::string legal_label_value(std::string_view text);

}  // namespace nodeward::nodes
