// A certificate for the simulated server, made on the spot; it signs itself, so clients are given it as their CA.
#pragma once

#include <string>

#include "base/error.h"
#include "sim/wire/server.h"

namespace nodeward::sim {

Result<wire::Tls> make_certificate(const std::string& address);     // an IP address; "localhost" and the loopback are good too

}  // namespace nodeward::sim
