#include "demo/show.h"

#include <fmt/format.h>

#include <set>

#include "base/text.h"

namespace nodeward::demo {
namespace {

constexpr std::string_view kOurs = "nvsentinel.dgxc.nvidia.com/";
constexpr std::string_view kNone = "-";

using Values = std::map<std::string, std::string>;  // key without its prefix -> value

// Our labels and annotations of a node.
Values ours(const Json& node) {
  Values found;
  for (const char* member : {"labels", "annotations"}) {
    const Json values = node["metadata"].value(member, Json::object());
    for (const auto& [key, value] : values.items()) {
      if (key.starts_with(kOurs)) found[key.substr(kOurs.size())] = value.get<std::string>();
    }
  }
  return found;
}

// The labeler's own reason.
std::string why(const std::string& key, const NodeStory& story, const Plan& plan) {
  const auto told = plan.because.find(story.before["metadata"]["name"].get<std::string>() + " " + key);
  return told == plan.because.end() ? "" : told->second;
}

// What fault-quarantine may change of a node, but for the rest of its record.
Values service_state(const Json& node) {
  Values found{{"cordoned", node["spec"].value("unschedulable", false) ? "yes" : "no"}};
  for (const Json& taint : node["spec"].value("taints", Json::array())) {
    found[fmt::format("taint {} {}", taint["key"].get<std::string>(), taint["effect"].get<std::string>())] = taint.value("value",
                                                                                                                         "");
  }
  const Json labels = node["metadata"].value("labels", Json::object());
  for (const auto& [key, value] : labels.items()) found["label " + key] = value.get<std::string>();
  const Json annotations = node["metadata"].value("annotations", Json::object());
  const auto record = annotations.find("quarantineHealthEvent");
  if (record != annotations.end()) {
    found["failures on record"] = fmt::format("{}", parse_json(record->get<std::string>()).value().size());
  }
  return found;
}

std::string shown(const Values& values, const std::string& key) {
  const auto found = values.find(key);
  return found == values.end() ? std::string(kNone) : found->second;
}

}  // namespace

Plan read_plan(std::string_view output) {
  Plan plan;
  for (const std::string& line : split(output, '\n')) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with('{') || colon == std::string::npos) continue;
    ++plan.nodes;
    if (line.ends_with(": nothing to change")) continue;
    ++plan.nodes_to_change;
    for (const std::string& part : split(line.substr(colon + 1), ',')) {  // " dcgm.version 4.x -> (none) (pod x)"
      const std::size_t reason = part.find(" (", part.find(" -> ") + 4);
      if (reason == std::string::npos) continue;
      const std::string key = part.substr(1, part.find(' ', 1) - 1);
      plan.because[line.substr(0, colon) + " " + key] = part.substr(reason + 2, part.size() - reason - 3);
    }
  }
  return plan;
}

std::string change_table(const std::vector<NodeStory>& nodes, const Plan& plan) {
  constexpr std::string_view kRow = "  {:<10} {:<25} {:<7}   {:<7} {}\n";
  std::string table = fmt::format(kRow, "NODE", "KEY", "BEFORE", "AFTER", "WHY");
  for (const NodeStory& story : nodes) {
    std::string name = story.before["metadata"]["name"];
    const Values before = ours(story.before);
    const Values after = ours(story.after);
    Values either = before;
    either.insert(after.begin(), after.end());
    for (const auto& [key, value] : either) {
      if (shown(before, key) == shown(after, key)) continue;
      table += fmt::format("  {:<10} {:<25} {:<7}-> {:<7} {}\n", name, key, shown(before, key), shown(after, key),
                           why(key, story, plan));
      name.clear();
    }
    if (!name.empty()) table += fmt::format("  {:<10} nothing to change\n", name);
  }
  return table;
}

std::string step_text(std::size_t number, const FaultStep& step) {
  const auto text_of = [&](const char* member) { return step.event[member].get<std::string>(); };
  const std::string says = step.event.value("isHealthy", false) ? "healthy again" : fmt::format("\"{}\"", text_of("message"));
  const auto rules = step.outcome["rules"].get<std::vector<std::string>>();
  std::string text = fmt::format("  {}. {} of {}: {}\n     {}{}{}, {} PATCH\n", number, text_of("checkName"), text_of("nodeName"),
                                 says, step.outcome["decision"].get<std::string>(), rules.empty() ? "" : " by ",
                                 fmt::join(rules, " and "), step.asked.count("PATCH", "nodes"));
  const Values before = service_state(step.node.before);
  const Values after = service_state(step.node.after);
  Values either = before;
  either.insert(after.begin(), after.end());
  for (const auto& [key, value] : either) {
    if (shown(before, key) == shown(after, key)) continue;
    text += fmt::format("       {:<44} {:<24} -> {}\n", key, shown(before, key), shown(after, key));
  }
  return text;
}

std::string call_table(std::string_view program, const api::Counters& asked, std::size_t writes) {
  std::string table = fmt::format("  {:<11} {:>16}   {:>12}\n", "CALLS", program, "as GET + PUT");
  const auto count = [&](std::string_view verb, std::string_view resource) {
    return fmt::format("  {:<11} {:>16}", fmt::format("{} {}", verb, resource), asked.count(verb, resource));
  };
  table += fmt::format("{}   {:>12}\n", count("PATCH", "nodes"), 0);
  for (const char* verb : {"GET", "PUT"}) table += fmt::format("{}   {:>12}\n", count(verb, "nodes"), writes);
  for (const char* verb : {"LIST", "WATCH"}) {
    for (const char* resource : {"nodes", "pods"}) {
      if (asked.count(verb, resource) > 0) table += count(verb, resource) + "\n";
    }
  }
  return table;
}

}  // namespace nodeward::demo
