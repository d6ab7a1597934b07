#include "base/error.h"

#include <gtest/gtest.h>

namespace nodeward {
namespace {

Result<int> half(int n) {
  if (n % 2 != 0) return fail(ErrorCode::kInvalid, "odd");
  return n / 2;
}
Result<int> quarter(int n) {
  NW_TRY_ASSIGN(const int once, half(n));
  NW_TRY(half(once));
  return half(once);
}

TEST(Result, TryPassesTheErrorOn) {
  EXPECT_EQ(quarter(8).value(), 2);
  EXPECT_EQ(quarter(6).error().message, "odd");
}

TEST(Error, ContextGrowsOutwards) {
  const Error error = in_context("gpu-07", Error{ErrorCode::kConflict, "modified", {}});
  EXPECT_EQ(error.message, "gpu-07: modified");
  EXPECT_EQ(error.code, ErrorCode::kConflict);
}

}  // namespace
}  // namespace nodeward
