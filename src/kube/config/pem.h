// PEM as far as a kubeconfig needs it: to refuse at start, with the field's name, what TLS would refuse later
// with a worse message or not at all. Says nothing about dates, names or signatures. Pure; private to kube/config.
#pragma once

#include <string_view>

#include "base/error.h"

namespace nodeward::kube {

// At least one certificate, and every one whole; text around them is allowed.
Result<> check_certificates(std::string_view pem);
// A private key without a passphrase: nobody is there to type one.
Result<> check_private_key(std::string_view pem);

}  // namespace nodeward::kube
