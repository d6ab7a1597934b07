#include "sim/patch.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/text.h"
#include "sim/request_body.h"

namespace nodeward::sim {
namespace {

constexpr std::size_t kMostOperations = 10'000;         // of a JSON patch, as the real server's
constexpr std::size_t kMostCopied = 3UL << 20;  // bytes that its copies and moves make, about; the real server's limit for copies
constexpr std::size_t kMostMerged = 2'000;  // members of a map or items of a list in a strategic patch

constexpr std::string_view kDirective = "$patch";
constexpr std::string_view kRetainKeys = "$retainKeys";
constexpr std::string_view kElementOrder = "$setElementOrder/";
constexpr std::string_view kDeletePrimitives = "$deleteFromPrimitiveList/";

// Lists whose items are merged by this member; "" : lists of plain values that are merged. All others are replaced whole,
// spec.taints among them. One name means one thing in all kinds that the simulated server has.
const std::map<std::string_view, std::string_view> kMergeKeys = {
    {"addresses", "type"},
    {"conditions", "type"},
    {"containers", "name"},
    {"env", "name"},
    {"ephemeralContainers", "name"},
    {"finalizers", ""},
    {"hostAliases", "ip"},
    {"hostIPs", "ip"},
    {"imagePullSecrets", "name"},
    {"initContainers", "name"},
    {"ownerReferences", "uid"},
    {"podCIDRs", ""},
    {"podIPs", "ip"},
    {"ports", "containerPort"},
    {"topologySpreadConstraints", "topologyKey"},
    {"volumeDevices", "devicePath"},
    {"volumeMounts", "mountPath"},
    {"volumes", "name"},
};

// A failure on its way out of the recursion; caught in strategic_patch, thrown nowhere else.
struct Refused {
  Failure failure;
};

Failure too_large(std::string_view why) {
  return {.code = 413, .reason = "RequestEntityTooLarge", .message = fmt::format("Request entity too large: {}", why)};
}

// Strategic patches look for each item among all the others.
void check_length(std::size_t size) {
  if (size <= kMostMerged) return;
  throw Refused{too_large(fmt::format("a strategic merge patch merges up to {} items, got {}", kMostMerged, size))};
}

Doc merge_map(const Doc& target, const Json& patch);

bool same_key(const Doc& item, const Doc& other, std::string_view key) {
  return key.empty() ? item == other : !item.at(key).is_null() && item.at(key) == other.at(key);
}

std::size_t index_of(const Doc::Items& items, const Doc& wanted, std::string_view key) {
  return static_cast<std::size_t>(
      std::find_if(items.begin(), items.end(), [&](const Doc& item) { return same_key(item, wanted, key); }) - items.begin());
}

// The items named in `order` in that order; the rest keep their places among what stood in the list before.
Doc::Items ordered(const Doc::Items& merged, const Doc::Items& order, const Doc::Items& before, std::string_view key) {
  Doc::Items named;
  Doc::Items others;
  for (const Doc& wanted : order) {
    const std::size_t at = index_of(merged, wanted, key);
    if (at < merged.size() && index_of(named, wanted, key) == named.size()) named.push_back(merged[at]);
  }
  for (const Doc& item : merged) {
    if (index_of(order, item, key) == order.size()) others.push_back(item);
  }
  Doc::Items out;
  auto other = others.begin();
  for (const Doc& item : named) {
    const std::size_t place = index_of(before, item, key);
    for (; other != others.end() && place < before.size() && index_of(before, *other, key) < place; ++other)
      out.push_back(*other);
    out.push_back(item);
  }
  out.insert(out.end(), other, others.end());
  return out;
}

Doc merge_items(const Doc& target, const Json& patch, const Json* order, std::string_view key) {
  for (const std::size_t size : {target.items().size(), patch.size(), order == nullptr ? 0 : order->size()}) check_length(size);
  Doc::Items merged = target.items();
  Doc::Items patched;  // what the patch names, in its order
  bool replace = false;
  for (const Json& item : patch) {
    const std::string directive = item.is_object() ? text_at(item, kDirective) : "";
    if (directive == "replace") {
      replace = true;
      merged.clear();
      continue;
    }
    const Doc plain = Doc::from(item);
    if (!key.empty() && plain.at(key).is_null()) {
      throw Refused{internal_error(fmt::format("map: {} does not contain declared merge key: {}", to_text(item), key))};
    }
    const std::size_t at = index_of(merged, plain, key);
    if (directive == "delete") {
      std::erase_if(merged, [&](const Doc& one) { return same_key(one, plain, key); });
      continue;
    }
    if (at == merged.size()) {
      merged.push_back(item.is_object() ? merge_map(Doc::empty_object(), item) : plain);
    } else if (item.is_object()) {
      merged[at] = merge_map(merged[at], item);
    }
    patched.push_back(plain);
  }
  if (replace) return Doc::array(std::move(merged));
  if (order != nullptr) patched = Doc::from(*order).items();
  merged = ordered(merged, patched, target.items(), key);
  const auto same = [](const Doc& a, const Doc& b) { return a.same(b); };
  const auto& old = target.items();
  return std::equal(merged.begin(), merged.end(), old.begin(), old.end(), same) ? target : Doc::array(std::move(merged));
}

void delete_primitives(Doc& target, std::string_view name, const Json& values) {
  Doc::Items left = target.at(name).items();
  for (const std::size_t size : {left.size(), values.size()}) check_length(size);
  for (const Json& value : values) std::erase(left, Doc::from(value));
  if (left.size() < target.at(name).items().size()) target = target.with(name, Doc::array(std::move(left)));
}

void retain_keys(Doc& target, const Json& keys) {
  for (const auto& [key, value] : Doc(target).members()) {
    const Json name = std::string(key.text());
    if (std::find(keys.begin(), keys.end(), name) == keys.end()) target = target.without(key.text());
  }
}

void merge_member(Doc& target, const std::string& name, const Json& value, const Json& patch) {
  const Doc& old = target.at(name);
  if (value.is_null()) {
    if (!old.is_null()) target = target.without(name);
    return;
  }
  const auto merge_key = kMergeKeys.find(name);
  Doc merged;
  if (value.is_object()) {
    merged = merge_map(old.is_object() ? old : Doc::empty_object(), value);
  } else if (value.is_array() && merge_key != kMergeKeys.end()) {
    const auto order = patch.find(std::string(kElementOrder) + name);
    merged = merge_items(old, value, order == patch.end() ? nullptr : &*order, merge_key->second);
  } else {
    merged = Doc::from(value, old);
  }
  if (!merged.same(old)) target = target.with(name, std::move(merged));
}

Doc merge_map(const Doc& target, const Json& patch) {
  check_length(patch.size());
  Doc merged = target;
  if (const auto directive = patch.find(kDirective); directive != patch.end()) {
    const std::string word = text_at(patch, kDirective);
    if (word != "replace" && word != "delete") {
      throw Refused{internal_error(fmt::format("unknown patch type: {} in map", word))};
    }
    merged = Doc::empty_object();
    if (word == "delete") return merged;
  }
  if (const auto keys = patch.find(kRetainKeys); keys != patch.end()) retain_keys(merged, *keys);
  for (const auto& [name, value] : patch.items()) {
    if (name.starts_with(kDeletePrimitives))
      delete_primitives(merged, std::string_view(name).substr(kDeletePrimitives.size()), value);
  }
  for (const auto& [name, value] : patch.items()) {
    if (!name.starts_with('$')) {
      merge_member(merged, name, value, patch);
    } else if (const std::string list = name.substr(std::min(name.size(), kElementOrder.size()));
               name.starts_with(kElementOrder) && !patch.contains(list) && merged.at(list).is_array()) {
      merge_member(merged, list, Json::array(), patch);  // only the order changes
    }
  }
  return merged;
}

struct Extent {
  std::size_t bytes = 0;
  std::size_t depth = 0;  // of arrays and objects in each other
};

Extent extent_of(const Json& value) {
  constexpr std::size_t kEach = 16;  // bytes of a value beside its text
  Extent all{.bytes = kEach + (value.is_string() ? value.get_ref<const std::string&>().size() : 0), .depth = 0};
  if (!value.is_structured()) return all;
  for (const auto& [key, member] : value.items()) {
    const Extent one = extent_of(member);
    all.bytes += one.bytes + (value.is_object() ? key.size() : 0);
    all.depth = std::max(all.depth, one.depth);
  }
  ++all.depth;
  return all;
}

// Few operations that copy what others have copied could fill the memory, or nest without end. May throw what the library throws.
bool is_bearable(const Json& document, const Json& operation, std::size_t& copied) {
  const std::string op = text_at(operation, "op");
  const std::string path = text_at(operation, "path");
  if (op == "remove") return document.contains(Json::json_pointer(path));  // the library lets a member of a text pass
  const bool copies = op == "copy" || op == "move";
  if (!copies && op != "add" && op != "replace") return true;
  const Extent extent = extent_of(copies ? document.at(Json::json_pointer(text_at(operation, "from"))) : operation.at("value"));
  if (copies) copied += extent.bytes;
  const auto levels = static_cast<std::size_t>(std::count(path.begin(), path.end(), '/'));
  return copied <= kMostCopied && levels + extent.depth <= static_cast<std::size_t>(kMostDepth);
}

}  // namespace

Answered<PatchKind> patch_kind(std::string_view content_type) {
  const std::string_view type = trimmed(content_type.substr(0, content_type.find(';')));
  if (type == "application/merge-patch+json") return PatchKind::kMerge;
  if (type == "application/strategic-merge-patch+json") return PatchKind::kStrategic;
  if (type == "application/json-patch+json") return PatchKind::kJson;
  return tl::unexpected(unsupported_media_type(true));
}

Doc merge_patch(const Doc& target, const Json& patch) {
  static const Doc kNothing;
  const Doc::Members& old = target.members();
  auto next = old.begin();  // both are sorted
  Doc::Members merged;
  bool changed = !target.is_object();
  for (const auto& [name, value] : patch.items()) {
    for (; next != old.end() && next->first.text() < name; ++next) merged.push_back(*next);
    const bool there = next != old.end() && next->first.text() == name;
    const Doc& before = there ? next->second : kNothing;
    if (!value.is_null()) {
      Doc renewed = value.is_object() ? merge_patch(before, value) : Doc::from(value, before);
      changed = changed || !there || !renewed.same(before);
      merged.emplace_back(there ? next->first : Doc::string(name), std::move(renewed));
    }
    if (!there) continue;
    changed = changed || value.is_null();
    ++next;
  }
  merged.insert(merged.end(), next, old.end());
  return changed ? Doc::object(std::move(merged)) : target;
}

Answered<Doc> strategic_patch(const Doc& target, const Json& patch) {
  try {
    return merge_map(target, patch);
  } catch (const Refused& refused) {
    return tl::unexpected(refused.failure);
  }
}

Answered<Doc> json_patch(const Doc& target, const Json& patch) {
  if (patch.size() > kMostOperations) {
    return tl::unexpected(
        too_large(fmt::format("The allowed maximum operations in a JSON patch is {}, got {}", kMostOperations, patch.size())));
  }
  try {
    Json document = target.json();
    std::size_t copied = 0;
    for (const Json& operation : patch) {
      if (!is_bearable(document, operation, copied)) return tl::unexpected(patch_refused());
      document.patch_inplace(Json::array({operation}));
    }
    return Doc::from(document, target);
  } catch (const Json::exception&) {
    return tl::unexpected(patch_refused());
  }
}

Answered<Doc> apply_patch(PatchKind kind, const Doc& target, const std::string& body) {
  const auto patch = parse_body(body);
  const std::string_view prefix = kind == PatchKind::kStrategic ? "" : "error decoding patch: ";
  const auto refused = [&](std::string_view why) { return tl::unexpected(bad_request(fmt::format("{}{}", prefix, why))); };
  if (!patch) return refused(patch.error());
  if (kind == PatchKind::kJson) {
    if (!patch->is_array()) return refused("json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp");
    return json_patch(target, *patch);
  }
  if (patch->is_null()) return tl::unexpected(bad_request("Invalid JSON Patch"));
  if (!patch->is_object()) {
    return refused(fmt::format("json: cannot unmarshal {} into Go value of type map[string]interface {{}}", patch->type_name()));
  }
  return kind == PatchKind::kMerge ? Answered<Doc>(merge_patch(target, *patch)) : strategic_patch(target, *patch);
}

}  // namespace nodeward::sim
