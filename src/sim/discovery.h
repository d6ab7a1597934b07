// What the server says of itself: versions, groups, resources. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"

namespace nodeward::sim {

// The document at /version, /api, /apis, /api/v1, /apis/<group>, /apis/<group>/<version>; nullopt: none of these.
std::optional<Json> discovery(std::string_view path);

}  // namespace nodeward::sim
