// What one evaluation costs, on the cases of cases.json that the peer (cel-go, peer/) runs as well. bench/cel/run.sh runs both
// and prints the ratios.
#include <benchmark/benchmark.h>

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "cel/count_allocations.h"
#include "cel/document.h"
#include "cel/environment.h"

namespace nodeward::cel {
namespace {

const Json& cases() {
  static const Json loaded = *parse_json(*read_file(std::string(NW_SOURCE_DIR) + "/bench/cel/cases.json"));
  return loaded;
}

Document document(const std::string& variable) {
  return *to_document(cases().at(variable), variable == "event" ? Numbers::kDoubles : Numbers::kWhole);
}

Program compiled(const std::string& variable, const std::string& expression) {
  Environment environment;
  environment.variable(variable).extension(Extension::kStrings);
  auto program = environment.compile(expression, Wanted::kBool);
  if (!program) throw std::runtime_error(program.error().to_text());
  return *std::move(program);
}

// One expression on warm values.
void evaluate_case(benchmark::State& state, const Json& one) {
  const auto variable = one.at("variable").get<std::string>();
  const Program program = compiled(variable, one.at("expression").get<std::string>());
  const Document input = document(variable);
  const std::array values{input.root()};
  Scratch scratch;
  benchmark::DoNotOptimize(program.evaluate(values, scratch));
  const std::size_t before = allocations();
  for ([[maybe_unused]] auto _ : state) benchmark::DoNotOptimize(program.evaluate(values, scratch));
  state.counters["allocations"] = static_cast<double>(allocations() - before) / static_cast<double>(state.iterations());
}

// The event cases in turn, with another agent in each set, so that no two sets are the same.
std::vector<Program> hundred_rule_sets() {
  std::vector<std::string> expressions;
  for (const Json& one : cases().at("cases")) {
    if (one.at("variable") == "event") expressions.push_back(one.at("expression").get<std::string>());
  }
  std::vector<Program> sets;
  for (std::size_t i = 0; i < 100; ++i) {
    sets.push_back(
        compiled("event", "event.agent != 'agent-" + std::to_string(i) + "' && (" + expressions[i % expressions.size()] + ")"));
  }
  return sets;
}

void evaluate_hundred(benchmark::State& state) {
  const auto sets = hundred_rule_sets();
  const Document input = document("event");
  const std::array values{input.root()};
  Scratch scratch;
  for ([[maybe_unused]] auto _ : state) {
    for (const Program& program : sets) benchmark::DoNotOptimize(program.evaluate(values, scratch));
  }
}

void text_to_hundred_verdicts(benchmark::State& state) {
  const auto sets = hundred_rule_sets();
  const std::string text = to_text(cases().at("event"));
  Scratch scratch;
  for ([[maybe_unused]] auto _ : state) {
    const Document input = *to_document(*parse_json(text), Numbers::kDoubles);
    const std::array values{input.root()};
    for (const Program& program : sets) benchmark::DoNotOptimize(program.evaluate(values, scratch));
  }
}

}  // namespace
}  // namespace nodeward::cel

int main(int argc, char** argv) {
  using namespace nodeward::cel;
  benchmark::Initialize(&argc, argv);
  for (const auto& one : cases().at("cases")) {
    benchmark::RegisterBenchmark(one.at("name").get<std::string>().c_str(),
                                 [&one](benchmark::State& state) { evaluate_case(state, one); });
  }
  benchmark::RegisterBenchmark("100 rule sets", evaluate_hundred);
  benchmark::RegisterBenchmark("event text to 100 verdicts", text_to_hundred_verdicts);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
