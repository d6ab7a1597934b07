#include "quarantine/record.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <tuple>

#include "base/json.h"
#include "base/text.h"
#include "events/event_json.h"
#include "quarantine/keys.h"

namespace nodeward::quarantine {
namespace {

// Older writers left capitalised members.
const Json* member(const Json& object, std::string_view name) {
  for (const auto& [key, value] : object.items()) {
    if (lowered(key) == name) return &value;
  }
  return nullptr;
}

Result<std::string> text_member(const Json& object, std::string_view name) {
  const Json* value = member(object, name);
  if (value == nullptr || value->is_null()) return std::string();
  if (!value->is_string()) return fail(ErrorCode::kInvalid, fmt::format("{} is no string", name));
  return value->get<std::string>();
}

Result<int> number_member(const Json& object, std::string_view name) {
  const Json* value = member(object, name);
  if (value == nullptr || value->is_null()) return 0;
  if (!value->is_number_integer()) return fail(ErrorCode::kInvalid, fmt::format("{} is no whole number", name));
  constexpr auto kMost = std::uint64_t{std::numeric_limits<int>::max()};
  const bool fits = value->is_number_unsigned() ? value->get<std::uint64_t>() <= kMost
                                                : value->get<std::int64_t>() >= std::numeric_limits<int>::min();
  if (!fits) return fail(ErrorCode::kInvalid, fmt::format("{} is out of range", name));
  return value->get<int>();
}

Result<AppliedTaint> applied_taint(const Json& object) {
  AppliedTaint taint;
  NW_TRY_ASSIGN(taint.key, text_member(object, "key"));
  NW_TRY_ASSIGN(taint.value, text_member(object, "value"));
  NW_TRY_ASSIGN(taint.effect, text_member(object, "effect"));
  if (const Json* before = member(object, "preexisting"); before != nullptr && !before->is_null()) {
    if (!before->is_boolean()) return fail(ErrorCode::kInvalid, "preExisting is neither true nor false");
    taint.pre_existing = before->get<bool>();
  }
  return taint;
}

Result<rules::RuleLabel> applied_label(const Json& object) {
  rules::RuleLabel label;
  NW_TRY_ASSIGN(label.key, text_member(object, "key"));
  NW_TRY_ASSIGN(label.value, text_member(object, "value"));
  NW_TRY_ASSIGN(label.priority, number_member(object, "priority"));
  NW_TRY_ASSIGN(label.order, number_member(object, "order"));
  return label;
}

template <class T>
Result<std::vector<T>> read_list(std::string_view text, Result<T> (*read)(const Json&)) {
  NW_TRY_ASSIGN(const Json list, parse_json(text));
  std::vector<T> entries;
  if (list.is_null()) return entries;
  if (!list.is_array()) return fail(ErrorCode::kInvalid, "no JSON array");
  for (const Json& object : list) {
    if (!object.is_object()) return fail(ErrorCode::kInvalid, "an entry is no JSON object");
    NW_TRY_ASSIGN(T entry, read(object));
    entries.push_back(std::move(entry));
  }
  return entries;
}

bool is_empty(std::string_view text) {
  const std::string_view rest = trimmed(text);
  return rest.empty() || rest == "[]" || rest == "null";
}

}  // namespace

ReadRecord read_record(const kube::Node& node) {
  ReadRecord read;
  Record& record = read.record;
  const auto take = [&](std::string_view key, auto& into, const auto& reader) {
    const std::string_view text = node.annotations.get(key).value_or("");
    if (is_empty(text)) return;
    read.present = true;
    if (auto value = reader(text))
      into = std::move(*value);
    else
      read.unreadable.push_back({key, value.error().message, std::string(text)});
  };
  take(kEvents, record.events, [](std::string_view text) { return events::read_record(text); });
  take(kAppliedTaints, record.taints, [](std::string_view text) { return read_list<AppliedTaint>(text, applied_taint); });
  take(kAppliedLabels, record.labels, [](std::string_view text) { return read_list<rules::RuleLabel>(text, applied_label); });
  record.cordoned = node.annotations.get(kIsCordoned) == kTrue;
  record.cordon_pre_existing = node.annotations.get(kCordonPreExisting) == kTrue;
  return read;
}

std::string annotation_text(const std::vector<AppliedTaint>& taints) {
  std::string list;
  for (const AppliedTaint& taint : taints) {
    list += fmt::format(R"({}{{"key":{},"value":{},"effect":{},"preExisting":{}}})", list.empty() ? "" : ",",
                        events::go_quoted(taint.key), events::go_quoted(taint.value), events::go_quoted(taint.effect),
                        taint.pre_existing);
  }
  return "[" + list + "]";
}

std::string annotation_text(const std::vector<rules::RuleLabel>& labels) {
  std::string list;
  for (const rules::RuleLabel& label : labels) {
    list += fmt::format(R"({}{{"key":{},"value":{})", list.empty() ? "" : ",", events::go_quoted(label.key),
                        events::go_quoted(label.value));
    if (label.priority != 0) list += fmt::format(R"(,"priority":{})", label.priority);
    if (label.order != 0) list += fmt::format(R"(,"order":{})", label.order);
    list += "}";
  }
  return "[" + list + "]";
}

void merge_label(std::vector<rules::RuleLabel>& labels, const rules::RuleLabel& label) {
  const auto rank = [](const rules::RuleLabel& each) { return std::tie(each.priority, each.order); };
  const auto place = std::find_if(labels.begin(), labels.end(), [&](const auto& present) { return present.key == label.key; });
  if (place == labels.end()) {
    labels.push_back(label);
    std::stable_sort(labels.begin(), labels.end(), [](const auto& a, const auto& b) { return a.key < b.key; });
  } else if (rank(label) >= rank(*place)) {
    *place = label;
  }
}

}  // namespace nodeward::quarantine
