// UUIDs made of text (RFC 9562, version 5): the same text always gives the same id. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace nodeward::events::lines {

using UuidBytes = std::array<std::uint8_t, 16>;

std::string uuid_v5(const UuidBytes& name_space, std::string_view name);

}  // namespace nodeward::events::lines
