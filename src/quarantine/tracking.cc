#include "quarantine/tracking.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
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

bool same_check(const HealthEvent& a, const HealthEvent& b) {
  return a.agent == b.agent && a.component_class == b.component_class && a.check_name == b.check_name &&
         a.node_name == b.node_name && a.version == b.version;
}

template <class T>
std::set<T> set_of(const std::vector<T>& list) {
  return {list.begin(), list.end()};
}

// Which entities and which codes; the keys meant are all their pairs. nullopt: every one. Sets, because a line of 1 MiB holds tens of
// thousands of either.
struct Area {
  std::optional<std::set<Entity>> entities;
  std::optional<std::set<std::string>> codes;
  bool has(const Entity& entity) const { return !entities || entities->contains(entity); }
  bool has(const std::string& code) const { return !codes || codes->contains(code); }
};

Area keys_of(const HealthEvent& failure) { return {set_of(entities_of(failure)), set_of(codes_of(failure))}; }

Area cleared_by(const HealthEvent& recovery) {
  Area area;
  if (recovery.entities && !recovery.entities->empty()) area.entities = set_of(*recovery.entities);
  if (recovery.error_codes && !recovery.error_codes->empty()) area.codes = set_of(*recovery.error_codes);
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

// Never by way of all pairs: a thousand entities with a thousand codes are a million. Entities that the same events hold need the
// same codes of them.
bool covers(const Tracked& tracked, const HealthEvent& failure) {
  std::map<Entity, std::vector<std::size_t>> holders;  // events of the same check, in order
  for (std::size_t i = 0; i < tracked.size(); ++i) {
    if (!same_check(tracked[i], failure)) continue;
    for (const Entity& entity : set_of(entities_of(tracked[i]))) holders[entity].push_back(i);
  }
  std::set<std::vector<std::size_t>> groups;
  for (const Entity& entity : set_of(entities_of(failure))) {
    const auto place = holders.find(entity);
    if (place == holders.end()) return false;
    groups.insert(place->second);
  }
  const std::set<std::string> wanted = set_of(codes_of(failure));
  return std::all_of(groups.begin(), groups.end(), [&](const std::vector<std::size_t>& group) {
    std::set<std::string> codes;
    for (const std::size_t i : group) codes.merge(set_of(codes_of(tracked[i])));
    return std::includes(codes.begin(), codes.end(), wanted.begin(), wanted.end());
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
