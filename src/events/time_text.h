// RFC 3339 into seconds and nanoseconds. Pure.
#pragma once

#include <optional>
#include <string_view>

#include "events/event.h"

namespace nodeward::events {

// 2026-09-14T10:10:00.5+02:00; years 0001 to 9999; digits below a nanosecond are cut. nullopt: no such time.
std::optional<Timestamp> parse_rfc3339(std::string_view text);

}  // namespace nodeward::events
