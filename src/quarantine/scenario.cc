#include "quarantine/scenario.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/text.h"
#include "events/event_json.h"
#include "kube/decode.h"
#include "quarantine/keys.h"

namespace nodeward::quarantine::testing {

using events::HealthEvent;

namespace {

const std::string kData = NW_SOURCE_DIR "/tests/data/examples/";

rules::Verdict verdict_of(const std::vector<Rule>& rules, const HealthEvent& event, const kube::Node& node) {
  rules::Verdict verdict;
  std::map<std::string, int> taint_priority;
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const Rule& rule = rules[i];
    if (!rule.fails_with.empty()) verdict.errors.push_back({rule.name, rule.fails_with});
    if (!rule.fails_with.empty() || !rule.when(event, node)) continue;
    verdict.matched.push_back(rule.name);
    if (rule.cordon) verdict.cordon_reasons.push_back(rule.name);
    verdict.cordon = verdict.cordon || rule.cordon;
    if (rule.label) merge_label(verdict.labels, {rule.label->first, rule.label->second, rule.priority, static_cast<int>(i)});
    if (!rule.taint) continue;
    const auto same = [&](const kube::Taint& taint) { return taint.key == rule.taint->key && taint.value == rule.taint->value; };
    const auto place = std::find_if(verdict.taints.begin(), verdict.taints.end(), same);
    int& priority = taint_priority.try_emplace(rule.taint->key, rule.priority).first->second;
    if (place == verdict.taints.end())
      verdict.taints.push_back(*rule.taint);
    else if (rule.priority > std::exchange(priority, std::max(priority, rule.priority)))
      *place = *rule.taint;
  }
  return verdict;
}

bool holds_code(const HealthEvent& event, std::initializer_list<std::string_view> codes) {
  const auto all = event.error_codes.value_or(std::vector<std::string>());
  return std::any_of(all.begin(), all.end(),
                     [&](const auto& code) { return std::find(codes.begin(), codes.end(), code) != codes.end(); });
}

}  // namespace

Judge judge_by(std::vector<Rule> rules) {
  return [rules = std::move(rules)](const HealthEvent& event, const kube::Node& node) { return verdict_of(rules, event, node); };
}

std::vector<Rule> example_rules() {
  const auto managed = [](const kube::Node& node) { return node.labels.get("nvsentinel.dgxc.nvidia.com/managed") != "false"; };
  return {
      {.name = "gpu-fatal",
       .priority = 100,
       .when =
           [=](const auto& e, const auto& n) {
             return e.agent == "gpu-health-monitor" && e.component_class == "GPU" && e.is_fatal && managed(n);
           },
       .taint = kube::Taint{"gpu.example.com/fault", "fatal", "NoSchedule", {}},
       .label = {{"gpu.example.com/state", "fatal"}},
       .cordon = true},
      {.name = "gpu-degraded",
       .priority = 10,
       .when =
           [](const auto& e, const auto&) {
             return e.agent == "gpu-health-monitor" && (e.check_name == "GpuThermalWatch" || e.check_name == "GpuPowerWatch");
           },
       .taint = kube::Taint{"gpu.example.com/soft", "degraded", "PreferNoSchedule", {}},
       .label = {{"gpu.example.com/state", "degraded"}}},
      {.name = "kernel-log-fatal",
       .priority = 50,
       .when = [=](const auto& e, const auto& n) { return e.agent == "syslog-health-monitor" && e.is_fatal && managed(n); },
       .cordon = true},
      {.name = "xid-hard-codes",
       .priority = 60,
       .when =
           [](const auto& e, const auto&) {
             return holds_code(e, {"48", "79", "95"});
           },
       .taint = kube::Taint{"gpu.example.com/xid", "hard", "NoSchedule", {}},
       .cordon = true},
      {.name = "nic-fatal",
       .priority = 40,
       .when = [](const auto& e, const auto&) { return e.agent == "nic-health-monitor" && e.is_fatal; },
       .taint = kube::Taint{"net.example.com/link", "down", "NoExecute", {}},
       .cordon = true},
      {.name = "maintenance",
       .priority = 5,
       .when = [](const auto& e, const auto&) { return e.agent == "csp-health-monitor" && e.is_fatal; },
       .cordon = true},
      {.name = "preflight-fatal",
       .when = [](const auto& e, const auto&) { return e.agent.starts_with("preflight-") && e.is_fatal; },
       .cordon = true},
      {.name = "needs-replacement",
       .priority = 70,
       .when =
           [](const auto& e, const auto& n) {
             return (e.recommended_action == 24 || e.recommended_action == 25) && !e.is_healthy &&
                    n.labels.get("nvidia.com/gpu.present") == "true";
           },
       .label = {{"ops.example.com/replace", "requested"}},
       .cordon = true},
  };
}

HealthEvent example_event(std::string_view name) {
  static const std::string text = read_file(kData + "events.jsonl").value();
  for (const std::string& line : split(text, '\n')) {
    if (line.empty()) continue;
    if (const Json event = parse_json(line).value(); event["name"] == name) return events::read_events(line).value().front();
  }
  NW_CHECK(false, "no such event among the examples");
  return {};
}

Json example_node(std::string_view name) {
  static const Json all = parse_json(read_file(kData + "nodes.json").value()).value();
  for (const Json& node : all["items"]) {
    if (node["metadata"]["name"] == name) return node;
  }
  NW_CHECK(false, "no such node among the examples");
  return {};
}

