// What another program of the same purpose was seen to do in the same cases (tests/data/fault-quarantine/README.md), from the rule
// file to the node: its nodes, statuses and metrics where it agrees with the specification, else the specification's status.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <regex>
#include <set>
#include <string>

#include "base/json.h"
#include "base/text.h"
#include "config/fault_quarantine.h"
#include "events/event_json.h"
#include "quarantine/keys.h"
#include "quarantine/metrics.h"
#include "quarantine/scenario.h"
#include "rules/rule_book.h"

namespace nodeward::quarantine::testing {
namespace {

const std::string kData = NW_SOURCE_DIR "/tests/data/";

std::vector<Json> cases() {
  std::vector<Json> all;
  for (const std::string& line : split(read_file(kData + "fault-quarantine/observed-cases.jsonl").value(), '\n')) {
    if (!line.empty()) all.push_back(parse_json(line).value());
  }
  return all;
}

config::FaultQuarantine config_of(const Json& given) {
  const std::string text = given.is_null() ? read_file(kData + "examples/fault-quarantine.toml").value()
                                           : given.get<std::string>();
  return config::read_fault_quarantine(text, {.breaker_enabled = false});
}

Json node_of(const Json& given) {
  Json node = given["example"].get<bool>() ? example_node(given["name"].get<std::string>())
                                           : bare_node(given["name"].get<std::string>());
  Json patch = {{"metadata", Json::object()}, {"spec", Json::object()}};
  for (const auto* part : {"labels", "annotations"}) {
    if (given.contains(part)) patch["metadata"][part] = given[part];
  }
  for (const auto* part : {"taints", "unschedulable"}) {
    if (given.contains(part)) patch["spec"][part] = given[part];
  }
  node.merge_patch(patch);
  return node;
}

std::set<std::string> as_set(const Json& list) {
  std::set<std::string> members;
  for (const Json& member : list) members.insert(to_text(member));
  return members;
}

// Whether our value of a label or annotation is the one that was seen, leaving out what varied from run to run.
bool same_value(const std::string& key, const std::string& ours, const std::string& seen) {
  if (seen.starts_with("<UTC")) return std::regex_match(ours, std::regex(R"(\d{4}-\d\d-\d\dT\d\d-\d\d-\d\dZ)"));
  const auto words = [](const std::string& text) {
    const auto parts = split(text, '-');
    return std::multiset<std::string>(parts.begin(), parts.end());
  };
  if (key.ends_with("cordon-reason")) return words(ours) == words(seen);
  if (!seen.starts_with("[")) return ours == seen;
  return as_set(parse_json(ours).value()) == as_set(parse_json(seen).value());
}

// Applies what was seen to what was there before, and tells every difference from what we left.
void expect_same(const std::string& name, Json before, const Json& after, const Json& seen) {
  for (const auto* part : {"labels", "annotations"}) {
    Json& map = before["metadata"][part];
    if (map.is_null()) map = Json::object();
    const Json change = seen.value(part, Json::object());
    const auto each = [&](const char* kind, const auto& apply) {
      if (!change.contains(kind)) return;
      for (const auto& [key, value] : change[kind].items()) apply(key, value);
    };
    each("added", [&](const std::string& key, const Json& value) { map[key] = value; });
    each("changed", [&](const std::string& key, const Json& values) { map[key] = values[1]; });
    each("removed", [&](const std::string& key, const Json&) { map.erase(key); });
    const Json ours = after["metadata"].value(part, Json::object());
    for (const auto& [key, value] : map.items()) {
      const bool there = ours.contains(key);
      EXPECT_TRUE(there && same_value(key, ours[key], value))
          << name << ' ' << key << ": seen " << value << ", ours " << (there ? ours[key] : Json());
    }
    for (const auto& [key, value] : ours.items())
      EXPECT_TRUE(map.contains(key)) << name << ' ' << key << ": not seen, ours " << value;
  }
  const Json taints = seen.contains("taints") ? seen["taints"] : before["spec"].value("taints", Json::array());
  EXPECT_EQ(as_set(after["spec"].value("taints", Json::array())), as_set(taints)) << name;
  const bool unschedulable = seen.contains("unschedulable") ? seen["unschedulable"][1].get<bool>()
                                                            : before["spec"].value("unschedulable", false);
  EXPECT_EQ(after["spec"].value("unschedulable", false), unschedulable) << name;
}

// Every series of fault-quarantine and its value.
std::map<std::string, double> series(const telemetry::Metrics& registry) {
  constexpr std::string_view kPrefix = "fault_quarantine_";
  std::map<std::string, double> all;
  for (const std::string& line : split(registry.text(), '\n')) {
    if (line.starts_with(kPrefix))
      all[line.substr(kPrefix.size(), line.rfind(' ') - kPrefix.size())] = std::stod(line.substr(line.rfind(' ') + 1));
  }
  return all;
}

class Replay {
 public:
  explicit Replay(const Json& given)
      : config_(config_of(given["config"])),
        scenario_([this](const auto& event, const auto& node) { return config_.book.judge(event, node); },
                  Options{config_.label_prefix},
                  merged(own_selection({config_.label_prefix}, config_.book.label_keys()), rules::node_selection(config_.book))),
        metrics_(registry_) {
    EXPECT_TRUE(config_.good());
    scenario_.set_now(WallTime{std::chrono::seconds{1788999999}});  // after every event's own time
    for (const Json& node : given["nodes"]) scenario_.add(node_of(node));
    for (const Json& event : given["before"]) scenario_.send(events::read_events(to_text(event)).value());
    scenario_.judgements();
  }

