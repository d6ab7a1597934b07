#include "apps/nodeward/cel_command.h"

#include <fmt/format.h>
#include <unistd.h>
#include <algorithm>
#include <iostream>
#include <memory>

#include "apps/nodeward/event_view.h"
#include "base/text.h"
#include "cel/document.h"
#include "cel/environment.h"

namespace nodeward::apps {
namespace {

struct EvalOptions {
  std::string expression, event_file, node_file, extensions = "rules";
  bool explain = false;
};

struct Input {
  cel::Environment environment;
  std::vector<cel::Document> documents;
  std::vector<cel::Value> values;

  void declare(std::string name, cel::Document document) {
    environment.variable(std::move(name));
    values.push_back(document.root());
    documents.push_back(std::move(document));
  }
};

Result<Json> read_json(const std::string& file) {
  NW_TRY_ASSIGN(const std::string text, read_file(file));
  auto json = parse_json(text);
  if (!json) return tl::unexpected(in_context(file, json.error()));
  return json;
}

template <class View>
Result<cel::Document> read_document(const std::string& file, View&& view, cel::Numbers numbers) {
  NW_TRY_ASSIGN(Json json, read_json(file));
  auto viewed = view(std::move(json));
  if (!viewed) return tl::unexpected(in_context(file, viewed.error()));
  auto document = cel::to_document(*viewed, numbers);
  if (!document) return tl::unexpected(in_context(file, document.error()));
  return document;
}

Result<Input> read_input(const EvalOptions& options) {
  Input input;
  if (options.extensions == "all") {
    input.environment.all_extensions();
  } else {
    input.environment.extension(cel::Extension::kStrings);
  }
  if (!options.event_file.empty()) {
    NW_TRY_ASSIGN(cel::Document event, read_document(options.event_file, event_view, cel::Numbers::kDoubles));
    input.declare("event", std::move(event));
  }
  if (!options.node_file.empty()) {
    NW_TRY_ASSIGN(cel::Document node, read_document(options.node_file, node_view, cel::Numbers::kWhole));
    input.declare("node", std::move(node));
  }
  return input;
}

// At most so many bytes, cut between characters: a whole event or node says little about one of its parts.
std::string shortened(std::string text) {
  constexpr std::size_t kMost = 120;
  if (text.size() <= kMost) return text;
  std::size_t end = kMost;
  while ((text[end] & 0xC0) == 0x80) --end;
  return text.substr(0, end) + "...";
}

void print_parts(const std::vector<cel::Part>& parts) {
  const bool colours = isatty(STDOUT_FILENO) == 1;
  for (const cel::Part& part : parts) {
    std::string text(trimmed(part.text));
    std::replace(text.begin(), text.end(), '\n', ' ');
    const std::string value = part.evaluated ? shortened(cel::to_cel_text(part.value)) : "not reached";
    const std::string times = part.times > 1 ? fmt::format("  (the last of {})", part.times) : "";
    const std::string line = fmt::format("{}{}  =>  {}{}", std::string(2 * part.depth, ' '), text, value, times);
    std::cout << (colours && !part.evaluated ? "\x1b[90m" + line + "\x1b[0m" : line) << '\n';
  }
}

// The innermost part that the error came from.
std::size_t error_place(const std::vector<cel::Part>& parts) {
  std::size_t place = 0;
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const bool inside = parts[i].depth == parts[place].depth + 1;
    if (inside && parts[i].evaluated && parts[i].value.is_error() && parts[i].value.text() == parts[0].value.text()) place = i;
  }
  return parts[place].at;
}

int run_eval(const EvalOptions& options) {
  const auto input = read_input(options);
  if (!input) {
    std::cerr << input.error().message << '\n';
    return 1;
  }
  const auto program = input->environment.compile(options.expression, {.container = {}, .traced = true});
  if (!program) {
    std::cerr << program.error().to_text() << '\n';
    if (input->values.empty() && program.error().message.rfind("unknown name", 0) == 0) {
      std::cerr << "no variable is known without a file: --event FILE gives event, --node FILE gives node\n";
    }
    return 1;
  }
  cel::Scratch scratch;
  std::vector<cel::Part> parts;
  const cel::Value value = program->explain(input->values, scratch, parts);
  if (options.explain) print_parts(parts);
  if (value.is_error()) {
    std::cerr << cel::compile_error_at(options.expression, error_place(parts), std::string(value.text())).to_text() << '\n';
    return 1;
  }
  if (!options.explain) std::cout << cel::to_cel_text(value) << '\n';
  return 0;
}

}  // namespace

void add_cel_command(CLI::App& app, int& exit_code) {
  CLI::App* const cel = app.add_subcommand("cel", "Try an expression of the rule language: nodeward cel eval EXPRESSION");
  cel->require_subcommand(1);
  CLI::App* const eval = cel->add_subcommand("eval", "Print the value of an expression, as a rule would see it");
  const auto options = std::make_shared<EvalOptions>();
  eval->add_option("expression", options->expression, "The expression, in quotes")->required();
  eval->add_option("--event", options->event_file,
                   "JSON file with one health event, bare or as a database document: the variable `event`");
  eval->add_option("--node", options->node_file, "JSON file with one Node (kubectl get node NAME -o json): the variable `node`");
  eval->add_option("--ext", options->extensions, "rules: what rule files may use; all: every extension")
      ->check(CLI::IsMember({"rules", "all"}))
      ->capture_default_str();
  eval->add_flag("--explain", options->explain, "Show the value of each part");
  eval->callback([options, &exit_code] { exit_code = run_eval(*options); });
}

}  // namespace nodeward::apps
