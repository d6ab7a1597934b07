#include "config/datastore.h"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include "base/text.h"

namespace nodeward::config {
namespace {

Result<Datastore> from_yaml(const std::string& text, const std::string& source) {
  try {
    const YAML::Node document = YAML::Load(text);
    if (!document.IsMap() || !document["provider"] || !document["provider"].IsScalar()) {
      return fail(ErrorCode::kInvalid, fmt::format("{}: has no member provider; it takes \"postgresql\"", source));
    }
    return Datastore{lowered(trimmed(document["provider"].Scalar())), source};
  } catch (const YAML::Exception& error) {
    return fail(ErrorCode::kInvalid,
                fmt::format("{}: not YAML at line {}, column {}", source, error.mark.line + 1, error.mark.column + 1));
  }
}

}  // namespace

Result<Datastore> datastore_provider(const std::function<const char*(const char* name)>& env) {
  const auto value = [&](const char* name) {
    const char* text = env(name);
    return std::string(text == nullptr ? "" : text);
  };
  if (const std::string provider = value("DATASTORE_PROVIDER"); !trimmed(provider).empty()) {
    return Datastore{lowered(trimmed(provider)), "DATASTORE_PROVIDER"};
  }
  if (const std::string yaml = value("DATASTORE_YAML"); !trimmed(yaml).empty()) return from_yaml(yaml, "DATASTORE_YAML");
  if (const std::string path = value("DATASTORE_YAML_PATH"); !path.empty()) {
    auto text = read_file(path);
    if (!text) return tl::unexpected(in_context("DATASTORE_YAML_PATH", text.error()));
    return from_yaml(*text, "DATASTORE_YAML_PATH");
  }
  return Datastore{};
}

}  // namespace nodeward::config
