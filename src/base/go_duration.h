// Durations as Go's flags and files spell them (time.ParseDuration). Pure.
#pragma once

#include <optional>
#include <string_view>

#include "base/clock.h"

namespace nodeward {

// 300s, 5m, 1h30m, 1.5h, -2ms; nullopt for anything else, and beyond what 64 bits of nanoseconds hold.
std::optional<Duration> parse_go_duration(std::string_view text);

}  // namespace nodeward
