#include "kube/config/section.h"

namespace nodeward::kube {
namespace {

constexpr int kMostDepth = 100;
constexpr int kMostValues = 100'000;   // an anchor counts as often as it is used: it may contain itself

// A plain scalar that reads as a JSON literal or number is one; all else is text. nullopt: deeper or larger than anybody means.
std::optional<Json> json_of(const YAML::Node& node, int depth, int& values) {
  Json json;
  if (!node.IsDefined()) return json;
  if (depth > kMostDepth || ++values > kMostValues) return std::nullopt;
  if (node.IsMap() || node.IsSequence()) {
    json = node.IsMap() ? Json::object() : Json::array();
    for (const auto& entry : node) {
      auto value = json_of(node.IsMap() ? entry.second : static_cast<const YAML::Node&>(entry), depth + 1, values);
      if (!value) return std::nullopt;
      node.IsMap() ? json[entry.first.Scalar()] = std::move(*value) : json.emplace_back(std::move(*value));
    }
  } else if (!node.IsNull()) {
    const bool quoted = node.Tag() == "!";
    const auto literal = parse_json(node.Scalar());
    json = !quoted && literal && literal->is_primitive() ? *literal : Json(node.Scalar());
  }
  return json;
}

}  // namespace

std::string shown(const std::string& name) {
  return name.find_first_of(" \t\r\n") == std::string::npos ? json_quoted(name) : "(a name with blanks in it)";
}

bool Section::has(const std::string& field) const {
  const YAML::Node value = member(field);
  return value.IsDefined() && !value.IsNull() && (value.IsScalar() ? !value.Scalar().empty() : value.size() > 0);
}

Result<std::string> Section::text(const std::string& field) const {
  const YAML::Node value = member(field);
  if (!value.IsDefined() || value.IsNull()) return std::string();
  if (!value.IsScalar()) return refuse(field, "must be text, not a list or a map");
  return value.Scalar();
}

Result<std::string> Section::required_text(const std::string& field, std::string_view advice) const {
  NW_TRY_ASSIGN(std::string value, text(field));
  if (value.empty()) return refuse(field, fmt::format("is missing or empty; {}", advice));
  return value;
}

Result<bool> Section::flag(const std::string& field) const {
  NW_TRY_ASSIGN(const std::string word, text(field));
  bool value = false;
  if (!word.empty() && !YAML::convert<bool>::decode(member(field), value)) return refuse(field, "must be true or false");
  return value;
}

Result<std::vector<std::string>> Section::texts(const std::string& field) const {
  std::vector<std::string> found;
  if (!has(field)) return found;
  const YAML::Node list = member(field);
  if (!list.IsSequence()) return refuse(field, "must be a list of texts");
  for (const YAML::Node& item : list) {
    if (!item.IsScalar()) return refuse(field, "must be a list of texts");
    found.push_back(item.Scalar());
  }
  return found;
}

Result<std::vector<std::pair<std::string, std::vector<std::string>>>> Section::text_lists(const std::string& field) const {
  std::vector<std::pair<std::string, std::vector<std::string>>> found;
  NW_TRY_ASSIGN(const std::optional<Section> section, map(field));
  if (!section) return found;
  for (const auto& entry : section->node_) {
    NW_TRY_ASSIGN(std::vector<std::string> values, section->texts(entry.first.Scalar()).map_error([&](const Error&) {
      return refuse(field, "must be a map of lists of texts").value();
    }));
    found.emplace_back(entry.first.Scalar(), std::move(values));
  }
  return found;
}

Result<std::optional<Section>> Section::map(const std::string& field) const {
  if (!has(field)) return std::nullopt;
  const YAML::Node value = member(field);
  if (!value.IsMap()) return refuse(field, "must be a map");
  return Section(fmt::format("{}: {}", where_, field), folder_, value);
}

Result<std::vector<Section>> Section::maps(const std::string& field) const {
  std::vector<Section> found;
  if (!has(field)) return found;
  const YAML::Node list = member(field);
  if (!list.IsSequence()) return refuse(field, "must be a list of maps");
  for (const YAML::Node& item : list) {
    if (!item.IsMap()) return refuse(field, "must be a list of maps");
    found.emplace_back(fmt::format("{}: {}", where_, field), folder_, item);
  }
  return found;
}

Result<Json> Section::json(const std::string& field) const {
  int values = 0;
  auto json = json_of(member(field), 0, values);
  if (!json) return refuse(field, "is nested too deep, too large, or contains itself");
  return std::move(*json);
}

Result<std::optional<Section>> Section::entry(const std::string& kind, const std::string& name,
                                              std::vector<std::string>& names) const {
  const YAML::Node list = member(kind + "s");
  for (const YAML::Node& item : list.IsDefined() && list.IsSequence() ? list : YAML::Node()) {
    if (!item.IsMap()) return refuse(kind + "s", "each entry must be a map with a name");
    const Section candidate(where_, folder_, item);
    NW_TRY_ASSIGN(const std::string found, candidate.text("name"));
    if (found == name) return candidate.inner(kind, name);
    names.push_back(shown(found));
  }
  return std::nullopt;
}

YAML::Node Section::member(const std::string& field) const {
  const YAML::Node& map = node_;
  const YAML::Node own = map[field], base = map["<<"];
  return !own.IsDefined() && base.IsDefined() && base.IsMap() ? base[field] : own;
}

Result<Section> Section::inner(const std::string& kind, const std::string& name) const {
  const YAML::Node map = member(kind);
  Section section(fmt::format("{}: {} {}", where_, kind, shown(name)), folder_, map.IsDefined() ? map : YAML::Node());
  if (!section.node_.IsNull() && !section.node_.IsMap())
    return refuse(kind + "s", fmt::format("{}: {} must be a map", shown(name), kind));
  return section;
}

}  // namespace nodeward::kube
