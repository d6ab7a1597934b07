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

std::string call_table(const api::Counters& asked, std::size_t changed_nodes) {
  std::string table = fmt::format("  {:<11} {:>8}   {:>12}\n", "CALLS", "labeler", "as GET + PUT");
  const auto count = [&](std::string_view verb, std::string_view resource) {
    return fmt::format("  {:<11} {:>8}", fmt::format("{} {}", verb, resource), asked.count(verb, resource));
  };
  table += fmt::format("{}   {:>12}\n", count("PATCH", "nodes"), 0);
  for (const char* verb : {"GET", "PUT"}) table += fmt::format("{}   {:>12}\n", count(verb, "nodes"), changed_nodes);
  for (const char* verb : {"LIST", "WATCH"}) {
    for (const char* resource : {"nodes", "pods"}) table += count(verb, resource) + "\n";
  }
  return table;
}

}  // namespace nodeward::demo
