#include "base/check.h"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>

namespace nodeward {

void check_failed(const char* file, int line, std::string_view condition, std::string_view why) {
  fmt::print(stderr, "{}:{}: broken invariant `{}`: {}\n", file, line, condition, why);
  std::abort();
}

}  // namespace nodeward
