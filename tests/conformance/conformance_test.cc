// The specification's own cases as a part of the ordinary tests; `make conformance` prints the table.
#include <gtest/gtest.h>

#include <cstdio>
#include <string>

#include "base/text.h"

namespace nodeward::conformance {
namespace {

struct Output {
  int status = 0;
  std::string output;
};

Output run_command(const std::string& command) {
  Output result;
  FILE* const pipe = popen((command + " 2>&1").c_str(), "r");
  char part[4096];
  while (const std::size_t size = fread(part, 1, sizeof part, pipe)) result.output.append(part, size);
  result.status = pclose(pipe);
  return result;
}

TEST(Conformance, TheSpecificationsCasesPass) {
  const std::string root = NW_SOURCE_DIR;
  const std::string cases = std::string(NW_BINARY_DIR) + "/conformance-test-cases.jsonl";
  const Output made = run_command("'" + root + "/scripts/conformance.sh' --cases '" + cases + "'");
  ASSERT_EQ(made.status, 0) << made.output;
  const Output judged = run_command("'" NW_BINARY_DIR "/bin/conformance' '" + cases + "' '" + root +
                                    "/tests/conformance/skips.tsv'");
  EXPECT_EQ(judged.status, 0) << judged.output;
  const auto lines = split(trimmed(judged.output), '\n');
  int passed = 0;
  int failed = -1;
  ASSERT_EQ(std::sscanf(lines.back().c_str(), "%d passed, %d failed", &passed, &failed), 2) << lines.back();
  EXPECT_EQ(failed, 0);
  EXPECT_GE(passed, 1580);
}

}  // namespace
}  // namespace nodeward::conformance
