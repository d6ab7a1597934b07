#include "nodes/node_patch.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json.h"

namespace nodeward::nodes {
namespace {

constexpr std::size_t kMaxLabelValue = 63;   // Kubernetes: labels, syntax

bool is_alphanumeric(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

std::string taint_json(const kube::Taint& taint) {
  if (!taint.raw.empty()) return taint.raw;
  std::string json = fmt::format(R"({{"effect":{},"key":{})", json_quoted(taint.effect), json_quoted(taint.key));
  if (!taint.value.empty()) json += fmt::format(R"(,"value":{})", json_quoted(taint.value));
  return json + "}";
}

// One object of a merge patch, built member by member; empty when nothing was added.
class Members {
 public:
  void add(std::string_view key, std::string_view json) {
    text_ += fmt::format("{}{}:{}", text_.empty() ? "" : ",", json_quoted(key), json);
  }
  bool empty() const { return text_.empty(); }
  std::string object() const { return "{" + text_ + "}"; }

 private:
  std::string text_;
};

}  // namespace

NodePatch& NodePatch::label(std::string_view key, std::string_view value, Weight weight) {
  labels_.insert_or_assign(std::string(key), Edit{legal_label_value(value), weight, false});
  return *this;
}
NodePatch& NodePatch::drop_label(std::string_view key, Weight weight) {
  labels_.insert_or_assign(std::string(key), Edit{std::nullopt, weight, false});
  return *this;
}
NodePatch& NodePatch::drop_label_unseen(std::string_view key, Weight weight) {
  labels_.insert_or_assign(std::string(key), Edit{std::nullopt, weight, true});
  return *this;
}
NodePatch& NodePatch::annotation(std::string_view key, std::string_view value, Weight weight) {
  annotations_.insert_or_assign(std::string(key), Edit{std::string(value), weight, false});
  return *this;
}
NodePatch& NodePatch::drop_annotation(std::string_view key, Weight weight) {
  annotations_.insert_or_assign(std::string(key), Edit{std::nullopt, weight, false});
  return *this;
}
NodePatch& NodePatch::unschedulable(bool value) {
  unschedulable_ = value;
  return *this;
}
NodePatch& NodePatch::add_taint(kube::Taint taint) {
  taint.raw.clear();
  taints_.push_back({std::move(taint), false});
  return *this;
}
NodePatch& NodePatch::drop_taint(const TaintKey& taint) {
  taints_.push_back({kube::Taint{taint.key, {}, taint.effect, {}}, true});
  return *this;
}
NodePatch& NodePatch::guarded() {
  guarded_ = true;
  return *this;
}

NodePatch NodePatch::lightened(Weight least) const {
  NodePatch light = *this;
  const auto too_light = [&](const auto& edit) { return edit.second.weight < least; };
  std::erase_if(light.labels_, too_light);
  std::erase_if(light.annotations_, too_light);
  return light;
}

std::vector<kube::Taint> NodePatch::taints_on(const kube::Node& freshest) const {
  std::vector<kube::Taint> list = freshest.taints;
  for (const TaintEdit& edit : taints_) {
    const auto place = std::find_if(list.begin(), list.end(), [&](const auto& taint) { return taint.same_identity(edit.taint); });
    if (edit.drop) {
      if (place != list.end()) list.erase(place);
    } else if (place == list.end()) {
      list.push_back(edit.taint);
    } else if (place->value != edit.taint.value) {
      *place = edit.taint;
    }
  }
  return list;
}

std::optional<NodePatch::Body> NodePatch::body(const kube::Node& freshest) const {
  const auto changes = [](const Edits& edits, const kube::SymbolMap& present, bool with_unseen) {
    Members members;
    for (const auto& [key, edit] : edits) {
      const auto value = present.get(key);
      const bool differs = edit.value ? value != *edit.value : value.has_value();
      if (differs || (edit.unseen && with_unseen)) members.add(key, edit.value ? json_quoted(*edit.value) : "null");
    }
    return members;
  };
  const auto metadata_changes = [&](bool with_unseen) {
    const Members annotations = changes(annotations_, freshest.annotations, with_unseen);
    const Members labels = changes(labels_, freshest.labels, with_unseen);
    Members metadata;
    if (!annotations.empty()) metadata.add("annotations", annotations.object());
    if (!labels.empty()) metadata.add("labels", labels.object());
    return metadata;
  };

  Members spec;
  const std::vector<kube::Taint> taints = taints_on(freshest);
  const bool taints_differ = taints != freshest.taints;
  if (taints_differ) {
    std::string list;
    for (const kube::Taint& taint : taints) list += (list.empty() ? "" : ",") + taint_json(taint);
    spec.add("taints", "[" + list + "]");
  }
  if (unschedulable_ && *unschedulable_ != freshest.unschedulable) spec.add("unschedulable", *unschedulable_ ? "true" : "false");
  if (spec.empty() && metadata_changes(false).empty()) return std::nullopt;
  const Members metadata = metadata_changes(true);

  // The list is replaced whole: without the version it was computed from, a taint set meanwhile would be lost.
  const bool guard = taints_differ || guarded_;
  const auto whole = [&](const Members& meta) {
    Members top;
    if (!meta.empty()) top.add("metadata", meta.object());
    if (!spec.empty()) top.add("spec", spec.object());
    return top.object();
  };
  std::string identity = whole(metadata);
  if (!guard) return Body{identity, identity, false};
  Members versioned = metadata;
  versioned.add("resourceVersion", json_quoted(freshest.version.str()));
  return Body{whole(versioned), std::move(identity), true};
}

kube::Node NodePatch::applied(kube::Node node) const {
  node.taints = taints_on(node);
  if (unschedulable_) node.unschedulable = *unschedulable_;
  const auto apply = [](const Edits& edits, kube::SymbolMap& map) {
    for (const auto& [key, edit] : edits) edit.value ? map.set(key, *edit.value) : map.erase(key);
  };
  apply(labels_, node.labels);
  apply(annotations_, node.annotations);
  return node;
}

std::string legal_label_value(std::string_view text) {
  std::string value;
  for (std::size_t i = 0; i < text.size() && value.size() < kMaxLabelValue; ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if ((byte & 0xC0) == 0x80) continue;     // a continuation byte: its character already gave one '-'
    const char c = text[i];
    value += is_alphanumeric(c) || c == '-' || c == '_' || c == '.' ? c : '-';
  }
  const auto first = std::find_if(value.begin(), value.end(), is_alphanumeric);
  const auto last = std::find_if(value.rbegin(), value.rend(), is_alphanumeric).base();
  return first < last ? std::string(first, last) : std::string();
}

}  // namespace nodeward::nodes
