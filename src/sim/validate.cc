#include "sim/validate.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <span>

#include "base/text.h"
#include "sim/names.h"

namespace nodeward::sim {
namespace {

constexpr std::size_t kMostCauses = 1'000;                // a body of 3 MiB may hold a million faults; the first will do
constexpr std::size_t kMostAnnotations = 256UL << 10;     // bytes of all keys and values together

// ---- Types --------------------------------------------------------------------------------------------------------------------

enum class Type { kString, kBool, kTextMap, kStruct, kList };
struct TypeRule {
  std::string_view kind;  // empty: every kind
  std::vector<std::string_view> path;
  Type type = Type::kString;
  std::string_view owner;  // the Go struct that the field is in
  std::string_view go_type;
};

// Parents stand before their members.
const std::vector<TypeRule> kTypes = {
    {"", {"metadata"}, Type::kStruct, "", "v1.ObjectMeta"},
    {"", {"metadata", "name"}, Type::kString, "ObjectMeta", "string"},
    {"", {"metadata", "generateName"}, Type::kString, "ObjectMeta", "string"},
    {"", {"metadata", "namespace"}, Type::kString, "ObjectMeta", "string"},
    {"", {"metadata", "uid"}, Type::kString, "ObjectMeta", "types.UID"},
    {"", {"metadata", "resourceVersion"}, Type::kString, "ObjectMeta", "string"},
    {"", {"metadata", "labels"}, Type::kTextMap, "ObjectMeta", "map[string]string"},
    {"", {"metadata", "annotations"}, Type::kTextMap, "ObjectMeta", "map[string]string"},
    {"", {"metadata", "finalizers"}, Type::kList, "ObjectMeta", "[]string"},
    {"", {"metadata", "ownerReferences"}, Type::kList, "ObjectMeta", "[]v1.OwnerReference"},
    {"Node", {"spec"}, Type::kStruct, "Node", "v1.NodeSpec"},
    {"Node", {"spec", "unschedulable"}, Type::kBool, "NodeSpec", "bool"},
    {"Node", {"spec", "providerID"}, Type::kString, "NodeSpec", "string"},
    {"Node", {"spec", "podCIDR"}, Type::kString, "NodeSpec", "string"},
    {"Node", {"spec", "taints"}, Type::kList, "NodeSpec", "[]v1.Taint"},
    {"Node", {"status"}, Type::kStruct, "Node", "v1.NodeStatus"},
    {"Node", {"status", "conditions"}, Type::kList, "NodeStatus", "[]v1.NodeCondition"},
    {"Node", {"status", "addresses"}, Type::kList, "NodeStatus", "[]v1.NodeAddress"},
    {"Node", {"status", "nodeInfo"}, Type::kStruct, "NodeStatus", "v1.NodeSystemInfo"},
    {"Pod", {"spec"}, Type::kStruct, "Pod", "v1.PodSpec"},
    {"Pod", {"spec", "nodeName"}, Type::kString, "PodSpec", "string"},
    {"Pod", {"spec", "containers"}, Type::kList, "PodSpec", "[]v1.Container"},
    {"Pod", {"status"}, Type::kStruct, "Pod", "v1.PodStatus"},
    {"Pod", {"status", "phase"}, Type::kString, "PodStatus", "v1.PodPhase"},
    {"Pod", {"status", "conditions"}, Type::kList, "PodStatus", "[]v1.PodCondition"},
    {"ConfigMap", {"data"}, Type::kTextMap, "ConfigMap", "map[string]string"},
    {"Lease", {"spec"}, Type::kStruct, "Lease", "v1.LeaseSpec"},
};
constexpr std::string_view kTaintMembers[] = {"key", "value", "effect"};

std::string_view go_name(Doc::Kind kind) {
  switch (kind) {
    case Doc::Kind::kBool: return "bool";
    case Doc::Kind::kNumber: return "number";
    case Doc::Kind::kString: return "string";
    case Doc::Kind::kArray: return "array";
    default: return "object";
  }
}

std::string cannot_hold(const Doc& value, std::string_view owner, std::string_view path, std::string_view go_type) {
  return fmt::format("json: cannot unmarshal {} into Go struct field {}{}{} of type {}", go_name(value.kind()), owner,
                     owner.empty() ? "" : ".", path, go_type);
}

std::string joined(std::span<const std::string_view> path) {
  std::string text;
  for (const std::string_view part : path) text.append(text.empty() ? "" : ".").append(part);
  return text;
}

std::optional<std::string> breach(const TypeRule& rule, const Doc& value) {
  constexpr Doc::Kind kWanted[] = {Doc::Kind::kString, Doc::Kind::kBool, Doc::Kind::kObject, Doc::Kind::kObject,
                                   Doc::Kind::kArray};
  if (value.kind() != kWanted[static_cast<int>(rule.type)]) {
    return cannot_hold(value, rule.owner, joined(rule.path), rule.go_type);
  }
  if (rule.type == Type::kTextMap) {
    for (const auto& [key, text] : value.members()) {
      if (!text.is_string() && !text.is_null()) return cannot_hold(text, rule.owner, joined(rule.path), "string");
    }
  }
  if (rule.path.back() == "taints") {
    for (const Doc& taint : value.items()) {
      if (!taint.is_object() && !taint.is_null()) return cannot_hold(taint, rule.owner, "spec.taints", "v1.Taint");
      for (const std::string_view member : kTaintMembers) {
        const Doc& text = taint.at(member);
        if (!text.is_null() && !text.is_string())
          return cannot_hold(text, "Taint", fmt::format("spec.taints.{}", member), "string");
      }
    }
  }
  return std::nullopt;
}

// ---- Writing out --------------------------------------------------------------------------------------------------------------

bool is_empty(const Doc& value) {
  return (value.is_object() && value.members().empty()) || (value.is_array() && value.items().empty()) ||
         (value.is_string() && value.text().empty()) || (value.kind() == Doc::Kind::kBool && value.text() == "false");
}

void leave_out_empty(Doc& object, std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) {
    if (const Doc& value = object.at(name); !value.is_null() && is_empty(value)) object = object.without(name);
  }
}

void fill_in(Doc& object, std::initializer_list<std::string_view> names, const Doc& value) {
  const Doc& all = object;
  for (const std::string_view name : names) {
    const auto& members = all.members();
    const bool there = std::any_of(members.begin(), members.end(), [&](const Doc::Member& m) { return m.first.text() == name; });
    if (there) continue;
    Doc::Members more = members;  // with() takes a null for a removal
    more.emplace_back(Doc::string(name), value);
    std::sort(more.begin(), more.end(), [](const auto& a, const auto& b) { return a.first.text() < b.first.text(); });
    object = Doc::object(std::move(more));
  }
}

Doc without_nulls(const Doc& map) {
  Doc out = map;
  for (const auto& [key, value] : map.members()) {
    if (value.is_null()) out = out.with(key.text(), Doc::string(""));  // Go reads null into a string as ""
  }
  return out;
}

Doc normalised_metadata(Doc metadata) {
  for (const std::string_view map : {"labels", "annotations"}) {
    const auto& members = metadata.at(map).members();
    const bool nulls = std::any_of(members.begin(), members.end(), [](const auto& member) { return member.second.is_null(); });
    if (nulls) metadata = metadata.with(map, without_nulls(metadata.at(map)));
  }
  leave_out_empty(metadata, {"labels", "annotations", "finalizers", "ownerReferences", "generateName", "namespace"});
  return metadata.without("managedFields").without("selfLink");
}

Doc normalised_node_spec(Doc spec) {
  Doc::Items taints;
  for (const Doc& taint : spec.at("taints").items()) {
    Doc one = taint.is_null() ? Doc::empty_object() : taint;
    leave_out_empty(one, {"value"});
    fill_in(one, {"key", "effect"}, Doc::string(""));
    taints.push_back(one == taint ? taint : one);
  }
  if (taints != spec.at("taints").items()) spec = spec.with("taints", Doc::array(std::move(taints)));
  leave_out_empty(spec, {"taints", "unschedulable", "providerID", "podCIDR", "podCIDRs"});
  if (spec.at("podCIDRs").is_null() && spec.at("podCIDR").is_string()) {
    spec = spec.with("podCIDRs", Doc::array({spec.at("podCIDR")}));
  }
  return spec;
}

Doc normalised_node_status(Doc status) {
  static const std::initializer_list<std::string_view> kInfo = {
      "machineID",      "systemUUID",       "bootID",          "kernelVersion", "osImage", "containerRuntimeVersion",
      "kubeletVersion", "kubeProxyVersion", "operatingSystem", "architecture"};
  Doc info = status.at("nodeInfo").is_null() ? Doc::empty_object() : status.at("nodeInfo");
  fill_in(info, kInfo, Doc::string(""));
  if (!(info == status.at("nodeInfo"))) status = status.with("nodeInfo", info);
  if (status.at("daemonEndpoints").is_null()) {
    status = status.with({"daemonEndpoints", "kubeletEndpoint", "Port"}, Doc::from(Json(0)));
  }
  leave_out_empty(status, {"conditions", "addresses", "images", "capacity", "allocatable"});
  if (status.at("allocatable").is_null() && !status.at("capacity").is_null()) {
    status = status.with("allocatable", status.at("capacity"));
  }
  Doc::Items conditions;
  for (const Doc& condition : status.at("conditions").items()) {
    Doc one = condition;
    fill_in(one, {"lastHeartbeatTime", "lastTransitionTime"}, Doc());
    conditions.push_back(one == condition ? condition : one);
  }
  if (conditions != status.at("conditions").items()) status = status.with("conditions", Doc::array(std::move(conditions)));
  return status;
}

// ---- Rules --------------------------------------------------------------------------------------------------------------------

void add_invalid(Causes& causes, const std::string& field, std::string_view value, const Wrongs& wrongs) {
  for (const std::string& wrong : wrongs) {
    causes.push_back({"FieldValueInvalid", fmt::format("Invalid value: {}: {}", json_quoted(value), wrong), field});
  }
}

void check_finalizers(Causes& causes, const Doc& finalizers) {
  std::size_t index = 0;
  for (const Doc& finalizer : finalizers.items()) {
    if (causes.size() >= kMostCauses) return;
    const std::string field = fmt::format("metadata.finalizers[{}]", index++);
    const std::string_view name = finalizer.text();
    add_invalid(causes, field, name, check_qualified_name(name));
    const bool standard = name == "kubernetes" || name == "orphan" || name == "foregroundDeletion";
    if (standard || name.find('/') != std::string_view::npos) continue;
    add_invalid(causes, field, name, {"name is neither a standard finalizer name nor is it fully qualified"});
  }
}

Causes check_metadata(const Doc& metadata, const Doc& before) {
  Causes causes;
  const Doc::Members& old = before.at("labels").members();
  auto known = old.begin();  // both are sorted, and what did not change is the same part in both
  for (const auto& [key, value] : metadata.at("labels").members()) {
    if (causes.size() >= kMostCauses) return causes;
    while (known != old.end() && !known->first.same(key) && known->first.text() < key.text()) ++known;
    if (known != old.end() && known->first.same(key) && known->second.same(value)) continue;
    add_invalid(causes, "metadata.labels", key.text(), check_qualified_name(key.text()));
    add_invalid(causes, "metadata.labels", value.text(), check_label_value(value.text()));
  }
  if (!metadata.at("finalizers").same(before.at("finalizers"))) check_finalizers(causes, metadata.at("finalizers"));
  const Doc& annotations = metadata.at("annotations");
  if (annotations.same(before.at("annotations"))) return causes;
  std::size_t size = 0;
  for (const auto& [key, value] : annotations.members()) {
    if (causes.size() >= kMostCauses) return causes;
    add_invalid(causes, "metadata.annotations", key.text(), check_qualified_name(lowered(key.text())));
    size += key.text().size() + value.text().size();
  }
  if (size > kMostAnnotations) {
    causes.push_back(
        {"FieldValueTooLong", fmt::format("Too long: may not be more than {} bytes", kMostAnnotations), "metadata.annotations"});
  }
  return causes;
}

void check_effect(Causes& causes, const std::string& field, std::string_view effect) {
  if (effect.empty()) {
    causes.push_back({"FieldValueRequired", "Required value", field});
  } else if (effect != "NoSchedule" && effect != "PreferNoSchedule" && effect != "NoExecute") {
    causes.push_back({"FieldValueNotSupported",
                      fmt::format("Unsupported value: {}: supported values: \"NoSchedule\", \"PreferNoSchedule\", \"NoExecute\"",
                                  json_quoted(effect)),
                      field});
  }
}

// The real server's paths say metadata.taints, too.
Causes check_taints(const Doc& taints) {
  Causes causes;
  std::set<std::pair<std::string_view, std::string_view>> seen;
  std::size_t index = 0;
  for (const Doc& taint : taints.items()) {
    if (causes.size() >= kMostCauses) return causes;
    const std::string field = fmt::format("metadata.taints[{}]", index++);
    const std::string_view key = taint.at("key").text();
    const std::string_view value = taint.at("value").text();
    const std::string_view effect = taint.at("effect").text();
    add_invalid(causes, field + ".key", key, check_qualified_name(key));
    add_invalid(causes, field + ".value", value, check_label_value(value));
    check_effect(causes, field + ".effect", effect);
    if (!seen.insert({key, effect}).second) {
      const std::string shown = fmt::format(R"({{"Key":{},"Value":{},"Effect":{},"TimeAdded":{}}})", json_quoted(key),
                                            json_quoted(value), json_quoted(effect), taint.at("timeAdded").json_text());
      causes.push_back({"FieldValueDuplicate",
                        fmt::format("Duplicate value: {}: taints must be unique by key and effect pair", shown), field});
    }
  }
  return causes;
}

void append(Causes& causes, const Causes& more) { causes.insert(causes.end(), more.begin(), more.end()); }

void check_number(Causes& causes, const Doc& object, Doc::Path path, std::int64_t least, std::string_view why) {
  const std::string_view text = object.at(path).text();
  if (text.empty() || parse_int(text).value_or(least) >= least) return;
  causes.push_back({"FieldValueInvalid", fmt::format("Invalid value: {}: {}", text, why), joined({path.begin(), path.size()})});
}

Causes check_content(const Resource& resource, const Doc& object, const Doc& before) {
  Causes causes = check_metadata(object.at("metadata"), before.at("metadata"));
  if (resource.kind == "Node" && !object.at("spec").same(before.at("spec"))) {
    append(causes, check_taints(object.at({"spec", "taints"})));
  }
  if (resource.kind == "Lease") {
    check_number(causes, object, {"spec", "leaseDurationSeconds"}, 1, "must be greater than 0");
    check_number(causes, object, {"spec", "leaseTransitions"}, 0, "must be greater than or equal to 0");
  }
  if (resource.kind == "Pod" && object.at({"spec", "containers"}).items().empty()) {
    causes.push_back({"FieldValueRequired", "Required value", "spec.containers"});
  }
  return causes;
}

}  // namespace

