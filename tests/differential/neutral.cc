#include "differential/neutral.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <regex>

#include "base/text.h"

namespace nodeward::differential {
namespace {

std::string replaced(const std::string& text, const std::regex& pattern, const char* with) {
  return std::regex_replace(text, pattern, with);
}

// The real server looks at an update two to four times, and says each time what it found.
void keep_first_of_each(Json& causes) {
  Json kept = Json::array();
  for (Json& cause : causes) {
    if (std::find(kept.begin(), kept.end(), cause) == kept.end()) kept.push_back(std::move(cause));
  }
  causes = std::move(kept);
}

std::uint64_t number(const std::string& version) {
  std::uint64_t value = 0;
  std::from_chars(version.data(), version.data() + version.size(), value);
  return value;
}

}  // namespace

Json Neutral::body(Json answer, std::string_view same) {
  walk(answer, same);
  return answer;
}

std::string Neutral::text(std::string text) {
  static const std::regex kUid("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}");
  static const std::regex kMicroTime(R"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z)");
  static const std::regex kTime(R"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ)");
  static const std::regex kVersion(R"(((?:resource version|current|ResourceVersion[a-z ]*): )\d+)");
  static const std::regex kRecord(R"((ResourceVersion in record )\(\d+\))");
  static const std::regex kOldest(R"((resource version: <version> )\(\d+\))");
  std::smatch match;
  std::string rest = text;
  while (std::regex_search(rest, match, kUid)) {
    uids_.try_emplace(match.str(), fmt::format("<uid of {}>", step_));
    rest = match.suffix();
  }
  // A server that speaks of a whole object writes it down with its managed fields.
  if (const std::size_t begin = text.find("Invalid value: \"{"), end = text.rfind("}\": ");
      begin != text.npos && end != text.npos) {
    text.replace(begin, end + 1 - begin, "Invalid value: \"{...}");
  }
  const auto put = [&](const std::string& from, const std::string& to) {
    for (std::size_t at = text.find(from); at != text.npos; at = text.find(from, at + to.size()))
      text.replace(at, from.size(), to);
  };
  for (const auto& [uid, symbol] : uids_) put(uid, symbol);
  for (const auto& [name, symbol] : generated_) put(name, symbol);
  text = replaced(replaced(text, kMicroTime, "<micro time>"), kTime, "<time>");
  return replaced(replaced(replaced(text, kVersion, "$1<version>"), kRecord, "$1(<version>)"), kOldest, "$1(<oldest>)");
}

void Neutral::walk(Json& value, std::string_view same) {
  if (value.is_string()) {
    value = text(value.get<std::string>());
  } else if (value.is_array()) {
    for (Json& item : value) walk(item, same);
  } else if (value.is_object()) {
    if (value.contains("metadata") && value["metadata"].is_object()) metadata(value, same);
    if (text_at(value, "kind") == "Table") table_cells(value);
    if (value.contains("serverAddress")) value["serverAddress"] = "<address>";
    value.erase("storageVersionHash");  // a client compares it with itself only
    if (value.contains("causes")) keep_first_of_each(value["causes"]);
    for (auto& [key, member] : value.items()) walk(member, same);
  }
}

void Neutral::metadata(Json& object, std::string_view same) {
  Json& metadata = object["metadata"];
  metadata.erase("managedFields");
  if (const std::string stem = text_at(metadata, "generateName"), name = text_at(metadata, "name");
      !stem.empty() && name.starts_with(stem)) {
    generated_[name] = fmt::format("{}<{}>", stem, name.size() - stem.size());
  }
  if (metadata.contains("continue") && text_at(metadata, "continue") != "") metadata["continue"] = "<continue>";
  const std::string version = text_at(metadata, "resourceVersion");
  if (version.empty()) return;
  const std::string uid = text_at(metadata, "uid");
  metadata["resourceVersion"] = uid.empty() ? list_version(version, same) : version_of(uid, version);
}

std::string Neutral::version_of(const std::string& key, const std::string& version) {
  auto& known = versions_[key];
  const std::uint64_t at = number(version);
  const bool in_order = known.empty() || known.rbegin()->first < at;
  const auto [found, fresh] = known.try_emplace(at, fmt::format("<version of {}{}>", step_, in_order ? "" : ", out of order"));
  newest_ = std::max(newest_, at);
  return found->second;
}

std::string Neutral::list_version(const std::string& version, std::string_view same) {
  if (!same.empty()) return version == same ? "<the same>" : "<another>";
  const bool new_enough = number(version) >= newest_;
  return new_enough ? "<now>" : "<earlier>";
}

void Neutral::table_cells(Json& table) {
  static const std::regex kAge(R"(\d+[smhd](\d+[smhd])?)");
  for (Json& column : table["columnDefinitions"]) column.erase("description");  // prose of the API's documentation
  for (Json& row : table["rows"]) {
    if (!row.contains("cells")) continue;
    for (Json& cell : row["cells"]) {
      if (cell.is_string() && std::regex_match(cell.get<std::string>(), kAge)) cell = "<age>";
    }
  }
}

}  // namespace nodeward::differential
