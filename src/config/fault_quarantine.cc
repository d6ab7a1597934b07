#include "config/fault_quarantine.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "base/go_duration.h"
#include "base/text.h"
#include "config/checks.h"
#include "config/toml_file.h"

namespace nodeward::config {
namespace {

constexpr std::string_view kWhatAKeyIs =
    "is no label key; it is [prefix.dns/]name, the name of at most 63 letters, digits, '-', '_' or '.'";
constexpr std::string_view kWhatAValueIs =
    "is no label value; use at most 63 letters, digits, '-', '_' or '.', a letter or digit first and last";

// What is known of a rule set only while reading: where its parts stand.
struct SetPlaces {
  Place name;
  Place taint;
  std::vector<Place> any;   // of the expressions, as conditions in RuleSet
  std::vector<Place> all;
};

class RuleSetReader {
 public:
  RuleSetReader(const toml::table& table, std::size_t index, Findings& findings)
      : findings_(findings), path_(path(table, index)), in_(table, path_, findings) {}

  rules::RuleSet read(SetPlaces& places) {
    set_.enabled = in_.flag("enabled").value_or(false);
    set_.version = in_.text("version").value_or("");
    set_.name = in_.text("name").value_or("");
    places.name = in_.place("name");
    read_priority();
    if (const auto* match = in_.table("match")) read_match(*match, places);
    if (const auto* taint = in_.table("taint")) read_taint(*taint, places);
    if (const auto* label = in_.table("label")) read_label(*label);
    if (const auto* cordon = in_.table("cordon")) {
      TableReader in(*cordon, path_ + "cordon.", findings_);
      set_.cordon = in.flag("shouldCordon").value_or(false);
      in.warn_of_unknown();
    }
    in_.warn_of_unknown();
    if (!matchable_) error(in_, "", "never matches; it needs at least one [[rule-sets.match.any]] or [[rule-sets.match.all]]");
    return std::move(set_);
  }

 private:
  // Before anything else is read, so that every message can name the set.
  static std::string path(const toml::table& table, std::size_t index) {
    Findings ignored;
    const std::string name = TableReader(table, "", ignored).text("name").value_or("");
    return name.empty() ? fmt::format("rule set {}: ", index + 1) : fmt::format("rule set \"{}\": ", name);
  }
  // What a disabled set asks for is nobody's concern.
  void error(TableReader& in, std::string_view name, std::string message) {
    if (set_.enabled) in.error(name, std::move(message));
  }

  void read_priority() {
    const auto priority = in_.whole_number("priority").value_or(0);
    if (priority < 0 || priority > std::numeric_limits<int>::max()) {
      error(in_, "priority", fmt::format("{} is out of range; it is 0 or more", priority));
    } else {
      set_.priority = static_cast<int>(priority);
    }
  }

  void read_match(const toml::table& table, SetPlaces& places) {
    TableReader in(table, path_ + "match.", findings_);
    const auto read_list = [&](std::string_view name, std::vector<rules::Condition>& to, std::vector<Place>& places_to) {
      in.each_table(name, [&](const toml::table& condition, std::size_t i) {
        matchable_ = true;
        read_condition(condition, fmt::format("{}match.{}[{}].", path_, name, i), to, places_to);
      });
    };
    read_list("any", set_.any, places.any);
    read_list("all", set_.all, places.all);
    in.warn_of_unknown();
  }

  void read_condition(const toml::table& table, std::string path, std::vector<rules::Condition>& to, std::vector<Place>& places) {
    TableReader in(table, std::move(path), findings_);
    const std::string kind = in.text("kind").value_or("");
    std::string expression = in.text("expression").value_or("");
    in.warn_of_unknown();
    if (kind != "HealthEvent" && kind != "Node") {
      error(in, "kind",
            kind.empty() ? "missing; it is HealthEvent or Node"
                         : fmt::format("unknown kind \"{}\"; it is HealthEvent or Node", kind));
    } else if (trimmed(expression).empty()) {
      error(in, "expression", "missing or empty; it is a CEL expression that yields true or false");
    } else {
      to.push_back({kind == "Node" ? rules::ConditionKind::kNode : rules::ConditionKind::kHealthEvent, std::move(expression)});
      places.push_back(in.place("expression"));
    }
  }

