#include "sim/discovery.h"

#include <algorithm>
#include <set>
#include <vector>

#include "base/text.h"
#include "sim/resources.h"

namespace nodeward::sim {
namespace {

Json version() {
  return {{"major", "1"},    {"minor", "36"},      {"gitVersion", "v1.36.3+nodeward-sim"},     // says that it is a simulation
          {"gitCommit", ""}, {"gitTreeState", ""}, {"buildDate", "1970-01-01T00:00:00Z"},
          {"goVersion", ""}, {"compiler", ""},     {"platform", "linux/amd64"}};
}

Json group(std::string_view name) {
  Json versions = Json::array();
  std::set<std::string_view> seen;
  for (const Resource& row : resources()) {
    if (row.group != name || !seen.insert(row.version).second) continue;
    versions.push_back({{"groupVersion", row.group_version()}, {"version", row.version}});
  }
  return {{"name", name}, {"versions", versions}, {"preferredVersion", versions.front()}};
}

Json group_list() {
  Json groups = Json::array();
  std::set<std::string_view> seen;
  for (const Resource& row : resources()) {
    if (!row.group.empty() && seen.insert(row.group).second) groups.push_back(group(row.group));
  }
  return {{"kind", "APIGroupList"}, {"apiVersion", "v1"}, {"groups", groups}};
}

Json resource_list(std::string_view group, std::string_view version) {
  Json rows = Json::array();
  std::string group_version;
  for (const Resource& row : resources()) {
    if (row.group != group || row.version != version) continue;
    group_version = row.group_version();
    Json entry = {{"name", row.plural},
                  {"singularName", row.singular},
                  {"namespaced", row.namespaced},
                  {"kind", row.kind},
                  {"verbs", {"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}}};
    if (row.kind == "Namespace") entry["verbs"].erase(2);
    if (!row.short_names.empty()) entry["shortNames"] = row.short_names;
    if (!row.categories.empty()) entry["categories"] = row.categories;
    rows.push_back(std::move(entry));
    if (!row.has_status) continue;
    rows.push_back({{"name", std::string(row.plural) + "/status"},
                    {"singularName", ""},
                    {"namespaced", row.namespaced},
                    {"kind", row.kind},
                    {"verbs", {"get", "patch", "update"}}});
  }
  Json list = {{"kind", "APIResourceList"}, {"groupVersion", group_version}, {"resources", rows}};
  if (!group.empty()) list["apiVersion"] = "v1";
  return list;
}

bool has_group(std::string_view name) {
  const auto rows = resources();
  return !name.empty() && std::any_of(rows.begin(), rows.end(), [&](const Resource& row) { return row.group == name; });
}

}  // namespace

std::optional<Json> discovery(std::string_view path) {
  std::vector<std::string> parts;
  for (std::string& part : split(path, '/')) {
    if (!part.empty()) parts.push_back(std::move(part));
  }
  if (parts.empty()) return std::nullopt;
  if (parts.size() == 1 && parts[0] == "version") return version();
  if (parts.size() == 1 && parts[0] == "api") {
    return Json{{"kind", "APIVersions"}, {"versions", {"v1"}}, {"serverAddressByClientCIDRs", Json::array()}};
  }
  if (parts.size() == 1 && parts[0] == "apis") return group_list();
  if (parts.size() == 2 && parts[0] == "api" && has_group_version("", parts[1])) return resource_list("", parts[1]);
  if (parts.size() >= 2 && parts[0] == "apis" && has_group(parts[1])) {
    if (parts.size() == 3 && has_group_version(parts[1], parts[2])) return resource_list(parts[1], parts[2]);
    if (parts.size() > 2) return std::nullopt;
    Json one = group(parts[1]);
    one["kind"] = "APIGroup";
    one["apiVersion"] = "v1";
    return one;
  }
  return std::nullopt;
}

}  // namespace nodeward::sim
