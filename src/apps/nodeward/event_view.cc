#include "apps/nodeward/event_view.h"

#include <fmt/format.h>
#include <algorithm>
#include <iterator>
#include <span>

#include "base/text.h"

namespace nodeward::apps {
namespace {

enum class Shape { kText, kBool, kNumber, kTexts, kTextMap, kEntities, kTimestamp, kOverrides };

struct Member {
  const char* name;
  Shape shape;
};
constexpr Member kEventMembers[] = {{"version", Shape::kNumber},
                                    {"agent", Shape::kText},
                                    {"componentClass", Shape::kText},
                                    {"checkName", Shape::kText},
                                    {"isFatal", Shape::kBool},
                                    {"isHealthy", Shape::kBool},
                                    {"message", Shape::kText},
                                    {"recommendedAction", Shape::kNumber},
                                    {"errorCode", Shape::kTexts},
                                    {"entitiesImpacted", Shape::kEntities},
                                    {"metadata", Shape::kTextMap},
                                    {"generatedTimestamp", Shape::kTimestamp},
                                    {"nodeName", Shape::kText},
                                    {"quarantineOverrides", Shape::kOverrides},
                                    {"drainOverrides", Shape::kOverrides},
                                    {"processingStrategy", Shape::kNumber},
                                    {"id", Shape::kText},
                                    {"customRecommendedAction", Shape::kText}};
constexpr Member kEntityMembers[] = {{"entityType", Shape::kText}, {"entityValue", Shape::kText}};
constexpr Member kTimestampMembers[] = {{"seconds", Shape::kNumber}, {"nanos", Shape::kNumber}};
constexpr Member kOverrideMembers[] = {{"force", Shape::kBool}, {"skip", Shape::kBool}};

// The member of that name, whatever its case; nullptr when it is missing.
const Json* find_member(const Json& object, std::string_view name) {
  const std::string wanted = lowered(name);
  for (const auto& [key, value] : object.items()) {
    if (lowered(key) == wanted) return &value;
  }
  return nullptr;
}

Json zero_of(Shape shape) {
  switch (shape) {
    case Shape::kText: return "";
    case Shape::kBool: return false;
    case Shape::kNumber: return 0;
    default: return nullptr;
  }
}

Result<Json> view_of(const Json& value, Shape shape, const std::string& where);

Result<Json> view_members(const Json& object, std::span<const Member> members, const std::string& where) {
  if (!object.is_object()) return fail(ErrorCode::kInvalid, fmt::format("{} must be an object", where));
  Json view = Json::object();
  for (const Member& member : members) {
    const Json* const given = find_member(object, member.name);
    if (given == nullptr) {
      view[member.name] = zero_of(member.shape);
      continue;
    }
    NW_TRY_ASSIGN(view[member.name], view_of(*given, member.shape, fmt::format("{}.{}", where, member.name)));
  }
  return view;
}

Result<Json> view_entities(const Json& list, const std::string& where) {
  Json view = Json::array();
  for (std::size_t i = 0; i < list.size(); ++i) {
    NW_TRY_ASSIGN(Json entity, view_members(list[i], kEntityMembers, fmt::format("{}[{}]", where, i)));
    view.push_back(std::move(entity));
  }
  return view;
}

Result<Json> view_of(const Json& value, Shape shape, const std::string& where) {
  if (value.is_null()) return zero_of(shape);
  const auto checked = [&](bool good, const char* wanted) -> Result<Json> {
    if (!good) return fail(ErrorCode::kInvalid, fmt::format("{} must be {}", where, wanted));
    return value;
  };
  const auto all_text = [&] {
    return std::all_of(value.begin(), value.end(), [](const Json& item) { return item.is_string(); });
  };
  switch (shape) {
    case Shape::kText: return checked(value.is_string(), "a string");
    case Shape::kBool: return checked(value.is_boolean(), "true or false");
    case Shape::kNumber: return checked(value.is_number(), "a number");
    case Shape::kTexts: return checked(value.is_array() && all_text(), "a list of strings");
    case Shape::kTextMap: return checked(value.is_object() && all_text(), "an object with strings");
    case Shape::kTimestamp: return view_members(value, kTimestampMembers, where);
    case Shape::kOverrides: return view_members(value, kOverrideMembers, where);
    case Shape::kEntities:
      if (!value.is_array()) return fail(ErrorCode::kInvalid, fmt::format("{} must be a list", where));
      return view_entities(value, where);
  }
  return value;
}

}  // namespace

Result<Json> event_view(const Json& document) {
  if (!document.is_object()) return fail(ErrorCode::kInvalid, "an event must be a JSON object");
  const Json* event = &document;
  for (const char* const wrapping : {"document", "healthevent"}) {
    if (const Json* const inner = find_member(*event, wrapping); inner != nullptr) event = inner;
  }
  // A file of another kind would pass for an event in which nothing is set, and each rule for one that does not match.
  const auto given = [&](const Member& member) { return find_member(*event, member.name) != nullptr; };
  if (event->is_object() && std::none_of(std::begin(kEventMembers) + 1, std::end(kEventMembers), given)) {
    return fail(ErrorCode::kInvalid, "no event: none of its members is there (agent, checkName, nodeName, ...)");
  }
  return view_members(*event, kEventMembers, "event");
}

Result<Json> node_view(Json node) {
  if (!node.is_object() || !node.contains("metadata"))
    return fail(ErrorCode::kInvalid, "a node must be a JSON object with metadata");
  if (const auto kind = node.find("kind"); kind != node.end() && *kind != "Node")
    return fail(ErrorCode::kInvalid,
                fmt::format("kind {} is no Node; give one node, as kubectl get node NAME -o json prints it", kind->dump()));
  node.erase("status");
  return node;
}

}  // namespace nodeward::apps
