#include "sim/table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <ctime>
#include <map>
#include <optional>
#include <vector>

#include "base/text.h"

namespace nodeward::sim {
namespace {

struct Row {
  const Doc& object;
  WallTime now;
};

struct Column {
  std::string_view name;
  std::string_view type;
  int priority;                                   // 1: shown by -o wide only
  Json (*cell)(const Row&);
};

std::string text_or(const Doc& value, std::string_view otherwise) {
  return std::string(value.text().empty() ? otherwise : value.text());
}

std::string age_of(const Doc& time, WallTime now) {
  std::tm parts{};
  if (::strptime(std::string(time.text()).c_str(), "%Y-%m-%dT%H:%M:%S", &parts) == nullptr) return "<unknown>";
  return human_age(now - WallTime(std::chrono::seconds(::timegm(&parts))));
}

Json name(const Row& row) { return std::string(row.object.at({"metadata", "name"}).text()); }
Json age(const Row& row) { return age_of(row.object.at({"metadata", "creationTimestamp"}), row.now); }

// "a=b,c=d" of a map; "<none>" when it is empty.
std::string pairs(const Doc& map) {
  std::vector<std::string> parts;
  for (const auto& [key, value] : map.members()) parts.push_back(fmt::format("{}={}", key.text(), value.text()));
  return parts.empty() ? "<none>" : fmt::format("{}", fmt::join(parts, ","));
}

std::string members_of(const Doc& list, std::string_view member) {
  std::vector<std::string_view> parts;
  for (const Doc& item : list.items()) parts.push_back(item.at(member).text());
  return fmt::format("{}", fmt::join(parts, ","));
}

// ---- Nodes --------------------------------------------------------------------------------------------------------------------

Json node_status(const Row& row) {
  std::string status = "Unknown";
  for (const Doc& condition : row.object.at({"status", "conditions"}).items()) {
    if (condition.at("type").text() == "Ready") status = condition.at("status").text() == "True" ? "Ready" : "NotReady";
  }
  if (row.object.at({"spec", "unschedulable"}).text() == "true") status += ",SchedulingDisabled";
  return status;
}

Json node_roles(const Row& row) {
  constexpr std::string_view kPrefix = "node-role.kubernetes.io/";
  std::vector<std::string_view> roles;
  for (const auto& [key, value] : row.object.at({"metadata", "labels"}).members()) {
    if (key.text().starts_with(kPrefix) && key.text().size() > kPrefix.size()) roles.push_back(key.text().substr(kPrefix.size()));
    if (key.text() == "kubernetes.io/role" && !value.text().empty()) roles.push_back(value.text());
  }
  std::sort(roles.begin(), roles.end());
  return roles.empty() ? "<none>" : fmt::format("{}", fmt::join(roles, ","));
}

std::string node_address(const Doc& node, std::string_view type) {
  for (const Doc& address : node.at({"status", "addresses"}).items()) {
    if (address.at("type").text() == type) return std::string(address.at("address").text());
  }
  return "<none>";
}

const Doc& node_info(const Row& row, std::string_view member) { return row.object.at({"status", "nodeInfo", member}); }
Json node_kernel(const Row& row) {
  const std::string kernel = text_or(node_info(row, "kernelVersion"), "<unknown>");
  const std::string_view architecture = node_info(row, "architecture").text();
  return architecture.empty() ? kernel : fmt::format("{} ({})", kernel, architecture);
}

const std::vector<Column> kNode = {
    {"Name", "string", 0, name},
    {"Status", "string", 0, node_status},
    {"Roles", "string", 0, node_roles},
    {"Age", "string", 0, age},
    {"Version", "string", 0, [](const Row& row) { return Json(text_or(node_info(row, "kubeletVersion"), "")); }},
    {"Internal-IP", "string", 1, [](const Row& row) { return Json(node_address(row.object, "InternalIP")); }},
    {"External-IP", "string", 1, [](const Row& row) { return Json(node_address(row.object, "ExternalIP")); }},
    {"OS-Image", "string", 1, [](const Row& row) { return Json(text_or(node_info(row, "osImage"), "<unknown>")); }},
    {"Kernel-Version", "string", 1, node_kernel},
    {"Container-Runtime", "string", 1,
     [](const Row& row) { return Json(text_or(node_info(row, "containerRuntimeVersion"), "<unknown>")); }},
};

// ---- Pods ---------------------------------------------------------------------------------------------------------------------

Json pod_ready(const Row& row) {
  const auto& statuses = row.object.at({"status", "containerStatuses"}).items();
  const auto ready = std::count_if(statuses.begin(), statuses.end(),
                                   [](const Doc& one) { return one.at("ready").text() == "true"; });
  return fmt::format("{}/{}", ready, row.object.at({"spec", "containers"}).items().size());
}

Json pod_status(const Row& row) {
  const Doc& status = row.object.at("status");
  std::string shown(text_or(status.at("reason"), status.at("phase").text()));
  for (const Doc& container : status.at("containerStatuses").items()) {
    for (const std::string_view state : {"waiting", "terminated"}) {
      if (const Doc& reason = container.at({"state", state, "reason"}); !reason.text().empty()) shown = reason.text();
    }
  }
  if (!row.object.at({"metadata", "deletionTimestamp"}).is_null()) return shown == "NodeLost" ? "Unknown" : "Terminating";
  return shown;
}

Json pod_restarts(const Row& row) {
  std::int64_t restarts = 0;
  for (const Doc& container : row.object.at({"status", "containerStatuses"}).items()) {
    restarts += parse_int(container.at("restartCount").text()).value_or(0);
  }
  return std::to_string(restarts);
}

const std::vector<Column> kPod = {
    {"Name", "string", 0, name},
    {"Ready", "string", 0, pod_ready},
    {"Status", "string", 0, pod_status},
    {"Restarts", "string", 0, pod_restarts},
    {"Age", "string", 0, age},
    {"IP", "string", 1,
     [](const Row& row) {
       return Json(text_or(row.object.at({"status", "podIP"}), "<none>"));
     }},
    {"Node", "string", 1,
     [](const Row& row) {
       return Json(text_or(row.object.at({"spec", "nodeName"}), "<none>"));
     }},
    {"Nominated Node", "string", 1,
     [](const Row& row) {
       return Json(text_or(row.object.at({"status", "nominatedNodeName"}), "<none>"));
     }},
    {"Readiness Gates", "string", 1, [](const Row&) { return Json("<none>"); }},
};

// ---- The others ---------------------------------------------------------------------------------------------------------------

Json daemonset_number(const Row& row, std::string_view member) {
  return parse_int(row.object.at({"status", member}).text()).value_or(0);
}
const Doc& daemonset_pod(const Row& row) { return row.object.at({"spec", "template", "spec"}); }

const std::vector<Column> kDaemonSet = {
    {"Name", "string", 0, name},
    {"Desired", "integer", 0, [](const Row& row) { return daemonset_number(row, "desiredNumberScheduled"); }},
    {"Current", "integer", 0, [](const Row& row) { return daemonset_number(row, "currentNumberScheduled"); }},
    {"Ready", "integer", 0, [](const Row& row) { return daemonset_number(row, "numberReady"); }},
    {"Up-to-date", "integer", 0, [](const Row& row) { return daemonset_number(row, "updatedNumberScheduled"); }},
    {"Available", "integer", 0, [](const Row& row) { return daemonset_number(row, "numberAvailable"); }},
    {"Node Selector", "string", 0, [](const Row& row) { return Json(pairs(daemonset_pod(row).at("nodeSelector"))); }},
    {"Age", "string", 0, age},
    {"Containers", "string", 1, [](const Row& row) { return Json(members_of(daemonset_pod(row).at("containers"), "name")); }},
    {"Images", "string", 1, [](const Row& row) { return Json(members_of(daemonset_pod(row).at("containers"), "image")); }},
    {"Selector", "string", 1,
     [](const Row& row) {
       return Json(pairs(row.object.at({"spec", "selector", "matchLabels"})));
     }},
};

Json event_object(const Row& row) {
  const Doc& object = row.object.at("involvedObject");
  return fmt::format("{}/{}", lowered(object.at("kind").text()), object.at("name").text());
}

const std::vector<Column> kEvent = {
    {"Last Seen", "string", 0, [](const Row& row) { return Json(age_of(row.object.at("lastTimestamp"), row.now)); }},
    {"Type", "string", 0, [](const Row& row) { return Json(text_or(row.object.at("type"), "")); }},
    {"Reason", "string", 0, [](const Row& row) { return Json(text_or(row.object.at("reason"), "")); }},
    {"Object", "string", 0, event_object},
    {"Message", "string", 0, [](const Row& row) { return Json(text_or(row.object.at("message"), "")); }},
    {"Source", "string", 1,
     [](const Row& row) {
       return Json(text_or(row.object.at({"source", "component"}), ""));
     }},
    {"First Seen", "string", 1, [](const Row& row) { return Json(age_of(row.object.at("firstTimestamp"), row.now)); }},
    {"Count", "string", 1, [](const Row& row) { return Json(text_or(row.object.at("count"), "1")); }},
    {"Name", "string", 1, name},
};

const std::vector<Column> kNamespace = {
    {"Name", "string", 0, name},
    {"Status", "string", 0,
     [](const Row& row) {
       return Json(text_or(row.object.at({"status", "phase"}), ""));
     }},
    {"Age", "string", 0, age},
};

const std::vector<Column> kLease = {
    {"Name", "string", 0, name},
    {"Holder", "string", 0,
     [](const Row& row) {
       return Json(text_or(row.object.at({"spec", "holderIdentity"}), ""));
     }},
    {"Age", "string", 0, age},
};

const std::vector<Column> kConfigMap = {
    {"Name", "string", 0, name},
    {"Data", "string", 0,
     [](const Row& row) { return Json(row.object.at("data").members().size() + row.object.at("binaryData").members().size()); }},
    {"Age", "string", 0, age},
};

const std::vector<Column> kResourceSlice = {
    {"Name", "string", 0, name},
    {"Node", "string", 0,
     [](const Row& row) {
       return Json(text_or(row.object.at({"spec", "nodeName"}), "<unset>"));
     }},
    {"Driver", "string", 0,
     [](const Row& row) {
       return Json(text_or(row.object.at({"spec", "driver"}), ""));
     }},
    {"Pool", "string", 0,
     [](const Row& row) {
       return Json(text_or(row.object.at({"spec", "pool", "name"}), ""));
     }},
    {"Age", "string", 0, age},
};

const std::vector<Column> kOther = {{"Name", "string", 0, name}, {"Age", "string", 0, age}};

const std::vector<Column>& columns_of(const Resource& resource) {
  static const std::map<std::string_view, const std::vector<Column>*> kAll = {
      {"ConfigMap", &kConfigMap}, {"DaemonSet", &kDaemonSet}, {"Event", &kEvent}, {"Lease", &kLease},
      {"Namespace", &kNamespace}, {"Node", &kNode},           {"Pod", &kPod},     {"ResourceSlice", &kResourceSlice}};
  const auto found = kAll.find(resource.kind);
  return found == kAll.end() ? kOther : *found->second;
}

}  // namespace

Json table_columns(const Resource& resource) {
  Json columns = Json::array();
  for (const Column& column : columns_of(resource)) {
    columns.push_back({{"name", column.name},
                       {"type", column.type},
                       {"format", column.name == "Name" ? "name" : ""},
                       {"description", fmt::format("{} of the {}", column.name, resource.singular)},
                       {"priority", column.priority}});
  }
  return columns;
}

Json table_cells(const Resource& resource, const Doc& object, WallTime now) {
  Json cells = Json::array();
  for (const Column& column : columns_of(resource)) cells.push_back(column.cell({object, now}));
  return cells;
}

std::string human_age(Duration age) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(age).count();
  if (seconds < -1) return "<invalid>";
  const auto minutes = seconds / 60;
  const auto hours = minutes / 60;
  const auto days = hours / 24;
  const auto both = [](auto big, std::string_view big_unit, auto small, std::string_view small_unit) {
    return small == 0 ? fmt::format("{}{}", big, big_unit) : fmt::format("{}{}{}{}", big, big_unit, small, small_unit);
  };
  if (seconds < 120) return fmt::format("{}s", std::max<std::int64_t>(seconds, 0));
  if (minutes < 10) return both(minutes, "m", seconds % 60, "s");
  if (minutes < 180) return fmt::format("{}m", minutes);
  if (hours < 8) return both(hours, "h", minutes % 60, "m");
  if (hours < 48) return fmt::format("{}h", hours);
  if (days < 8) return both(days, "d", hours % 24, "h");
  if (days < 730) return fmt::format("{}d", days);
  if (days < 8 * 365) return both(days / 365, "y", days % 365, "d");
  return fmt::format("{}y", days / 365);
}

}  // namespace nodeward::sim
