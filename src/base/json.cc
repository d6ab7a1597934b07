#include "base/json.h"

#include <fmt/format.h>

namespace nodeward {

Result<Json> parse_json(std::string_view text) {
  try {
    return Json::parse(text);
  } catch (const Json::parse_error& error) {
    return fail(ErrorCode::kInvalid, fmt::format("not JSON at byte {}", error.byte));
  } catch (const Json::exception&) {   // a number that no double holds is an out_of_range of its own
    return fail(ErrorCode::kInvalid, "not JSON that can be kept: a number is too large");
  }
}

std::string text_at(const Json& object, std::string_view name) {
  const auto found = object.is_object() ? object.find(name) : object.end();
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::string to_text(const Json& value) { return value.dump(-1, ' ', false, Json::error_handler_t::replace); }
std::string to_text(const OrderedJson& value) { return value.dump(-1, ' ', false, OrderedJson::error_handler_t::replace); }
std::string json_quoted(std::string_view text) { return to_text(Json(text)); }

}  // namespace nodeward
