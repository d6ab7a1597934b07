#include "api/fault_quarantine_fixture.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iostream>
#include <stdexcept>
#include <utility>

#include "api/labeler_objects.h"
#include "base/text.h"

namespace nodeward::api {
namespace {

namespace fs = std::filesystem;

const fs::path kData = NW_SOURCE_DIR "/tests/data";

std::string text_of_file(const fs::path& file) {
  const auto text = read_file(file);
  if (!text) throw std::runtime_error(text.error().message);
  return *text;
}

}  // namespace

std::vector<Json> lines_of(const std::string& file) {
  std::vector<Json> lines;
  for (const std::string& line : split(text_of_file(kData / file), '\n')) {
    if (!line.empty()) lines.push_back(parse_json(line).value());
  }
  return lines;
}

Json example_event(std::string_view name) {
  static const std::vector<Json> events = lines_of("examples/events.jsonl");
  const auto found = std::find_if(events.begin(), events.end(), [&](const Json& event) { return event["name"] == name; });
  if (found == events.end()) throw std::runtime_error(fmt::format("no example event {}", name));
  return *found;
}

Json& event_of(Json& line) {
  if (line.contains("document")) return line["document"]["healthevent"];
  return line.contains("event") ? line["event"] : line;
}

Json recovery_of(Json line) {
  Json& event = event_of(line);
  event["isHealthy"] = true;
  event["isFatal"] = false;
  event["recommendedAction"] = 0;
  event["entitiesImpacted"] = nullptr;
  event["errorCode"] = nullptr;
  line.erase("recordId");  // another row
  return line;
}

Json example_node(std::string_view name) {
  static const std::vector<Json> nodes = objects_of_file("examples/nodes.json");
  const auto found = std::find_if(nodes.begin(), nodes.end(), [&](const Json& node) { return node["metadata"]["name"] == name; });
  if (found == nodes.end()) throw std::runtime_error(fmt::format("no example node {}", name));
  return *found;
}

std::string FaultNode::taints() const {
  std::vector<std::string> texts;
  for (const Json& taint : node_["spec"].value("taints", Json::array())) {
    texts.push_back(
        fmt::format("{}={}:{}", taint["key"].get<std::string>(), taint.value("value", ""), taint["effect"].get<std::string>()));
  }
  return fmt::format("{}", fmt::join(texts, ", "));
}

std::vector<Json> FaultNode::tracked() const {
  const auto text = annotation("quarantineHealthEvent");
  return text ? parse_json(*text).value().get<std::vector<Json>>() : std::vector<Json>{};
}

std::vector<std::string> FaultNode::traces() const {
  std::vector<std::string> keys;
  const auto collect = [&](const char* member, const auto& is_ours) {
    const Json values = node_["metadata"].value(member, Json::object());
    for (const auto& [key, value] : values.items()) {
      if (is_ours(key)) keys.push_back(key);
    }
  };
  collect("annotations", [](const std::string& key) { return key.starts_with("quarantine"); });
  collect("labels", [](const std::string& key) {
    return key.starts_with("ops.example.com/cordon-") || key == "dgxc.nvidia.com/nvsentinel-state" ||
           key == "gpu.example.com/state" || key == "ops.example.com/replace";
  });
  return keys;
}

std::optional<std::string> FaultNode::text_of(const char* member, std::string_view key) const {
  const Json values = node_["metadata"].value(member, Json::object());
  const auto found = values.find(key);
  return found == values.end() ? std::nullopt : std::optional(found->get<std::string>());
}

void FaultQuarantineOnTheServer::SetUp() {
  ClusterTest::SetUp();
  static int made = 0;
  folder_ = cluster().folder() / fmt::format("faults-{}", ++made);
  fs::create_directory(folder_);
  std::ofstream(events()).flush();
}

void FaultQuarantineOnTheServer::TearDown() {
  if (controller_ == nullptr) return;
  if (controller_->running()) {
    EXPECT_EQ(stop(), 0);
  }
  if (HasFailure()) std::cout << controller_->output();
  controller_.reset();
}

void FaultQuarantineOnTheServer::create_examples() {
  const std::vector<Json> nodes = objects_of_file("examples/nodes.json");
  admin().create_nodes(nodes);
}

std::vector<std::string> FaultQuarantineOnTheServer::flags(Input input, const fs::path& rules) const {
  return {"--config-path=" + rules.string(),
          fmt::format("--event-source=file:{}{}", events().string(), input == Input::kFollowed ? "?follow" : ""),
          "--outcomes=" + outcome_file().string(), "--circuit-breaker-enabled=false", "--kube-api-qps=-1"};
}

void FaultQuarantineOnTheServer::launch(const std::vector<std::string>& flags) {
  seen_ = admin().counters();
  outcomes_.clear();
  outcomes_read_ = 0;
  std::vector<std::string> all = {"--kubeconfig-path=" + cluster().kubeconfig().string()};
  all.insert(all.end(), flags.begin(), flags.end());
  controller_ = std::make_unique<ControllerProcess>("fault-quarantine", folder_, all,
                                                    std::vector<std::string>{"AUDIT_ENABLED=true"});
}

fs::path FaultQuarantineOnTheServer::example_rules() { return kData / "examples/fault-quarantine.toml"; }

void FaultQuarantineOnTheServer::start(const std::string& rules) {
  launch(flags(Input::kFollowed, kData / rules));
  controller().await_ready();
}

int FaultQuarantineOnTheServer::stop() { return controller().stop(); }

int FaultQuarantineOnTheServer::append(const std::string& text) { return append_lines(text + "\n", 1); }

int FaultQuarantineOnTheServer::append_lines(const std::string& text, int lines) {
  std::ofstream(events(), std::ios::app) << text;
  const int first = lines_ + 1;
  lines_ += lines;
  return first;
}

const std::map<int, Json>& FaultQuarantineOnTheServer::outcomes() {
  std::ifstream file(outcome_file());
  file.seekg(static_cast<std::streamoff>(outcomes_read_));
  for (std::string line; std::getline(file, line) && !file.eof();) {  // at the end of file: not whole yet
    outcomes_read_ += line.size() + 1;
    const Json outcome = parse_json(line).value();
    EXPECT_TRUE(outcomes_.emplace(outcome["line"].get<int>(), outcome).second) << "settled twice: " << line;
  }
  return outcomes_;
}

Json FaultQuarantineOnTheServer::outcome(int line) {
  controller().await(fmt::format("the outcome of line {}", line), [&] { return outcomes().contains(line); });
  return outcomes_.at(line);
}

std::string FaultQuarantineOnTheServer::status(const Json& event) {
  const Json status = send(event)["status"];
  return status.is_null() ? "-" : status.get<std::string>();
}

Counters FaultQuarantineOnTheServer::asked() {
  const Counters now = admin().counters();
  return now - std::exchange(seen_, now);
}

long FaultQuarantineOnTheServer::writes() {
  const Counters since = asked();
  EXPECT_EQ(since.count("GET", "nodes"), 0) << since.text();
  EXPECT_EQ(since.count("PUT", "nodes"), 0) << since.text();
  return since.count("PATCH", "nodes");
}

}  // namespace nodeward::api
