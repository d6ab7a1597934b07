// Base64, standard alphabet with padding (RFC 4648, section 4). Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace nodeward {

// Padding required. Blanks and line ends are passed over: folded YAML leaves them inside.
std::optional<std::string> decode_base64(std::string_view text);
std::string encode_base64(std::string_view bytes);

}  // namespace nodeward
