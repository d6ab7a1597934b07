// A certificate for the simulated server, made on the spot; it signs itself, so clients are given it as their CA.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "sim/wire/server.h"

namespace nodeward::sim {

Result<wire::Tls> make_certificate(const std::string& address);     // an IP address; "localhost" and the loopback are good too

std::string base64(std::string_view bytes);

}  // namespace nodeward::sim