  void read_taint(const toml::table& table, SetPlaces& places) {
    TableReader in(table, path_ + "taint.", findings_);
    kube::Taint taint;
    taint.key = in.text("key").value_or("");
    taint.value = in.text("value").value_or("");
    taint.effect = in.text("effect").value_or("");
    in.warn_of_unknown();
    if (taint.key.empty()) return;
    check_key_and_value(in, taint.key, taint.value);
    if (!is_taint_effect(taint.effect)) {
      error(in, "effect",
            fmt::format("\"{}\" is no taint effect; it is NoSchedule, PreferNoSchedule or NoExecute", taint.effect));
    }
    places.taint = place_of(table);
    set_.taint = std::move(taint);
  }

  void read_label(const toml::table& table) {
    TableReader in(table, path_ + "label.", findings_);
    rules::LabelAction label;
    label.key = in.text("key").value_or("");
    label.value = in.text("value").value_or("");
    in.warn_of_unknown();
    if (label.key.empty()) return;
    check_key_and_value(in, label.key, label.value);
    set_.label = std::move(label);
  }

  void check_key_and_value(TableReader& in, const std::string& key, const std::string& value) {
    if (!is_label_key(key)) error(in, "key", fmt::format("\"{}\" {}", key, kWhatAKeyIs));
    if (!is_label_value(value)) error(in, "value", fmt::format("\"{}\" {}", value, kWhatAValueIs));
  }

