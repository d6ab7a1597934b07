// Expected failure as a value. Result<T> is what every function that can fail for an outside reason returns.
// ErrorCode says what the caller may do next, not where the failure came from; the message grows outwards as it travels.
// A broken invariant is no Error: see NW_CHECK in check.h.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>

namespace nodeward {

enum class ErrorCode {
  kInvalid,      // the request or the input is wrong; the same again will fail again
  kNotFound,     // the thing is not there
  kConflict,     // it changed meanwhile: look again, decide again
  kGone,         // the version asked for was compacted: list again
  kThrottled,    // the server asks for patience: wait, then the same again
  kUnavailable,  // the server failed: wait, then the same again; whether it was done is unknown
  kUnreachable,  // there is no way to the server: nothing was done, and nobody else needs to try just now
  kTimeout,      // no answer in time: whether it was done is unknown
  kUnauthorized, // who we are was not accepted: read the credentials anew
  kDenied,       // who we are is known and may not do this
  kCancelled,    // we were asked to stop
  kFenced,       // nothing was sent: another copy of this program writes just now
};

std::string_view to_string(ErrorCode code);

struct Error {
  ErrorCode code = ErrorCode::kInvalid;
  std::string message;                                          // "patch gpu-07: 409 the object has been modified"
  std::optional<std::chrono::milliseconds> retry_after = {};    // set only when the server said so
};

template <class T = void>
using Result = tl::expected<T, Error>;

inline tl::unexpected<Error> fail(ErrorCode code, std::string message) {
  return tl::unexpected<Error>(Error{code, std::move(message), {}});
}

// The same error with "where: " in front of its message.
Error in_context(std::string_view where, Error error);

}  // namespace nodeward

#define NW_CONCAT_INNER(a, b) a##b
#define NW_CONCAT(a, b) NW_CONCAT_INNER(a, b)

// NW_TRY(expr): returns expr's error from this function, else goes on.
#define NW_TRY(...)                                                           \
  do {                                                                        \
    if (auto nw_result = (__VA_ARGS__); !nw_result) {                         \
      return tl::unexpected<::nodeward::Error>(std::move(nw_result).error()); \
    }                                                                         \
  } while (false)

#define NW_TRY_ASSIGN_INNER(tmp, lhs, ...)                                    \
  auto tmp = (__VA_ARGS__);                                                   \
  if (!tmp) return tl::unexpected<::nodeward::Error>(std::move(tmp).error()); \
  lhs = std::move(*tmp)

// NW_TRY_ASSIGN(const T x, expr): x becomes expr's value, or this function returns expr's error.
#define NW_TRY_ASSIGN(lhs, ...) NW_TRY_ASSIGN_INNER(NW_CONCAT(nw_try_, __LINE__), lhs, __VA_ARGS__)