std::optional<std::string> wrong_type(const Resource& resource, const Doc& object, const Doc& before) {
  for (const TypeRule& rule : kTypes) {
    if (!rule.kind.empty() && rule.kind != resource.kind) continue;
    const Doc* value = &object;
    const Doc* old = &before;
    for (const std::string_view key : rule.path) {
      value = &value->at(key);
      old = &old->at(key);
    }
    if (value->is_null() || value->same(*old)) continue;
    if (auto wrong = breach(rule, *value)) return wrong;
  }
  return std::nullopt;
}

Doc normalised(const Resource& resource, Doc object, const Doc& before) {
  const auto renew = [&](std::string_view part, auto how) {
    if (!before.is_null() && object.at(part).same(before.at(part))) return;
    const Doc old = object.at(part).is_null() ? Doc::empty_object() : object.at(part);
    Doc renewed = how(old);
    if (!object.at(part).same(renewed)) object = object.with(part, std::move(renewed));
  };
  renew("metadata", normalised_metadata);
  if (resource.kind == "Node") {
    renew("spec", normalised_node_spec);
    renew("status", normalised_node_status);
  }
  return object;
}

Causes check_new(const Resource& resource, const Doc& object) {
  Causes causes;
  const std::string_view name = object.at({"metadata", "name"}).text();
  if (name.empty()) {
    causes.push_back({"FieldValueRequired", "Required value: name or generateName is required", "metadata.name"});
  } else {
    add_invalid(causes, "metadata.name", name, resource.kind == "Namespace" ? check_dns_label(name) : check_subdomain(name));
  }
  if (resource.namespaced) {
    const std::string_view space = object.at({"metadata", "namespace"}).text();
    add_invalid(causes, "metadata.namespace", space, check_dns_label(space));
  }
  append(causes, check_content(resource, object, {}));
  return causes;
}

Causes check_update(const Resource& resource, const Doc& object, const Doc& before) {
  const Causes content = check_content(resource, object, before);
  Causes causes = content;
  if (resource.kind == "Node") {
    const auto forbid_change = [&](std::string_view member, std::string_view name) {
      const Doc& old = before.at({"spec", member});
      if (old.is_null() || old == object.at({"spec", member})) return;
      causes.push_back({"FieldValueForbidden",
                        fmt::format("Forbidden: node updates may not change {} except from \"\" to valid", name),
                        fmt::format("spec.{}", member)});
    };
    forbid_change("podCIDRs", "podCIDR");
    forbid_change("providerID", "providerID");
    append(causes, content);  // the real server looks twice at an update, and says so
  }
  return causes;
}

}  // namespace nodeward::sim
