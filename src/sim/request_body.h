// A request's body as JSON, with complaints in the words of Go's JSON decoder where those are short. Pure.
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"

namespace nodeward::sim {

tl::expected<Json, std::string> parse_body(std::string_view body);

}  // namespace nodeward::sim
