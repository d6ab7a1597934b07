// The `server` of a cluster, taken apart. Stricter than a general URL: https or http, host, port, path and nothing else.
// Pure; private to kube/config.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"

namespace nodeward::kube {

struct ServerUrl {
  std::string origin;       // "https://10.0.0.1:6443"
  std::string path_prefix;  // "" or "/k8s/clusters/c-1", never with a slash at its end
};

// No scheme means https. Messages do not show `text`, which may have a password in it.
Result<ServerUrl> parse_server_url(std::string_view text);

// "host", "host:6443", "[2001:db8::1]:6443" and nothing else; a zone is written %25eth0 (RFC 6874).
Result<> check_authority(std::string_view authority);

}  // namespace nodeward::kube
