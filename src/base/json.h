// Small JSON documents, written and read whole. The only header that shows nlohmann-json; big or streamed input goes through
// simdjson in kube and events.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/error.h"

namespace nodeward {

using Json = nlohmann::json;                  // keys sorted: bytes are stable
using OrderedJson = nlohmann::ordered_json;   // keys as inserted: where a foreign program's order is part of the bytes

// kInvalid with the byte position when `text` is no JSON document. Never throws.
Result<Json> parse_json(std::string_view text);

// "" unless `object` is an object with a string under this name. Json::value() throws where the type is another one.
std::string text_at(const Json& object, std::string_view name);

// Compact text; bytes that are no UTF-8 become U+FFFD, so writing never throws.
std::string to_text(const Json& value);
std::string to_text(const OrderedJson& value);

// `text` as a JSON string with its quotes.
std::string json_quoted(std::string_view text);

}  // namespace nodeward
