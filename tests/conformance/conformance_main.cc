// Runs the specification's conformance cases: conformance <cases.jsonl> <skips.tsv>. Prints a table by file, each failure, and
// as its last line "N passed, N failed, N skipped". Exit 1 when a case failed, or a skip is listed that would pass.
#include <fmt/format.h>
#include <fstream>
#include <iostream>
#include <map>
#include <string>

#include "base/json.h"
#include "base/text.h"
#include "canonical.h"
#include "cel/environment.h"

namespace nodeward::conformance {
namespace {

struct Tally {
  int passed = 0, failed = 0, skipped = 0;
};

// Case name -> why it is left out.
std::map<std::string, std::string> read_skips(const std::string& file) {
  std::map<std::string, std::string> skips;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line.starts_with('#')) continue;
    const auto tab = line.find('\t');
    skips.emplace(line.substr(0, tab), tab == std::string::npos ? "" : line.substr(tab + 1));
  }
  return skips;
}

// The value in canonical form, "error" with the reason, or what stands in the way of running the case.
struct Outcome {
  std::string got;
  std::string detail;
};

Outcome run_case(const Json& test) {
  cel::Environment environment;
  environment.all_extensions();
  cel::Arena arena;
  std::vector<cel::Value> values;
  for (const Json& name : test.at("variables")) {
    environment.variable(name.get<std::string>());
    cel::Value value = cel::Value::error("no such variable is bound");
    if (const auto bound = test.at("bindings").find(name.get<std::string>()); bound != test.at("bindings").end()) {
      const auto converted = from_typed_json(*bound, arena);
      if (!converted) return {"cannot run", converted.error().message};
      value = *converted;
    }
    values.push_back(value);
  }
  const auto program = environment.compile(test.at("expr").get_ref<const std::string&>(),
                                           {.container = test.value("container", ""),
                                            .macros = test.at("macros").get<bool>(),
                                            .unknown_names = !test.at("check").get<bool>()});
  if (!program) {
    // A message type that is not known makes no case pass that wants an error.
    const bool lacks_types = program.error().message.starts_with("message types are not supported");
    return {lacks_types ? "cannot run" : "error", program.error().to_text()};
  }
  cel::Scratch scratch;
  const cel::Value result = program->evaluate(values, scratch);
  return {canonical(result), cel::to_cel_text(result)};
}

int run(const std::string& cases_file, const std::string& skips_file) {
  const auto skips = read_skips(skips_file);
  std::ifstream in(cases_file);
  std::map<std::string, Tally> files;
  Tally total;
  int needless = 0;
  for (std::string line; std::getline(in, line);) {
    const auto test = parse_json(line);
    if (!test) {
      std::cerr << fmt::format("{}: {}\n", cases_file, test.error().message);
      return 1;
    }
    const auto file = test->at("file").get<std::string>();
    const auto name = file + "/" + test->at("name").get<std::string>();
    const bool typed = test->at("matcher") == "typed_result";
    const Outcome outcome = run_case(*test);
    const bool good = outcome.got == test->at("want").get<std::string>();
    if (const auto skip = skips.find(name); skip != skips.end()) {
      ++files[file].skipped;
      ++total.skipped;
      if (good && !typed && outcome.got != "error") {   // an unknown name is an error, too
        ++needless;
        std::cout << fmt::format("skipped without need: {}\n", name);
      }
    } else if (good) {
      ++files[file].passed;
      ++total.passed;
    } else {
      ++files[file].failed;
      ++total.failed;
      std::cout << fmt::format("FAILED {}\n  {}\n  want {}\n  got  {} {}\n", name, test->at("expr").get<std::string>(),
                               test->at("want").get<std::string>(), outcome.got, outcome.detail);
    }
  }
  std::cout << fmt::format("{:<16} {:>7} {:>7} {:>8}\n", "file", "passed", "failed", "skipped");
  for (const auto& [file, tally] : files) {
    std::cout << fmt::format("{:<16} {:>7} {:>7} {:>8}\n", file, tally.passed, tally.failed, tally.skipped);
  }
  std::cout << fmt::format("{} passed, {} failed, {} skipped\n", total.passed, total.failed, total.skipped);
  return total.failed == 0 && needless == 0 && total.passed > 0 ? 0 : 1;
}

}  // namespace
}  // namespace nodeward::conformance

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: conformance <cases.jsonl> <skips.tsv>\n";
    return 2;
  }
  return nodeward::conformance::run(argv[1], argv[2]);
}
