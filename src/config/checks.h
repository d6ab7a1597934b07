// Is a text what Kubernetes, or Go, takes it for? Pure. Private to this folder.
#pragma once

#include <optional>
#include <string_view>

#include "base/clock.h"

namespace nodeward::config {

bool is_label_key(std::string_view key);       // [dns.prefix/]name, for taints too
bool is_label_value(std::string_view value);   // for taints too; may be empty
bool is_taint_effect(std::string_view effect);

// time.ParseDuration of Go: 300s, 5m, 1h30m, 1.5h, -2ms.
std::optional<Duration> parse_go_duration(std::string_view text);

}  // namespace nodeward::config
