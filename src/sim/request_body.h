// A request's body as JSON, with complaints in the words of Go's JSON decoder where those are short. Pure.
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"

namespace nodeward::sim {

// The recursive parts of this folder are safe to this depth. The real server takes 10,000.
inline constexpr int kMostDepth = 1'000;
bool too_deep(std::string_view json);

tl::expected<Json, std::string> parse_body(std::string_view body);

}  // namespace nodeward::sim
