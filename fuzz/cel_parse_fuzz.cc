// Any bytes as an expression: it is compiled or refused, and a refusal can show its place.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "cel/environment.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace nodeward::cel;
  static const Environment environment = [] {
    Environment all;
    all.variable("event").variable("node").all_extensions();
    return all;
  }();
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto program = environment.compile(text, Wanted::kAny);
  if (!program) {
    NW_CHECK(!program.error().message.empty(), "a refusal has a reason");
    NW_CHECK(program.error().line >= 1 && program.error().column >= 1, "a refusal has a place");
    NW_CHECK(program.error().to_text().size() < 2000 + program.error().message.size(),
             "a refusal shows only the part around its place");
  }
  return 0;
}
