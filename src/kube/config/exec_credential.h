// What a credential plugin prints: an ExecCredential of client.authentication.k8s.io. Pure; private to kube/config.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/error.h"

namespace nodeward::kube {

struct ExecCredential {
  std::string token = {};
  std::string client_cert_pem = {};
  std::string client_key_pem = {};
  std::optional<WallTime> expiry = {};  // nullopt: until the server refuses it

  bool operator==(const ExecCredential&) const = default;
};

// Messages name fields and show nothing of the text but its apiVersion.
Result<ExecCredential> parse_exec_credential(std::string_view text, std::string_view api_version);

}  // namespace nodeward::kube