  void play(const Json& step, const Json& nodes, bool deviates) {
    const auto event = events::read_events(to_text(step["event"])).value();
    std::map<std::string, Json> before;
    for (const Json& node : nodes) before[node["name"]] = scenario_.node(node["name"].get<std::string>());
    const auto counted = series(registry_);
    const std::string status = scenario_.send(event);
    const std::string wanted = step["status"].is_null() ? "-" : step["status"].get<std::string>();
    EXPECT_EQ(status.empty() ? "-" : status, wanted);
    for (const Judgement& judgement : scenario_.judgements()) {
      metrics_.count(kube::NodeName(event[0].node_name), judgement, event[0], config_.book.names(),
                     WallTime{std::chrono::seconds{1788999999}});
    }
    if (deviates) return;
    for (const auto& [name, node] : before) {
      expect_same(name, node, scenario_.node(name), step["nodes"].value(name, Json::object()));
    }
    expect_counted(counted, step["metrics"]);
  }

 private:
  void expect_counted(std::map<std::string, double> before, const Json& seen) {
    for (const auto& [name, value] : series(registry_)) {
      const double more = value - before[name];
      const bool compared = name.find("_total") != std::string::npos ||
                            name.starts_with("node_quarantine_duration_seconds_count");
      if (!compared || more == 0) continue;
      EXPECT_EQ(more, seen.value(name, 0.0)) << name;
    }
    auto now = series(registry_);
    for (const auto& [name, value] : seen.items()) {
      const double wanted = value.is_object() ? value["now"].get<double>() : before[name] + value.get<double>();
      EXPECT_EQ(now[name], wanted) << name;
    }
  }

  const config::FaultQuarantine config_;
  Scenario scenario_;
  telemetry::Metrics registry_;
  Metrics metrics_;
};

TEST(FaultQuarantineParity, EndsWhereThePeerEndedOrWhereTheSpecificationSays) {
  int compared = 0;
  for (const Json& given : cases()) {
    SCOPED_TRACE(fmt::format("{} {}: {}", given["case"].get<std::string>(), given["variant"].get<std::string>(),
                             given["title"].get<std::string>()));
    Replay replay(given);
    for (const Json& step : given["steps"]) replay.play(step, given["nodes"], given.contains("deviates"));
    ++compared;
  }
  EXPECT_EQ(compared, 51);
}

}  // namespace
}  // namespace nodeward::quarantine::testing
