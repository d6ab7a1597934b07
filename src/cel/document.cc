#include "cel/document.h"

namespace nodeward::cel {
namespace {

constexpr int kMaxDepth = 200;   // comparing and printing values recurse

Result<Value> convert(const Json& json, Numbers numbers, Arena& arena, int depth) {
  if (depth > kMaxDepth) return fail(ErrorCode::kInvalid, "JSON is nested deeper than 200 levels");
  switch (json.type()) {
    case Json::value_t::boolean: return Value::boolean(json.get<bool>());
    case Json::value_t::number_float: return Value::number(json.get<double>());
    case Json::value_t::number_unsigned:
    case Json::value_t::number_integer: {
      if (numbers == Numbers::kDoubles) return Value::number(json.get<double>());
      const bool too_large = json.is_number_unsigned() &&
                             json.get<std::uint64_t>() > std::uint64_t{std::numeric_limits<std::int64_t>::max()};
      return too_large ? Value::uint(json.get<std::uint64_t>()) : Value::integer(json.get<std::int64_t>());
    }
    case Json::value_t::string: return Value::string(arena.copy(json.get_ref<const std::string&>()));
    case Json::value_t::array: {
      const auto items = arena.array<Value>(json.size());
      for (std::size_t i = 0; i < json.size(); ++i) {
        NW_TRY_ASSIGN(items[i], convert(json[i], numbers, arena, depth + 1));
      }
      return Value::list(items);
    }
    case Json::value_t::object: {
      MapBuilder builder(arena, json.size());
      for (const auto& [name, member] : json.items()) {
        NW_TRY_ASSIGN(const Value value, convert(member, numbers, arena, depth + 1));
        builder.add(Key(arena.copy(name)), value);
      }
      return builder.finish();
    }
    default: return Value::null();
  }
}

}  // namespace

Result<Value> to_value(const Json& json, Numbers numbers, Arena& arena) { return convert(json, numbers, arena, 0); }

Result<Document> to_document(const Json& json, Numbers numbers) {
  Arena arena;
  NW_TRY_ASSIGN(const Value root, to_value(json, numbers, arena));
  return Document(std::move(arena), root);
}

}  // namespace nodeward::cel
