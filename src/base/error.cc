#include "base/error.h"

#include <fmt/format.h>

namespace nodeward {

std::string_view to_string(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalid: return "invalid";
    case ErrorCode::kNotFound: return "not found";
    case ErrorCode::kConflict: return "conflict";
    case ErrorCode::kGone: return "gone";
    case ErrorCode::kThrottled: return "throttled";
    case ErrorCode::kUnavailable: return "unavailable";
    case ErrorCode::kUnreachable: return "unreachable";
    case ErrorCode::kTimeout: return "timeout";
    case ErrorCode::kUnauthorized: return "unauthorized";
    case ErrorCode::kDenied: return "denied";
    case ErrorCode::kCancelled: return "cancelled";
    case ErrorCode::kFenced: return "fenced";
  }
  return "unknown";
}

Error in_context(std::string_view where, Error error) {
  error.message = fmt::format("{}: {}", where, error.message);
  return error;
}

}  // namespace nodeward
