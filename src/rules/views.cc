#include "rules/views.h"

#include "base/json.h"
#include "cel/document.h"

namespace nodeward::rules {
namespace {

using cel::Arena;
using cel::Key;
using cel::MapBuilder;
using cel::Value;

template <class List, class MakeValue>
Value list_of(const List& list, Arena& arena, MakeValue&& make_value) {
  const auto items = arena.array<Value>(list.size());
  std::size_t i = 0;
  for (const auto& element : list) items[i++] = make_value(element);
  return Value::list(items);
}

// null where there is nothing.
template <class T, class MakeValue>
Value optional(const std::optional<T>& part, MakeValue&& make_value) {
  return part ? make_value(*part) : Value::null();
}

Value entity_view(const events::Entity& entity, Arena& arena) {
  static const Key kType("entityType"), kValue("entityValue");
  MapBuilder map(arena, 2);
  map.add(kType, Value::string(entity.type));
  map.add(kValue, Value::string(entity.value));
  return map.finish();
}

Value overrides_view(const events::Overrides& overrides, Arena& arena) {
  static const Key kForce("force"), kSkip("skip");
  MapBuilder map(arena, 2);
  map.add(kForce, Value::boolean(overrides.force));
  map.add(kSkip, Value::boolean(overrides.skip));
  return map.finish();
}

Value timestamp_view(const events::Timestamp& time, Arena& arena) {
  static const Key kSeconds("seconds"), kNanos("nanos");
  MapBuilder map(arena, 2);
  map.add(kSeconds, Value::number(static_cast<double>(time.seconds)));
  map.add(kNanos, Value::number(time.nanos));
  return map.finish();
}

Value metadata_view(const std::map<std::string, std::string>& metadata, Arena& arena) {
  MapBuilder map(arena, metadata.size());
  for (const auto& [key, value] : metadata) map.add(Key(key), Value::string(value));
  return map.finish();
}

Value symbols_view(const kube::SymbolMap& symbols, Arena& arena) {
  MapBuilder map(arena, symbols.size());
  for (const auto& [key, value] : symbols) map.add(Key(key.view()), Value::string(value.view()));
  return map.finish();
}

// JSON that came from the API server and was kept as it is.
Value json_view(std::string_view text, Arena& arena) {
  const auto json = parse_json(text);
  if (!json) return Value::error("a member of the node cannot be read");
  const auto value = cel::to_value(*json, cel::Numbers::kWhole, arena);
  return value ? *value : Value::error("a member of the node is nested too deeply");
}

Value taint_view(const kube::Taint& taint, bool whole, Arena& arena) {
  if (whole && !taint.raw.empty()) return json_view(taint.raw, arena);
  static const Key kKey("key"), kValue("value"), kEffect("effect");
  MapBuilder map(arena, 3);
  map.add(kKey, Value::string(taint.key));
  if (!taint.value.empty()) map.add(kValue, Value::string(taint.value));
  map.add(kEffect, Value::string(taint.effect));
  return map.finish();
}

// The members of one section ("metadata." or "spec.") that were kept as JSON.
void add_members(MapBuilder& map, const kube::Node& node, std::string_view section, Arena& arena) {
  for (const auto& [path, json] : node.members) {
    if (path.view().starts_with(section)) map.add(Key(path.view().substr(section.size())), json_view(json.view(), arena));
  }
}

}  // namespace

Value event_view(const events::HealthEvent& event, Arena& arena) {
  static const Key kVersion("version"), kAgent("agent"), kComponentClass("componentClass"), kCheckName("checkName"),
      kIsFatal("isFatal"), kIsHealthy("isHealthy"), kMessage("message"), kRecommendedAction("recommendedAction"),
      kErrorCode("errorCode"), kEntitiesImpacted("entitiesImpacted"), kMetadata("metadata"),
      kGeneratedTimestamp("generatedTimestamp"), kNodeName("nodeName"), kQuarantineOverrides("quarantineOverrides"),
      kDrainOverrides("drainOverrides"), kProcessingStrategy("processingStrategy"), kId("id"),
      kCustomRecommendedAction("customRecommendedAction");
  MapBuilder map(arena, 18);
  map.add(kVersion, Value::number(event.version));
  map.add(kAgent, Value::string(event.agent));
  map.add(kComponentClass, Value::string(event.component_class));
  map.add(kCheckName, Value::string(event.check_name));
  map.add(kIsFatal, Value::boolean(event.is_fatal));
  map.add(kIsHealthy, Value::boolean(event.is_healthy));
  map.add(kMessage, Value::string(event.message));
  map.add(kRecommendedAction, Value::number(event.recommended_action));
  map.add(kErrorCode, optional(event.error_codes, [&](const auto& codes) {
            return list_of(codes, arena, [](const std::string& code) { return Value::string(code); });
          }));
  map.add(kEntitiesImpacted, optional(event.entities, [&](const auto& entities) {
            return list_of(entities, arena, [&](const events::Entity& entity) { return entity_view(entity, arena); });
          }));
  map.add(kMetadata, optional(event.metadata, [&](const auto& metadata) { return metadata_view(metadata, arena); }));
  map.add(kGeneratedTimestamp, optional(event.generated, [&](const auto& time) { return timestamp_view(time, arena); }));
  map.add(kNodeName, Value::string(event.node_name));
  const auto overrides = [&](const events::Overrides& one) { return overrides_view(one, arena); };
  map.add(kQuarantineOverrides, optional(event.quarantine_overrides, overrides));
  map.add(kDrainOverrides, optional(event.drain_overrides, overrides));
  map.add(kProcessingStrategy, Value::number(event.processing_strategy));
  map.add(kId, Value::string(event.id));
  map.add(kCustomRecommendedAction, Value::string(event.custom_recommended_action));
  return map.finish();
}

Value node_view(const kube::Node& node, bool whole_taints, Arena& arena) {
  static const Key kMetadata("metadata"), kSpec("spec"), kName("name"), kVersion("resourceVersion"), kLabels("labels"),
      kAnnotations("annotations"), kUnschedulable("unschedulable"), kTaints("taints");
  MapBuilder metadata(arena, 4 + node.members.size());
  metadata.add(kName, Value::string(node.name.str()));
  metadata.add(kVersion, Value::string(node.version.str()));
  if (node.labelled || !node.labels.empty()) metadata.add(kLabels, symbols_view(node.labels, arena));
  if (node.annotation_bytes > 0 || !node.annotations.empty()) metadata.add(kAnnotations, symbols_view(node.annotations, arena));
  add_members(metadata, node, "metadata.", arena);

  MapBuilder spec(arena, 2 + node.members.size());
  if (node.unschedulable) spec.add(kUnschedulable, Value::boolean(true));
  if (!node.taints.empty()) {
    spec.add(kTaints,
             list_of(node.taints, arena, [&](const kube::Taint& taint) { return taint_view(taint, whole_taints, arena); }));
  }
  add_members(spec, node, "spec.", arena);

  MapBuilder map(arena, 2);
  map.add(kMetadata, metadata.finish());
  map.add(kSpec, spec.finish());
  return map.finish();
}

}  // namespace nodeward::rules