  Findings& findings_;
  const std::string path_;
  TableReader in_;
  rules::RuleSet set_;
  bool matchable_ = false;
};

int read_bound(TableReader& in, Severity severity, std::string_view name, int most, std::string_view range) {
  const auto value = in.whole_number(name).value_or(0);
  if (value >= 0 && value <= most) return static_cast<int>(value);
  in.add(severity, name, fmt::format("{} is out of range; it is {}", value, range));
  return 0;
}

Breaker read_breaker(const toml::table& table, Severity severity, Findings& findings) {
  TableReader in(table, "circuitBreaker.", findings);
  Breaker breaker;
  const std::size_t before = findings.size();
  breaker.percentage = read_bound(in, severity, "percentage", 100, "1 to 100, or 0 with maxNodes or maxCordonedNodes");
  breaker.max_nodes = read_bound(in, severity, "maxNodes", std::numeric_limits<int>::max(), "a number of nodes, 0 for no bound");
  breaker.max_cordoned_nodes = read_bound(in, severity, "maxCordonedNodes", std::numeric_limits<int>::max(),
                                          "a number of nodes, 0 for no bound");
  const bool unbounded = breaker.percentage == 0 && breaker.max_nodes == 0 && breaker.max_cordoned_nodes == 0;
  if (unbounded && findings.size() == before) {
    in.add(severity, "percentage", "no bound is given; set percentage (1 to 100), maxNodes or maxCordonedNodes");
  }
  const std::string duration = in.text("duration").value_or("");
  breaker.duration = parse_go_duration(duration).value_or(Duration{});
  if (breaker.duration <= Duration{}) {
    in.add(severity, "duration", fmt::format("invalid circuit breaker duration \"{}\"; write it as 300s, 5m or 1h30m", duration));
  }
  in.warn_of_unknown();
  return breaker;
}

void check_label_prefix(TableReader& in, const std::string& prefix) {
  for (const std::string_view suffix : {"cordon-timestamp", "uncordon-timestamp"}) {   // the longest
    if (is_label_key(prefix + std::string(suffix))) continue;
    in.error("label-prefix", fmt::format("\"{}{}\" {}", prefix, suffix, kWhatAKeyIs));
    return;
  }
}

// Names are what metrics and reasons tell sets apart by.
void check_names(const std::vector<rules::RuleSet>& sets, const std::vector<SetPlaces>& places, Findings& findings) {
  std::map<std::string, std::size_t> first;
  for (std::size_t i = 0; i < sets.size(); ++i) {
    if (!sets[i].enabled) continue;
    const auto [found, is_new] = first.try_emplace(sets[i].name, i);
    if (is_new) continue;
    findings.push_back(
        {Severity::kError, places[i].name,
         fmt::format("rule set \"{}\": name: taken by the rule set in line {}", sets[i].name, places[found->second].name.line)});
  }
}

// One warning per set, however many others it differs from: a thousand sets are a thousand lines, not half a million.
void check_taints(const std::vector<rules::RuleSet>& sets, const std::vector<SetPlaces>& places, Findings& findings) {
  for (std::size_t i = 0; i < sets.size(); ++i) {
    if (!sets[i].enabled || !sets[i].taint) continue;
    std::vector<const std::string*> others;
    for (std::size_t j = 0; j < i; ++j) {
      if (sets[j].enabled && sets[j].taint && sets[j].taint->same_identity(*sets[i].taint) &&
          sets[j].taint->value != sets[i].taint->value)
        others.push_back(&sets[j].name);
    }
    if (others.empty()) continue;
    const std::string more = others.size() > 1 ? fmt::format(" and {} more", others.size() - 1) : "";
    findings.push_back(
        {Severity::kWarning, places[i].taint,
         fmt::format("rule set \"{}\": taint: same key and effect as in rule set \"{}\"{}, another value; where both "
                     "match, the higher priority wins, then the earlier in the file",
                     sets[i].name, *others.front(), more)});
  }
}

void compile_rules(FaultQuarantine& config, const std::vector<SetPlaces>& places) {
  rules::Compiled compiled = rules::compile(config.rule_sets);
  for (const rules::Problem& problem : compiled.problems) {
    const SetPlaces& of_set = places[problem.rule_set];
    const Place begin = (problem.in_any ? of_set.any : of_set.all)[problem.condition];
    const Place place = place_in_string(config.text, begin, {problem.line, problem.column});
    config.findings.push_back(
        {Severity::kError, place,
         fmt::format("rule set \"{}\": match.{}[{}].expression: {}", config.rule_sets[problem.rule_set].name,
                     problem.in_any ? "any" : "all", problem.condition, problem.message)});
  }
  config.book = std::move(compiled.book);
}

}  // namespace

FaultQuarantine read_fault_quarantine(std::string text, const LoadOptions& options) {
  FaultQuarantine config;
  config.text = std::move(text);
  Findings& findings = config.findings;
  const auto table = parse_toml(config.text, findings);
  if (!table) return config;

  TableReader in(*table, "", findings);
  config.label_prefix = in.text("label-prefix").value_or("");
  check_label_prefix(in, config.label_prefix);
  if (const auto* breaker = in.table("circuitBreaker")) {
    config.breaker = read_breaker(*breaker, options.breaker_enabled ? Severity::kError : Severity::kWarning, findings);
  } else if (options.breaker_enabled) {
    in.error("circuitBreaker",
             "missing; give percentage and duration, or switch the breaker off with --circuit-breaker-enabled=false");
  }
  std::vector<SetPlaces> places;
  in.each_table("rule-sets", [&](const toml::table& rule_set, std::size_t i) {
    config.rule_sets.push_back(RuleSetReader(rule_set, i, findings).read(places.emplace_back()));
  });
  in.warn_of_unknown();

  check_names(config.rule_sets, places, findings);
  check_taints(config.rule_sets, places, findings);
  compile_rules(config, places);
  if (config.book.names().empty() && config.good()) {
    findings.push_back({Severity::kWarning, {}, "no rule set is enabled: no node will ever be quarantined"});
  }
  std::stable_sort(findings.begin(), findings.end(), [](const Finding& a, const Finding& b) { return a.place < b.place; });
  return config;
}

Result<FaultQuarantine> load_fault_quarantine(const std::filesystem::path& file, const LoadOptions& options) {
  NW_TRY_ASSIGN(std::string text, read_file(file));
  return read_fault_quarantine(std::move(text), options);
}

}  // namespace nodeward::config
