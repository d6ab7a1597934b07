#include "canonical.h"

#include <fmt/format.h>
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <vector>

namespace nodeward::conformance {
namespace {

using cel::Kind;
using cel::Value;

std::string hex(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) text += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return text;
}

std::string joined(std::vector<std::string> parts, bool sorted) {
  if (sorted) std::ranges::sort(parts);
  return fmt::format("{}", fmt::join(parts, ","));
}

std::string canonical_map(const cel::Map& map) {
  std::vector<std::string> parts;
  for (const cel::Map::Entry& entry : map.entries) parts.push_back(canonical(entry.key) + "=" + canonical(entry.value));
  return "{" + joined(std::move(parts), true) + "}";
}

Result<Value> map_from_json(const Json& entries, cel::Arena& arena) {
  cel::MapBuilder builder(arena, entries.size());
  for (const Json& entry : entries) {
    NW_TRY_ASSIGN(const Value key, from_typed_json(entry.at(0), arena));
    NW_TRY_ASSIGN(const Value value, from_typed_json(entry.at(1), arena));
    builder.add(key, value);
  }
  return builder.finish();
}

std::string unhex(const std::string& text) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2) bytes += static_cast<char>(std::stoi(text.substr(i, 2), nullptr, 16));
  return bytes;
}

}  // namespace

std::string canonical(Value value) {
  switch (value.kind()) {
    case Kind::kNull: return "null";
    case Kind::kBool: return value.as_bool() ? "true" : "false";
    case Kind::kInt: return fmt::format("int:{}", value.as_int());
    case Kind::kUint: return fmt::format("uint:{}", value.as_uint());
    case Kind::kDouble:
      return std::isnan(value.as_double()) ? "double:nan"
                                           : fmt::format("double:{:016x}", std::bit_cast<std::uint64_t>(value.as_double()));
    case Kind::kString: return "string:" + hex(value.text());
    case Kind::kBytes: return "bytes:" + hex(value.text());
    case Kind::kType: return fmt::format("type:{}", value.text());
    case Kind::kDuration: return fmt::format("duration:{}", value.nanoseconds());
    case Kind::kTimestamp: return fmt::format("timestamp:{}.{}", value.seconds(), value.nanos());
    case Kind::kOptional: return value.optional() == nullptr ? "none" : "optional:" + canonical(*value.optional());
    case Kind::kMap: return canonical_map(value.entries());
    case Kind::kError: return "error";
    case Kind::kList: {
      std::vector<std::string> parts;
      for (const Value item : value.items()) parts.push_back(canonical(item));
      return "[" + joined(std::move(parts), false) + "]";
    }
  }
  return "unknown";
}

Result<Value> from_typed_json(const Json& json, cel::Arena& arena) {
  if (json.is_null()) return Value::null();
  const std::string kind = json.begin().key();
  const Json& content = json.begin().value();
  if (kind == "bool") return Value::boolean(content.get<bool>());
  if (kind == "list") {
    const auto items = arena.array<Value>(content.size());
    for (std::size_t i = 0; i < content.size(); ++i) {
      NW_TRY_ASSIGN(items[i], from_typed_json(content[i], arena));
    }
    return Value::list(items);
  }
  if (kind == "map") return map_from_json(content, arena);
  const auto text = content.get<std::string>();
  if (kind == "int") return Value::integer(std::strtoll(text.c_str(), nullptr, 10));
  if (kind == "uint") return Value::uint(std::strtoull(text.c_str(), nullptr, 10));
  if (kind == "double") return Value::number(std::strtod(text.c_str(), nullptr));
  if (kind == "string") return Value::string(arena.copy(text));
  if (kind == "bytes") return Value::bytes(arena.copy(unhex(text)));
  if (kind == "type") return Value::type(arena.copy(text));
  return fail(ErrorCode::kInvalid, "a message value");
}

}  // namespace nodeward::conformance
