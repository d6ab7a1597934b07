// A health event as every source gives it and every rule sees it (FQ spec, section 4). A plain value.
// Enums are kept as numbers: values unknown to us must pass through.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace nodeward::events {

struct Entity {
  std::string type;
  std::string value;
  friend auto operator<=>(const Entity&, const Entity&) = default;
};

struct Overrides {
  bool force = false;
  bool skip = false;
  friend bool operator==(const Overrides&, const Overrides&) = default;
};

struct Timestamp {
  std::int64_t seconds = 0;
  std::int32_t nanos = 0;
  friend bool operator==(const Timestamp&, const Timestamp&) = default;
};

enum ProcessingStrategy : int { kStrategyUnspecified = 0, kExecuteRemediation = 1, kStoreOnly = 2, kStoreAndAnalyse = 3 };

struct HealthEvent {
  std::uint32_t version = 0;
  std::string agent;
  std::string component_class;
  std::string check_name;
  bool is_fatal = false;
  bool is_healthy = false;
  std::string message;
  int recommended_action = 0;
  // nullopt: the member is absent (null to a rule); an empty list is something else to a rule.
  std::optional<std::vector<std::string>> error_codes;
  std::optional<std::vector<Entity>> entities;
  std::optional<std::map<std::string, std::string>> metadata;
  std::optional<Timestamp> generated;
  std::string node_name;
  std::optional<Overrides> quarantine_overrides;
  std::optional<Overrides> drain_overrides;
  int processing_strategy = 0;
  std::string id;                        // of the row or line; set before anything looks at the event
  std::string custom_recommended_action;

  friend bool operator==(const HealthEvent&, const HealthEvent&) = default;
};

}  // namespace nodeward::events