Json bare_node(std::string_view name) { return {{"metadata", {{"name", name}}}, {"spec", Json::object()}}; }

namespace {

kube::NodeSelection selection_for(const std::vector<Rule>& rules, const Options& options) {
  std::vector<std::string> keys;
  for (const Rule& rule : rules) {
    if (rule.label) keys.push_back(rule.label->first);
  }
  kube::NodeSelection looked_at;
  looked_at.labels.keys = {"nvsentinel.dgxc.nvidia.com/managed", "nvidia.com/gpu.present"};
  return merged(own_selection(options, keys), looked_at);
}

}  // namespace

Scenario::Scenario(const std::vector<Rule>& rules, const Options& options)
    : Scenario(judge_by(rules), options, selection_for(rules, options)) {}

Scenario::Scenario(Judge judge, Options options, kube::NodeSelection selection)
    : judge_(std::move(judge)), options_(std::move(options)), selection_(std::move(selection)) {}

Json& Scenario::add(Json node) {
  const std::string name = node["metadata"]["name"];
  return nodes_.insert_or_assign(name, ServerNode{std::move(node)}).first->second.object;
}

kube::Node Scenario::cached(const ServerNode& node) const {
  Json object = node.object;
  object["metadata"]["resourceVersion"] = std::to_string(node.version);
  return kube::make_node_decoder(selection_)->object(to_text(object)).value();
}

std::string Scenario::send(std::vector<HealthEvent> events) {
  const std::size_t before = judgements_.size();
  std::map<std::string, std::vector<events::Arrived>> by_node;
  for (HealthEvent& event : events) {
    if (!to_act_on(event)) continue;
    auto& waiting = by_node[event.node_name];
    waiting.push_back({0, std::move(event)});
  }
  for (auto& [name, waiting] : by_node) work(name, std::move(waiting));
  std::vector<std::string> statuses;
  for (std::size_t i = before; i < judgements_.size(); ++i) {
    statuses.emplace_back(judgements_[i].status ? to_string(*judgements_[i].status) : "-");
  }
  return fmt::format("{}", fmt::join(statuses, ", "));
}

void Scenario::work(const std::string& name, std::vector<events::Arrived> waiting) {
  ServerNode& node = nodes_.at(name);
  for (std::span<const events::Arrived> rest = waiting; !rest.empty();) {
    const kube::Node seen = cached(node);
    const Plan plan = plan_for(rest, seen, judge_, now_, options_);
    NW_CHECK(!plan.judgements.empty(), "a plan covers at least one event");
    if (const auto body = plan.patch.body(seen)) {
      ++writes_;
      bodies_.push_back(body->json);
      Json patch = parse_json(body->json).value();
      if (body->guarded)
        NW_CHECK(patch["metadata"]["resourceVersion"] == seen.version.str(), "a guard names the version planned on");
      patch["metadata"].erase("resourceVersion");
      node.object.merge_patch(patch);
      ++node.version;
    }
    judgements_.insert(judgements_.end(), plan.judgements.begin(), plan.judgements.end());
    rest = rest.subspan(plan.judgements.size());
  }
}

int Scenario::writes() { return std::exchange(writes_, 0); }
std::vector<Judgement> Scenario::judgements() { return std::exchange(judgements_, {}); }

namespace {

std::optional<std::string> value_at(const Json& node, std::string_view map, std::string_view key) {
  const Json& metadata = node["metadata"];
  if (!metadata.contains(map) || !metadata[std::string(map)].contains(key)) return std::nullopt;
  return metadata[std::string(map)][std::string(key)].get<std::string>();
}

}  // namespace

std::optional<std::string> Scenario::label(std::string_view node, std::string_view key) const {
  return value_at(nodes_.at(std::string(node)).object, "labels", key);
}
std::optional<std::string> Scenario::annotation(std::string_view node, std::string_view key) const {
  return value_at(nodes_.at(std::string(node)).object, "annotations", key);
}
bool Scenario::unschedulable(std::string_view node) const {
  return nodes_.at(std::string(node)).object["spec"].value("unschedulable", false);
}
std::string Scenario::taints(std::string_view node) const {
  std::string text;
  for (const Json& taint : nodes_.at(std::string(node)).object["spec"].value("taints", Json::array())) {
    text += fmt::format("{}{}={}:{}", text.empty() ? "" : ", ", taint.value("key", ""), taint.value("value", ""),
                        taint.value("effect", ""));
  }
  return text;
}
std::vector<HealthEvent> Scenario::tracked(std::string_view node) const {
  const auto text = annotation(node, kEvents);
  return text ? events::read_record(*text).value() : std::vector<HealthEvent>();
}
std::vector<std::string> Scenario::traces(std::string_view node) const {
  std::vector<std::string> found;
  for (const std::string_view key : {kEvents, kAppliedTaints, kAppliedLabels, kIsCordoned, kCordonPreExisting}) {
    if (annotation(node, key)) found.emplace_back(key);
  }
  for (const std::string& key :
       {std::string(kState), options_.label(kCordonBy), options_.label(kCordonReason), options_.label(kCordonTimestamp)}) {
    if (label(node, key)) found.push_back(key);
  }
  return found;
}

}  // namespace nodeward::quarantine::testing
