// Proxies: a cluster's proxy-url, and what HTTPS_PROXY, HTTP_PROXY and NO_PROXY (or lower case) say, as programs written in Go
// read them. A message never shows the URL: it may have a password in it. Pure; private to kube/config.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "kube/config/environment.h"

namespace nodeward::kube {

// As net::Endpoint takes it, with a port; http, https and socks5 (which resolves names at the proxy).
Result<std::string> parse_proxy_url(std::string_view text);

// The proxy to reach `origin` ("https://host:6443") by; "" for none: none is set, NO_PROXY names the host, or it is this one.
Result<std::string> proxy_from_environment(const std::string& origin, const EnvLookup& env);

// Whether NO_PROXY's list names the host: "*", a name (with all below it), ".name" or "*.name" (only what is below it), an
// address, a network (10.0.0.0/8); each but the network with a port if only that is meant. `host` has no brackets.
bool is_in_no_proxy(std::string_view list, std::string_view host, std::string_view port);

}  // namespace nodeward::kube
