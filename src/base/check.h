// NW_CHECK(condition, "why it must hold"): a broken invariant stops the process, in every build. For what the outside may
// do wrong, return an Error instead.
#pragma once

#include <string_view>

namespace nodeward {

[[noreturn]] void check_failed(const char* file, int line, std::string_view condition, std::string_view why);

}  // namespace nodeward

#define NW_CHECK(condition, why)                                     \
  do {                                                               \
    if (!(condition)) [[unlikely]]                                   \
      ::nodeward::check_failed(__FILE__, __LINE__, #condition, why); \
  } while (false)
