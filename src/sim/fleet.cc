#include "sim/fleet.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>

#include "sim/validate.h"

namespace nodeward::sim {
namespace {

const Resource& nodes() { return *find_resource("", "v1", "nodes"); }
const Resource& pods() { return *find_resource("", "v1", "pods"); }
const Resource& namespaces() { return *find_resource("", "v1", "namespaces"); }

std::string known_kinds() {
  std::set<std::string_view> kinds;
  for (const Resource& row : resources()) kinds.insert(row.kind);
  return fmt::format("{}", fmt::join(kinds, ", "));
}

// "10.x.y.z", one per number below 2^24.
std::string address_of(std::size_t number) {
  return fmt::format("10.{}.{}.{}", number >> 16 & 255, number >> 8 & 255, number & 255);
}

Doc copied_addresses(const Doc& addresses, std::string_view name, std::size_t number) {
  Doc::Items items;
  for (const Doc& address : addresses.items()) {
    const std::string_view type = address.at("type").text();
    const bool is_name = type == "Hostname" || type == "InternalDNS";
    items.push_back(address.with("address", Doc::string(is_name ? std::string(name) : address_of(number))));
  }
  return Doc::array(std::move(items));
}

// `number` makes the copy's name, provider's id and addresses its own.
Doc copied_node(const Doc& node, std::size_t number, const std::string& uid) {
  constexpr std::string_view kHostname = "kubernetes.io/hostname";
  const std::string name = fmt::format("{}-{:06}", node.at({"metadata", "name"}).text(), number);
  Doc metadata = node.at("metadata").with("name", Doc::string(name)).with("uid", Doc::string(uid));
  if (!metadata.at({"labels", kHostname}).is_null()) metadata = metadata.with({"labels", kHostname}, Doc::string(name));
  Doc copy = node.with("metadata", std::move(metadata));
  if (const Doc& id = node.at({"spec", "providerID"}); id.is_string()) {
    copy = copy.with({"spec", "providerID"}, Doc::string(fmt::format("{}-{:06}", id.text(), number)));
  }
  const Doc& addresses = node.at({"status", "addresses"});
  return addresses.is_array() ? copy.with({"status", "addresses"}, copied_addresses(addresses, name, number)) : copy;
}

Doc plain_pod() {
  return Doc::from({{"apiVersion", "v1"},
                    {"kind", "Pod"},
                    {"metadata", {{"name", "workload"}, {"namespace", "default"}}},
                    {"spec", {{"containers", {{{"name", "main"}, {"image", "registry.example.com/workload:1"}}}}}},
                    {"status", {{"phase", "Running"}, {"conditions", {{{"type", "Ready"}, {"status", "True"}}}}}}});
}

Doc copied_pod(const Doc& pod, std::size_t number, std::string_view node, const std::string& uid) {
  const std::string name = fmt::format("{}-{:06}", pod.at({"metadata", "name"}).text(), number);
  const Doc metadata = pod.at("metadata").with("name", Doc::string(name)).with("uid", Doc::string(uid));
  return pod.with("metadata", metadata).with({"spec", "nodeName"}, Doc::string(node));
}

std::string key_of(const Doc& object) {
  return object_key(object.at({"metadata", "namespace"}).text(), object.at({"metadata", "name"}).text());
}

// A copy's name is longer than the model's, and may be too long.
Result<> check_copy(const Resource& resource, const Doc& model, const Doc& copy) {
  const Causes causes = check_new(resource, copy);
  if (causes.empty()) return {};
  return fail(ErrorCode::kInvalid, fmt::format("cannot copy {} \"{}\": {}: {}", resource.singular,
                                               model.at({"metadata", "name"}).text(), causes.front().field, causes.front().text));
}

}  // namespace

void Fleet::need_namespace(std::string_view name) {
  if (store_.find(namespaces(), name) != nullptr) return;
  (void)writer_.load(namespaces(), Doc::empty_object().with({"metadata", "name"}, Doc::string(name)));
}

void Fleet::create_namespaces() {
  for (const std::string_view name : {"default", "kube-node-lease", "kube-public", "kube-system"}) need_namespace(name);
}

Result<> Fleet::load(const Json& document, std::string_view source) {
  const std::string kind = text_at(document, "kind");
  const std::string api_version = text_at(document, "apiVersion");
  if (kind.empty()) {
    return fail(ErrorCode::kInvalid, fmt::format("{}: not a Kubernetes object: it has no \"kind\"", source));
  }
  if (!kind.ends_with("List")) return load_one(document, kind, api_version, std::string(source));
  const auto items = document.find("items");
  if (items == document.end() || !items->is_array()) {
    return fail(ErrorCode::kInvalid, fmt::format("{}: a {} without a list of \"items\"", source, kind));
  }
  const std::string item_kind = kind.substr(0, kind.size() - 4);  // "List" itself leaves nothing: its items say what they are
  for (std::size_t i = 0; i < items->size(); ++i) {
    NW_TRY(load_one((*items)[i], item_kind, api_version, fmt::format("{}: items[{}]", source, i)));
  }
  return {};
}

Result<> Fleet::load_one(const Json& object, std::string_view kind, std::string_view api_version, const std::string& where) {
  const std::string own_kind = text_at(object, "kind");
  const std::string own_version = text_at(object, "apiVersion");
  const std::string_view of_kind = own_kind.empty() ? kind : own_kind;
  const std::string_view of_version = own_version.empty() ? api_version : own_version;
  const Resource* resource = find_kind(of_version, of_kind);
  if (resource == nullptr) {
    return fail(ErrorCode::kInvalid, fmt::format("{}: kind \"{}\" of \"{}\" is none that the simulation has: {}", where, of_kind,
                                                 of_version, known_kinds()));
  }
  const auto loaded = writer_.load(*resource, Doc::from(object));
  if (!loaded) return fail(ErrorCode::kInvalid, fmt::format("{}: {}", where, loaded.error().message));
  if (resource->namespaced) need_namespace(loaded->at({"metadata", "namespace"}).text());
  if (resource->kind == "Pod") pod_templates_.push_back(*loaded);
  return {};
}

Result<> Fleet::multiply_nodes(std::size_t wanted) {
  std::vector<Doc> templates;
  for (const auto& [key, node] : store_.shelf(nodes()).objects()) templates.push_back(node);
  if (templates.empty() && wanted > 0) {
    return fail(ErrorCode::kInvalid, "no node to copy: load a file with at least one Node first");
  }
  const std::size_t there = templates.size();
  for (const Doc& model : templates) {
    if (wanted > there) NW_TRY(check_copy(nodes(), model, copied_node(model, wanted, "")));
  }
  const auto& all = store_.shelf(nodes()).objects();
  for (std::size_t i = there; all.size() < wanted; ++i) {
    const Doc copy = copied_node(templates[i % there], i, writer_.new_uid());
    if (!all.contains(key_of(copy))) store_.put(nodes(), key_of(copy), copy);
  }
  return {};
}

Result<> Fleet::add_pods(std::size_t per_node) {
  if (per_node == 0) return {};
  if (pod_templates_.empty()) {
    const auto plain = writer_.load(pods(), plain_pod());
    if (!plain) return fail(ErrorCode::kInvalid, plain.error().message);
    pod_templates_.push_back(*plain);
    store_.remove(pods(), "default/workload");
  }
  const auto& all = store_.shelf(nodes()).objects();
  for (const Doc& model : pod_templates_) NW_TRY(check_copy(pods(), model, copied_pod(model, per_node * all.size(), "", "")));
  std::size_t number = 0;
  for (const auto& [node, object] : all) {
    for (std::size_t i = 0; i < per_node; ++number) {
      const Doc copy = copied_pod(pod_templates_[i % pod_templates_.size()], number, node, writer_.new_uid());
      if (store_.find(pods(), key_of(copy)) != nullptr) continue;
      store_.put(pods(), key_of(copy), copy);
      ++i;
    }
  }
  return {};
}

void Fleet::heartbeat(std::size_t count) {
  const auto& all = store_.shelf(nodes()).objects();
  const Doc now = Doc::string(rfc3339(clock_.wall_now()));
  for (std::size_t i = 0; i < std::min(count, all.size()); ++i) {
    auto next = all.upper_bound(last_beat_);
    if (next == all.end()) next = all.begin();
    last_beat_ = next->first;
    Doc::Items conditions;
    for (const Doc& condition : next->second.at({"status", "conditions"}).items()) {
      conditions.push_back(condition.with("lastHeartbeatTime", now));
    }
    store_.put(nodes(), next->first, next->second.with({"status", "conditions"}, Doc::array(std::move(conditions))));
  }
}

}  // namespace nodeward::sim
