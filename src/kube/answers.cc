#include "kube/answers.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>

#include "base/text.h"

namespace nodeward::kube {
namespace {

ErrorCode code_of(int http_code) {
  switch (http_code) {
    case 401: return ErrorCode::kUnauthorized;
    case 403: return ErrorCode::kDenied;
    case 404: return ErrorCode::kNotFound;
    case 409: return ErrorCode::kConflict;
    case 410: return ErrorCode::kGone;
    case 408:
    case 504: return ErrorCode::kTimeout;
    case 429:
    case 503: return ErrorCode::kThrottled;      // refused before it was looked at: nothing was done
    default: return http_code >= 500 || http_code < 400 ? ErrorCode::kUnavailable : ErrorCode::kInvalid;
  }
}

// A version that is yet to come: the server's storage was restored from a backup, and ours is lost as if it were compacted. The
// message is the only sign that all releases share.
bool from_the_future(const Status& status) { return status.message.find("Too large resource version") != std::string::npos; }

// A 404 of an API server says so in a Status; that of a load balancer on the way, or of a server without this API, says nothing of
// the object.
bool of_something_else(const Status& status, int code) { return code == 404 && status.reason != "NotFound"; }

}  // namespace

Error error_of(const Status& status, int http_code) {
  const int code = status.code != 0 ? status.code : http_code;
  const std::string_view message = status.message.empty() ? std::string_view("no message") : std::string_view(status.message);
  const ErrorCode meaning = from_the_future(status)           ? ErrorCode::kGone
                            : of_something_else(status, code) ? ErrorCode::kUnavailable
                                                              : code_of(code);
  return Error{meaning, fmt::format("{} {}{}{}", code, status.reason, status.reason.empty() ? "" : ": ", message), {}};
}

std::optional<std::chrono::milliseconds> parse_retry_after(std::string_view value, WallTime now) {
  const std::string text(trimmed(value));
  const auto bounded = [](std::int64_t seconds) {
    return std::chrono::seconds(std::clamp<std::int64_t>(seconds, 0, kMostRetryAfter.count()));
  };
  if (const auto seconds = parse_int(text)) return bounded(*seconds);
  std::tm parts{};
  if (strptime(text.c_str(), "%a, %d %b %Y %H:%M:%S GMT", &parts) == nullptr) return std::nullopt;
  return bounded(timegm(&parts) - std::chrono::floor<std::chrono::seconds>(now).time_since_epoch().count());
}

}  // namespace nodeward::kube
