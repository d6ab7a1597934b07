// Whether a text can name a node at all: what cannot is never asked of the API server.
#pragma once

#include <string_view>

namespace nodeward::quarantine {

// A DNS subdomain (RFC 1123) of at most 253 bytes: labels of a-z, 0-9 and '-' between single dots, alphanumeric at both ends.
bool can_name_a_node(std::string_view text);

}  // namespace nodeward::quarantine
