#include "quarantine/tracking.h"

#include <algorithm>
#include <functional>
#include <string>

namespace nodeward::quarantine {

using events::Entity;
using events::HealthEvent;

namespace {

std::vector<Entity> entities_of(const HealthEvent& event) {
  return event.entities && !event.entities->empty() ? *event.entities : std::vector<Entity>(1);
}
std::vector<std::string> codes_of(const HealthEvent& event) {
  return event.error_codes && !event.error_codes->empty() ? *event.error_codes : std::vector<std::string>(1);
}

template <class T>
bool holds(const std::vector<T>& list, const T& wanted) {
  return std::find(list.begin(), list.end(), wanted) != list.end();
}

bool same_check(const HealthEvent& a, const HealthEvent& b) {
  return a.agent == b.agent && a.component_class == b.component_class && a.check_name == b.check_name &&
         a.node_name == b.node_name && a.version == b.version;
}

// Which entities and which codes; the keys meant are all their pairs. nullopt: every one.
struct Area {
  std::optional<std::vector<Entity>> entities;
  std::optional<std::vector<std::string>> codes;
  bool has(const Entity& entity) const { return !entities || holds(*entities, entity); }
  bool has(const std::string& code) const { return !codes || holds(*codes, code); }
};

Area keys_of(const HealthEvent& failure) { return {entities_of(failure), codes_of(failure)}; }

Area cleared_by(const HealthEvent& recovery) {
  Area area;
  if (recovery.entities && !recovery.entities->empty()) area.entities = recovery.entities;
  if (recovery.error_codes && !recovery.error_codes->empty()) area.codes = recovery.error_codes;
  return area;
}

bool touches(const HealthEvent& event, const Area& area) {
  const auto inside = [&](const auto& part) { return area.has(part); };
  const auto entities = entities_of(event);
  const auto codes = codes_of(event);
  return std::any_of(entities.begin(), entities.end(), inside) && std::any_of(codes.begin(), codes.end(), inside);
}

// What is left of an event's keys: of the entities outside of the area every code, of those inside the codes outside.
std::vector<HealthEvent> without(const HealthEvent& event, const Area& area) {
  if (!touches(event, area)) return {event};
  auto entities = entities_of(event);
  auto codes = codes_of(event);
  const auto inside = [&](const auto& part) { return area.has(part); };
  const auto outside_entities = std::stable_partition(entities.begin(), entities.end(), inside);
  codes.erase(std::remove_if(codes.begin(), codes.end(), inside), codes.end());
  std::vector<HealthEvent> rest;
  if (outside_entities != entities.end())
    rest.emplace_back(event).entities = std::vector<Entity>(outside_entities, entities.end());
  if (!codes.empty()) {
    HealthEvent& copy = rest.emplace_back(event);
    if (outside_entities != entities.end()) copy.entities = std::vector<Entity>(entities.begin(), outside_entities);
    copy.error_codes = std::move(codes);
  }
  return rest;
}

void cut(Tracked& tracked, const Area& area, const std::function<bool(const HealthEvent&)>& from) {
  Tracked left;
  for (HealthEvent& event : tracked) {
    if (!from(event)) {
      left.push_back(std::move(event));
    } else {
      for (HealthEvent& rest : without(event, area)) left.push_back(std::move(rest));
    }
  }
  tracked = std::move(left);
}

bool covers(const Tracked& tracked, const HealthEvent& failure) {
  const auto covered = [&](const Entity& entity, const std::string& code) {
    return std::any_of(tracked.begin(), tracked.end(), [&](const HealthEvent& event) {
      return same_check(event, failure) && holds(entities_of(event), entity) && holds(codes_of(event), code);
    });
  };
  const auto entities = entities_of(failure);
  const auto codes = codes_of(failure);
  return std::all_of(entities.begin(), entities.end(), [&](const Entity& entity) {
    return std::all_of(codes.begin(), codes.end(), [&](const std::string& code) { return covered(entity, code); });
  });
}

}  // namespace

bool add(Tracked& tracked, const HealthEvent& failure) {
  cut(tracked, keys_of(failure), [&](const HealthEvent& event) {
    return same_check(event, failure) && event.recommended_action != failure.recommended_action;
  });
  if (covers(tracked, failure)) return false;
  tracked.push_back(failure);
  return true;
}

bool concerns(const Tracked& tracked, const HealthEvent& recovery) {
  const Area area = cleared_by(recovery);
  return std::any_of(tracked.begin(), tracked.end(), [&](const HealthEvent& event) {
    return same_check(event, recovery) && (!area.entities || touches(event, area));
  });
}

void clear(Tracked& tracked, const HealthEvent& recovery) {
  cut(tracked, cleared_by(recovery), [&](const HealthEvent& event) { return same_check(event, recovery); });
}

}  // namespace nodeward::quarantine
