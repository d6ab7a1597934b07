// What another program of the same purpose was seen to do in the same cases (tests/data/labeler/README.md): its final state
// where it agrees with the specification, else what the specification asks for.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "base/json.h"
#include "base/text.h"
#include "labels/scenario.h"

namespace nodeward::labels::testing {
namespace {

std::vector<Json> cases() {
  const auto text = read_file(NW_SOURCE_DIR "/tests/data/labeler/observed-cases.jsonl");
  EXPECT_TRUE(text) << text.error().message;
  std::vector<Json> all;
  for (const std::string& line : split(*text, '\n')) {
    if (!line.empty()) all.push_back(parse_json(line).value());
  }
  return all;
}

// The flags that occur in the cases.
Options options_of(const Json& flags) {
  Options options;
  for (const std::string flag : flags) {
    const auto equal = flag.find('=');
    const std::string name = flag.substr(0, equal);
    const std::string value = equal == std::string::npos ? "true" : flag.substr(equal + 1);
    if (name == "--dcgm-app-label")
      options.dcgm_apps = app_list(value);
    else if (name == "--kata-label")
      options.kata_label = value;
    else if (name == "--assume-dcgm-available")
      options.assume_dcgm_available = value == "true";
    else if (name == "--assume-driver-installed")
      options.assume_driver_installed = value == "true";
    else if (name == "--require-dcgm-ready-for-bootstrap")
      options.require_dcgm_ready = value == "true";
    else
      ADD_FAILURE() << "unknown flag in the data: " << flag;
  }
  return options;
}

std::optional<std::string> text_or_null(const Json& value) {
  return value.is_null() ? std::nullopt : std::optional(value.get<std::string>());
}

class Replay {
 public:
  explicit Replay(const Json& given) : scenario_(options_of(given["flags"])) {
    for (const Json& node : given["nodes"]) add_node(node);
    for (const Json& pod : given["pods"]) add_pod(pod);
    if (!given["running"].get<bool>()) return;
    scenario_.start();
    scenario_.writes();
  }

  void play(const Json& step) {
    const std::string op = step["op"];
    if (op == "start" || op == "restart") {
      scenario_.start(step.value("late", "pods") == "nodes" ? Scenario::Late::kNodes : Scenario::Late::kPods);
    } else if (op == "batch") {
      scenario_.batch([&] { play_all(step["ops"]); });
    } else if (op == "watch_down") {
      const bool nodes = step["watch"] == "nodes";
      scenario_.while_watch_is_down(nodes ? Scenario::Watches::kNodes : Scenario::Watches::kPods, [&] { play_all(step["ops"]); });
    } else if (op == "node_add") {
      add_node(step["node"]);
    } else if (op == "node_labels") {
      for (const auto& [key, value] : step["set"].items()) scenario_.set_label(step["node"], key, text_or_null(value));
    } else {
      play_pod(op, step);
    }
  }

  Scenario& scenario() { return scenario_; }

 private:
  void play_all(const Json& steps) {
    for (const Json& step : steps) play(step);
  }
  void play_pod(const std::string& op, const Json& step) {
    if (op == "pod_add")
      add_pod(step["pod"]);
    else if (op == "pod_ready")
      scenario_.set_ready(step["pod"], step["ready"]);
    else if (op == "pod_delete")
      scenario_.delete_pod(step["pod"]);
    else if (op == "pod_bind")
      scenario_.bind(step["pod"], step["node"]);
    else if (op == "pod_image")
      scenario_.set_image(step["pod"], step["image"]);
    else if (op == "pod_terminating")
      scenario_.set_ready(step["pod"], true);   // a deletionTimestamp is nothing that we read
    else if (op == "pod_labels")
      scenario_.batch([&] {
        for (const auto& [key, value] : step["set"].items()) scenario_.set_pod_label(step["pod"], key, text_or_null(value));
      });
    else
      ADD_FAILURE() << "unknown step in the data: " << op;
  }
  void add_node(const Json& node) {
    const std::string name = node["name"];
    scenario_.batch([&] {
      scenario_.node(name, "");
      for (const auto& [key, value] : node["labels"].items()) scenario_.set_label(name, key, value.get<std::string>());
      for (const auto& [key, value] : node["annotations"].items()) scenario_.set_annotation(name, key, value.get<std::string>());
    });
  }
  void add_pod(const Json& pod) {
    scenario_.pod({.name = pod["name"],
                   .labels = pod["labels"].get<std::map<std::string, std::string>>(),
                   .ready = pod["ready"],
                   .images = pod["images"].get<std::vector<std::string>>(),
                   .node = pod["node"],
                   .name_space = pod["namespace"]});
  }

  Scenario scenario_;
};

std::string shown(const std::optional<std::string>& value) { return value ? "\"" + *value + "\"" : "absent"; }

void expect_step(const Json& wanted, const Scenario& scenario) {
  if (wanted.is_null()) return;
  for (const auto& [node, keys] : wanted.items()) {
    for (const auto& [key, value] : keys.items()) {
      const auto label = scenario.label(node, key);
      EXPECT_EQ(shown(label ? label : scenario.annotation(node, key)), shown(text_or_null(value))) << node << ' ' << key;
    }
  }
}

void expect_after(const Json& after, const Scenario& scenario) {
  for (const auto& [name, state] : after.items()) {
    EXPECT_EQ(scenario.labels_of(name), (state["labels"].get<Scenario::KeysAndValues>())) << name;
    EXPECT_EQ(scenario.annotations_of(name), (state["annotations"].get<Scenario::KeysAndValues>())) << name;
  }
}

TEST(Parity, EndsWhereTheOtherProgramOrElseTheSpecificationEnds) {
  int played = 0;
  for (const Json& each : cases()) {
    SCOPED_TRACE("case " + each["case"].get<std::string>() + ": " + each["title"].get<std::string>());
    Replay replay(each["given"]);
    for (std::size_t i = 0; i < each["action"].size(); ++i) {
      replay.play(each["action"][i]);
      expect_step(each["spec_expects"][i], replay.scenario());
    }
    if (each.contains("after")) expect_after(each["after"], replay.scenario());
    const int writes = replay.scenario().writes();
    EXPECT_EQ(writes, each.value("writes", writes));
    ++played;
  }
  EXPECT_EQ(played, 87);
}

}  // namespace
}  // namespace nodeward::labels::testing
