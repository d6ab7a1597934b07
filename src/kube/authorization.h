// Who a request is from. Credentials gives it, Client sends it and gives it back with a 401, so that a late one is told from the
// refusal of what came after. Pure values.
#pragma once

#include <memory>
#include <string>

namespace nodeward::kube {

struct ExecCredential;

struct Authorization {
  Authorization() = default;
  Authorization(std::string value, std::shared_ptr<const ExecCredential> of = {})
      : header(std::move(value)), plugins(std::move(of)) {}

  std::string header;  // the Authorization header; empty: none, as with a client certificate
  std::shared_ptr<const ExecCredential> plugins;  // what a credential plugin gave and this is of; null without one
};

}  // namespace nodeward::kube
