// The same expressions as cel-go 0.31, and its answers (tests/data/cel/*.jsonl, made by second_opinion): the same value of
// the same kind, or an error in both. scripts/cel-differential.sh makes them anew, also with another seed.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <set>

#include "base/json.h"
#include "base/text.h"
#include "canonical.h"
#include "cel/document.h"
#include "cel/environment.h"

namespace nodeward::conformance {
namespace {

using cel::Document;
using cel::Numbers;

const std::string kData = std::string(NW_SOURCE_DIR) + "/tests/data/cel/";

const Document& value_of(const std::string& name, Numbers numbers) {
  static const Json all = *parse_json(*read_file(kData + "values.json"));
  static std::map<std::string, Document> built;
  if (const auto known = built.find(name); known != built.end()) return known->second;
  Json json = all.at(name);
  if (name == "long") json["message"] = std::string(200'000, 'x') + "Z";
  return built.emplace(name, *to_document(json, numbers)).first->second;
}

std::string outcome(const Json& line) {
  cel::Environment environment;
  environment.extension(cel::Extension::kStrings);
  std::vector<cel::Value> values;
  if (const auto event = line.at("event").get<std::string>(); !event.empty()) {
    environment.variable("event");
    values.push_back(value_of(event, Numbers::kDoubles).root());
  }
  if (const auto node = line.at("node").get<std::string>(); !node.empty()) {
    environment.variable("node");
    values.push_back(value_of(node, Numbers::kWhole).root());
  }
  const auto program = environment.compile(line.at("expr").get<std::string>(), cel::Wanted::kAny);
  if (!program) return "error";
  cel::Scratch scratch;
  return canonical(program->evaluate(values, scratch));
}

// cel-go checks more when loading: a conflict of kinds among literals is refused there and found at evaluation here. For those
// the answer that it gives without its checker is compared (docs/cel.md, "Where Nodeward differs from cel-go").
bool agree(const Json& line, const std::string& got) {
  return got == line.at("want").get<std::string>() || (got == "error" && line.value("refused", false));
}

// `named`: expressions whose difference docs/cel.md names. Each must be there, and must differ.
void compare(const std::string& file, int least, const std::set<std::string>& named = {}) {
  std::ifstream in(file);
  ASSERT_TRUE(in) << file;
  int seen = 0;
  std::set<std::string> different;
  for (std::string text; std::getline(in, text); ++seen) {
    const Json line = *parse_json(text);
    const auto expression = line.at("expr").get<std::string>();
    const std::string got = outcome(line);
    if (agree(line, got)) continue;
    different.insert(expression);
    if (named.contains(expression)) continue;
    EXPECT_EQ(got, line.at("want").get<std::string>())
        << line.value("event", "") << " " << line.value("node", "") << ": " << expression.substr(0, 900);
  }
  EXPECT_GE(seen, least);
  EXPECT_EQ(different, named) << "of " << seen;
}

TEST(Differential, TheFieldsTablesAgreeWithCelGo) { compare(kData + "field-by-cel-go.jsonl", 127); }
TEST(Differential, GeneratedExpressionsAgreeWithCelGo) { compare(kData + "generated-by-cel-go.jsonl", 2000); }

TEST(Differential, EdgesAgreeWithCelGoButForTheNamedOnes) {
  compare(kData + "edges-by-cel-go.jsonl", 470,
          {"duration('123.321456789s').getMilliseconds()", "duration('-123.321456789s').getMilliseconds()",
           "timestamp('2026-09-01T08:30:00Z').getHours('Local')", "double('0x1p3')", "double('1_0')", "{'a': 1, 'a': 2}",
           "{1: 1, 1u: 2}", "{1.5: 1}", "{null: 1}", "{[1]: 1}", "'abc'.matches('(?<n>b)')", "'abc'.matches('\\\\C')"});
}

// For runs with other seeds: CEL_DIFFERENTIAL names a file made by second_opinion.
TEST(Differential, AFileGivenByTheEnvironmentAgrees) {
  const char* const file = std::getenv("CEL_DIFFERENTIAL");
  if (file == nullptr) GTEST_SKIP() << "CEL_DIFFERENTIAL is not set";
  compare(file, 1);
}

}  // namespace
}  // namespace nodeward::conformance
