// Whether a client certificate and a private key belong together, asked before a connection is to be made with them: a pair that
// was renewed half (or caught between its two files) is found here, not at every connection. Reads both as TLS would: of several
// certificates the first is the client's. Says nothing of dates, names or who signed. Any thread.
#pragma once

#include <string_view>

#include "base/error.h"

namespace nodeward::net {

// kInvalid, as the end of a sentence about both: "are no pair: the key is of another certificate". Never shows what is in them.
Result<> check_key_pair(std::string_view certificate_pem, std::string_view key_pem);

}  // namespace nodeward::net
