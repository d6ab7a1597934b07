#include <fmt/format.h>

#include <limits>
#include <span>
#include <utility>

#include "base/json.h"
#include "base/text.h"
#include "events/event_json.h"
#include "events/time_text.h"

namespace nodeward::events {
namespace {

struct EnumName {
  std::string_view name;
  int number;
};
constexpr EnumName kActions[] = {{"NONE", 0},        {"COMPONENT_RESET", 2}, {"CONTACT_SUPPORT", 5}, {"RUN_FIELDDIAG", 6},
                                 {"RESTART_VM", 15}, {"RESTART_BM", 24},     {"REPLACE_VM", 25},     {"RUN_DCGMEUD", 26},
                                 {"CUSTOM", 27},     {"UNKNOWN", 99}};
constexpr EnumName kStrategies[] = {{"UNSPECIFIED", kStrategyUnspecified},
                                    {"EXECUTE_REMEDIATION", kExecuteRemediation},
                                    {"STORE_ONLY", kStoreOnly},
                                    {"STORE_AND_ANALYSE", kStoreAndAnalyse}};

std::string kind_of(const Json& value) {
  if (value.is_string()) return "text";
  if (value.is_number()) return value.dump();
  if (value.is_boolean()) return "true or false";
  if (value.is_array()) return "a list";
  return value.is_null() ? "null" : "an object";
}

std::string without_nul(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    if (c == '\0') {
      out += "\xef\xbf\xbd";
    } else {
      out += c;
    }
  }
  return out;
}

// The member `name`, whatever the case of its letters (the exact spelling goes first); nullptr where it is absent or null.
const Json* find(const Json& object, std::string_view name) {
  if (!object.is_object()) return nullptr;
  auto found = object.find(name);
  for (auto at = object.begin(); found == object.end() && at != object.end(); ++at) {
    if (at.key().size() == name.size() && lowered(at.key()) == lowered(name)) found = at;
  }
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

// Takes members out of one object into a record. Absent and null leave the record as it is. The first that is not as it should
// be becomes the problem, and the object is given up then.
class Members {
 public:
  Members(const Json& object, std::string path, std::string& problem)
      : object_(object), path_(std::move(path)), problem_(problem) {
    if (!object.is_object()) wrong(path_, "an object", object);
  }

  void read(std::string_view name, std::string& to) {
    if (const Json* value = member(name)) to = text(*value, path_of(name));
  }
  void read(std::string_view name, bool& to) {
    const Json* value = member(name);
    if (value == nullptr) return;
    if (!value->is_boolean()) return wrong(path_of(name), "true or false", *value);
    to = value->get<bool>();
  }
  // Also as text, which is how proto JSON writes 64-bit numbers.
  template <class Int>
  void read_number(std::string_view name, Int least, Int most, Int& to) {
    const Json* value = member(name);
    if (value == nullptr) return;
    const auto number = whole_number(*value);
    if (!number || *number < std::int64_t{least} || *number > std::int64_t{most}) {
      return wrong(path_of(name), fmt::format("a whole number from {} to {}", least, most), *value);
    }
    to = static_cast<Int>(*number);
  }
  void read_enum(std::string_view name, std::span<const EnumName> names, int& to) {
    const Json* value = member(name);
    if (value == nullptr) return;
    if (!value->is_string()) return read_number(name, std::numeric_limits<int>::min(), std::numeric_limits<int>::max(), to);
    const auto& word = value->get_ref<const std::string&>();
    std::string known;
    for (const EnumName& one : names) {
      if (one.name == word) {
        to = one.number;
        return;
      }
      known += fmt::format("{}{}", known.empty() ? "" : ", ", one.name);
    }
    problem_ = fmt::format("{}: unknown name; known are {}, or a number", path_of(name), known);
  }
  void read(std::string_view name, std::optional<std::vector<std::string>>& to) {
    each(name, to, [&](const Json& element, const std::string& path) { return text(element, path); });
  }
  void read(std::string_view name, std::optional<std::vector<Entity>>& to) {
    each(name, to, [&](const Json& element, const std::string& path) {
      Entity entity;
      Members in(element, path, problem_);
      in.read("entityType", entity.type);
      in.read("entityValue", entity.value);
      return entity;
    });
  }
  void read(std::string_view name, std::optional<std::map<std::string, std::string>>& to) {
    const Json* value = member(name);
    if (value == nullptr) return;
    if (!value->is_object()) return wrong(path_of(name), "an object", *value);
    to.emplace();
    for (const auto& [key, element] : value->items())
      (*to)[without_nul(key)] = text(element, fmt::format("{}.{}", path_of(name), shortened(key, 60)));
  }
  void read(std::string_view name, std::optional<Overrides>& to) {
    const Json* value = member(name);
    if (value == nullptr) return;
    Members in(*value, path_of(name), problem_);
    in.read("force", to.emplace().force);
    in.read("skip", to->skip);
  }
  void read(std::string_view name, std::optional<Timestamp>& to) {
    const Json* value = member(name);
    if (value == nullptr) return;
    if (value->is_string()) {
      to = parse_rfc3339(value->get_ref<const std::string&>());
      if (!to) problem_ = fmt::format("{}: no time; write it as 2026-09-01T08:30:00Z", path_of(name));
      return;
    }
    if (!value->is_object()) return wrong(path_of(name), "{\"seconds\", \"nanos\"} or a time as text", *value);
    Members in(*value, path_of(name), problem_);
    using Limits = std::numeric_limits<std::int64_t>;
    in.read_number("seconds", Limits::min(), Limits::max(), to.emplace().seconds);
    in.read_number("nanos", std::int32_t{0}, std::int32_t{999'999'999}, to->nanos);
  }

 private:
  const Json* member(std::string_view name) const { return problem_.empty() ? find(object_, name) : nullptr; }
  std::string path_of(std::string_view name) const {
    return path_.empty() ? std::string(name) : fmt::format("{}.{}", path_, name);
  }
  void wrong(std::string_view path, std::string_view wanted, const Json& value) {
    if (problem_.empty()) problem_ = fmt::format("{}: must be {}, not {}", path, wanted, kind_of(value));
  }
  std::string text(const Json& value, std::string_view path) {
    if (value.is_null()) return {};
    if (value.is_string()) return without_nul(value.get_ref<const std::string&>());
    wrong(path, "text", value);
    return {};
  }
  static std::optional<std::int64_t> whole_number(const Json& value) {
    if (value.is_string()) return parse_int(value.get_ref<const std::string&>());
    if (value.is_number_unsigned() && value.get<std::uint64_t>() > std::uint64_t{std::numeric_limits<std::int64_t>::max()})
      return std::nullopt;
    if (value.is_number_integer()) return value.get<std::int64_t>();
    if (!value.is_number_float()) return std::nullopt;
    const double number = value.get<double>();
    constexpr double kExact = 9007199254740992.0;   // 2^53: above it a double no longer tells whole numbers apart
    if (!(number >= -kExact && number <= kExact) || number != static_cast<double>(static_cast<std::int64_t>(number)))
      return std::nullopt;
    return static_cast<std::int64_t>(number);
  }
  template <class T, class Read>
  void each(std::string_view name, std::optional<std::vector<T>>& to, Read&& read) {
    const Json* value = member(name);
    if (value == nullptr) return;
    if (!value->is_array()) return wrong(path_of(name), "a list", *value);
    to.emplace();
    for (std::size_t i = 0; i < value->size(); ++i) to->push_back(read((*value)[i], fmt::format("{}[{}]", path_of(name), i)));
  }

  const Json& object_;
  const std::string path_;
  std::string& problem_;
};

Result<HealthEvent> read_event(const Json& json, const std::string& path) {
  HealthEvent event;
  std::string problem;
  Members in(json, path, problem);
  in.read_number("version", std::uint32_t{0}, std::numeric_limits<std::uint32_t>::max(), event.version);
  in.read("agent", event.agent);
  in.read("componentClass", event.component_class);
  in.read("checkName", event.check_name);
  in.read("isFatal", event.is_fatal);
  in.read("isHealthy", event.is_healthy);
  in.read("message", event.message);
  in.read_enum("recommendedAction", kActions, event.recommended_action);
  in.read("errorCode", event.error_codes);
  in.read("entitiesImpacted", event.entities);
  in.read("metadata", event.metadata);
  in.read("generatedTimestamp", event.generated);
  in.read("nodeName", event.node_name);
  in.read("quarantineOverrides", event.quarantine_overrides);
  in.read("drainOverrides", event.drain_overrides);
  in.read_enum("processingStrategy", kStrategies, event.processing_strategy);
  in.read("id", event.id);
  in.read("customRecommendedAction", event.custom_recommended_action);
  if (!problem.empty()) return fail(ErrorCode::kInvalid, std::move(problem));
  return event;
}

Result<HealthEvent> read_named_event(const Json& json, const std::string& path) {
  NW_TRY_ASSIGN(HealthEvent event, read_event(json, path));
  if (event.node_name.empty()) {
    return fail(ErrorCode::kInvalid,
                fmt::format("{}nodeName: missing or empty; an event must name its node", path.empty() ? "" : path + "."));
  }
  return event;
}

Result<HealthEvent> read_stored(const Json& json) {
  std::string record_id;
  std::string problem;
  Members(json, "", problem).read("recordId", record_id);
  if (!problem.empty()) return fail(ErrorCode::kInvalid, std::move(problem));
  const Json* const document = find(json, "document");
  const Json* const event = document != nullptr ? find(*document, "healthevent") : nullptr;
  if (event == nullptr) return fail(ErrorCode::kInvalid, "document.healthevent: missing; there is no event in this record");
  NW_TRY_ASSIGN(HealthEvent one, read_named_event(*event, "document.healthevent"));
  if (!record_id.empty()) one.id = std::move(record_id);
  return one;
}

Result<std::vector<HealthEvent>> alone(Result<HealthEvent> event) {
  NW_TRY_ASSIGN(HealthEvent one, std::move(event));
  std::vector<HealthEvent> events;
  events.push_back(std::move(one));
  return events;
}

Result<std::vector<HealthEvent>> read_list(const Json& list, std::string_view path,
                                           Result<HealthEvent> (*read)(const Json&, const std::string&)) {
  if (!list.is_array()) {
    return fail(ErrorCode::kInvalid,
                fmt::format("{}{}must be a list of events, not {}", path, path.empty() ? "" : ": ", kind_of(list)));
  }
  std::vector<HealthEvent> events;
  events.reserve(list.size());
  for (std::size_t i = 0; i < list.size(); ++i) {
    NW_TRY_ASSIGN(HealthEvent one, read(list[i], fmt::format("{}[{}]", path, i)));
    events.push_back(std::move(one));
  }
  return events;
}

// Json::parse accepts any depth and what is skipped is never walked, so a deeply nested line costs its length only.
Result<Json> parse(std::string_view text) {
  try {
    return Json::parse(text);
  } catch (const Json::parse_error& error) {
    const std::string_view what = error.what();
    const bool utf8 = what.find("UTF-8") != std::string_view::npos;
    return fail(ErrorCode::kInvalid, fmt::format("{} at byte {}", utf8 ? "not UTF-8" : "not JSON", error.byte));
  } catch (const Json::exception&) {   // out_of_range, which is no parse_error
    return fail(ErrorCode::kInvalid, "not JSON that can be kept: a number is too large");
  }
}

}  // namespace

Result<std::vector<HealthEvent>> read_events(std::string_view text) {
  NW_TRY_ASSIGN(const Json json, parse(text));
  if (!json.is_object()) return fail(ErrorCode::kInvalid, fmt::format("must be a JSON object, not {}", kind_of(json)));
  if (find(json, "document") != nullptr || find(json, "recordId") != nullptr) return alone(read_stored(json));
  if (const Json* const list = find(json, "events")) return read_list(*list, "events", read_named_event);
  const Json* const event = find(json, "healthevent");
  return alone(event != nullptr ? read_named_event(*event, "healthevent") : read_named_event(json, ""));
}

Result<std::vector<HealthEvent>> read_record(std::string_view text) {
  NW_TRY_ASSIGN(const Json json, parse(text));
  return json.is_object() ? alone(read_named_event(json, "")) : read_list(json, "", read_named_event);
}

}  // namespace nodeward::events
