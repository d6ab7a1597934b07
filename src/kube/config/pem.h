// Base64 and PEM as far as a kubeconfig needs them: to refuse at start, with the field's name, what TLS would refuse later
// with a worse message or not at all. Says nothing about dates, names or signatures. Pure; private to kube/config.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"

namespace nodeward::kube {

// Standard alphabet, padding required. Blanks and line ends are passed over: folded YAML leaves them inside.
std::optional<std::string> decode_base64(std::string_view text);
std::string encode_base64(std::string_view bytes);

// At least one certificate, and every one whole; text around them is allowed.
Result<> check_certificates(std::string_view pem);
// A private key without a passphrase: nobody is there to type one.
Result<> check_private_key(std::string_view pem);

}  // namespace nodeward::kube
