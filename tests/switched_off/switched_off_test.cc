// The rows of this folder (README.md) fit the tree as it stands: each patch applies, and the test that it names is there. Whether
// that test fails is for `make switched-off` to say.
#include <fmt/format.h>
#include <fnmatch.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/text.h"

namespace nodeward {
namespace {

namespace fs = std::filesystem;
using testing::IsEmpty;

struct Row {
  std::string name = {};
  std::string claim = {};
  std::string binary = {}, filter = {};  // of the line "Test: BINARY FILTER"
};

std::vector<Row> read_rows() {
  std::vector<Row> rows;
  for (const auto& entry : fs::directory_iterator(fs::path(NW_SOURCE_DIR) / "tests/switched_off")) {
    if (entry.path().extension() != ".patch") continue;
    Row row{.name = entry.path().stem().string()};
    const std::string text = read_file(entry.path()).value();
    const std::string head = text.substr(0, text.find("\n--- "));
    row.claim = head.substr(0, head.find('\n'));
    constexpr std::string_view kTest = "\nTest: ";
    if (const auto at = head.find(kTest); at != head.npos) {
      const std::string test = head.substr(at + kTest.size(), head.find('\n', at + 1) - at - kTest.size());
      row.binary = test.substr(0, test.find(' '));
      row.filter = test.substr(std::min(test.size(), row.binary.size() + 1));
    }
    rows.push_back(std::move(row));
  }
  std::sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a.name < b.name; });
  return rows;
}

struct Said {
  int status = -1;
  std::string text;
};
Said run(const std::string& command) {
  Said said;
  FILE* const pipe = popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return said;
  char buffer[4096];
  while (const std::size_t count = fread(buffer, 1, sizeof buffer, pipe)) said.text.append(buffer, count);
  said.status = pclose(pipe);
  return said;
}

std::string path_of(const std::string& binary) { return fmt::format("{}/tests/{}_test", NW_BINARY_DIR, binary); }

// "Suite.Name" of every test of a binary.
std::vector<std::string> tests_of(const std::string& binary) {
  std::vector<std::string> names;
  std::string suite;
  for (const std::string& line : split(run(fmt::format("'{}' --gtest_list_tests", path_of(binary))).text, '\n')) {
    const std::string word(trimmed(line.substr(0, line.find('#'))));
    if (word.ends_with('.') && !line.starts_with(' ')) suite = word;
    if (line.starts_with(' ')) names.push_back(suite + word);
  }
  return names;
}

TEST(SwitchedOff, EachPatchApplies) {
  const std::vector<Row> rows = read_rows();
  ASSERT_THAT(rows, testing::Not(IsEmpty()));
  for (const Row& row : rows) {
    const Said said = run(fmt::format("cd '{}' && git apply --check 'tests/switched_off/{}.patch'", NW_SOURCE_DIR, row.name));
    EXPECT_EQ(said.status, 0) << row.name << ": make the patch anew: " << said.text;
  }
}

TEST(SwitchedOff, EachRowMakesAClaimAndNamesTestsThatAreThere) {
  std::map<std::string, std::vector<std::string>> known;
  for (const Row& row : read_rows()) {
    EXPECT_FALSE(row.claim.empty()) << row.name;
    ASSERT_FALSE(row.filter.empty()) << row.name << ": has no line \"Test: BINARY FILTER\"";
    if (!known.contains(row.binary)) {
      known[row.binary] = tests_of(row.binary);
      EXPECT_TRUE(fs::exists(path_of(row.binary)))
          << row.name << ": names " << row.binary << "_test, which is not built: this test needs the whole build";
    }
    const auto& names = known[row.binary];
    if (names.empty()) continue;
    for (const std::string& pattern : split(row.filter, ':')) {
      const bool there = std::any_of(names.begin(), names.end(),
                                     [&](const std::string& name) { return fnmatch(pattern.c_str(), name.c_str(), 0) == 0; });
      EXPECT_TRUE(there) << row.name << ": " << row.binary << "_test has no " << pattern;
    }
  }
}

}  // namespace
}  // namespace nodeward
