// fault-quarantine: health events -> cordons, taints and labels. So far it has no source of events; it says so, and ends.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <string>
#include <vector>

#include "apps/go_flags.h"
#include "base/version.h"

namespace nodeward::apps {
namespace {

int main(const std::vector<std::string>& args) {
  const std::array flags = {GoFlag{"version", FlagKind::kBool, "false", "print the version and end"}};
  const auto words = read_go_flags("fault-quarantine", flags, args);
  if (!words) {
    fmt::print(stderr, "{}", words.error().text);
    return words.error().exit_code;
  }
  if (std::find(words->begin(), words->end(), "--version=true") != words->end()) {
    fmt::print("fault-quarantine {}\n", version());
    return 0;
  }
  fmt::print(stderr,
             "fault-quarantine: version {} cannot read health events from any source yet, so there is nothing it could act on\n",
             version());
  return 1;
}

}  // namespace
}  // namespace nodeward::apps

int main(int argc, char** argv) { return nodeward::apps::main({argv + 1, argv + argc}); }
