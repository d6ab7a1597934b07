// The field's tables (tests/data/cel/*.tsv): expressions that rules in use contain, or that went wrong elsewhere, with the
// results that cel-go 0.31 gives. Each table is one test; each row names itself when it fails.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <sstream>

#include "base/json.h"
#include "base/text.h"
#include "cel/document.h"
#include "cel/environment.h"

namespace nodeward::cel {
namespace {

std::string data(const std::string& file) {
  auto text = read_file(std::string(NW_SOURCE_DIR) + "/tests/data/cel/" + file);
  EXPECT_TRUE(text) << file;
  return text.value_or("");
}

// Events have numbers as doubles, nodes have ints. The one very long text is written out here.
Document values_of(const std::string& name) {
  static const Json all = *parse_json(data("values.json"));
  const bool is_node = name.starts_with("node ");
  Json value = all.at(is_node ? name.substr(5) : name);
  if (name == "long") value["message"] = std::string(200'000, 'x') + "Z";
  return *to_document(value, is_node ? Numbers::kWhole : Numbers::kDoubles);
}

Environment rules_environment(const std::string& variable) {
  Environment environment;
  environment.variable(variable).extension(Extension::kStrings);
  return environment;
}

std::string outcome(const std::string& values, const std::string& expression) {
  const Environment environment = rules_environment(values.starts_with("node ") ? "node" : "event");
  const auto program = environment.compile(expression, Wanted::kBool);
  if (!program) return "refused at start";
  const Document document = values_of(values);
  Scratch scratch;
  const Value result = program->evaluate(std::array{document.root()}, scratch);
  return result.is_error() ? "error" : to_cel_text(result);
}

void run_table(const std::string& file, int rows) {
  std::istringstream table(data(file));
  std::string line;
  std::getline(table, line);   // headings
  int seen = 0;
  for (; std::getline(table, line); ++seen) {
    const auto fields = split(line, '\t');
    ASSERT_GE(fields.size(), 4U) << line.substr(0, 100);
    std::string wanted = fields[3] == "not a bool: error" ? "error" : fields[3];
    const auto begin = std::chrono::steady_clock::now();
    std::string got = outcome(fields[1], fields[2]);
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(1000)) << fields[0];
    // A pattern that RE2 refuses is found when the rule is loaded.
    if (wanted == "error" && got == "refused at start" && fields[2].find(".matches('") != std::string::npos) got = "error";
    EXPECT_EQ(got, wanted) << fields[0] << ": " << fields[2].substr(0, 200);
  }
  EXPECT_EQ(seen, rows) << file;
}

TEST(FieldTables, ADecidingOperandAbsorbsErrors) { run_table("absorption.tsv", 20); }
TEST(FieldTables, NullAbsentAndEmptyAreThreeThings) { run_table("null-and-absent.tsv", 39); }
TEST(FieldTables, RegularExpressionsAreRe2) { run_table("regex.tsv", 21); }
TEST(FieldTables, StringFunctionsCountCodePoints) { run_table("strings.tsv", 26); }
TEST(FieldTables, WhatIsNotOfTheRulesLanguageIsRefused) { run_table("syntax.tsv", 9); }
TEST(FieldTables, NestingAndLengthHaveTheStatedLimits) { run_table("deep.tsv", 12); }

}  // namespace
}  // namespace nodeward::cel
