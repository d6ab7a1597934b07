// What an HTTP answer of the API server means for the caller. Pure.
#pragma once

#include <optional>

#include "base/clock.h"
#include "base/error.h"
#include "kube/decode.h"

namespace nodeward::kube {

inline constexpr std::chrono::seconds kMostRetryAfter{120};   // a server that says "in an hour" is asked before that

// `http_code` counts where the Status names none.
Error error_of(const Status& status, int http_code);

// Retry-After as seconds or as an HTTP date (RFC 9110, section 10.2.3); nullopt when it is neither. From 0 s to 2 min.
std::optional<std::chrono::milliseconds> parse_retry_after(std::string_view value, WallTime now);

}  // namespace nodeward::kube
