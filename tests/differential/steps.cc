#include "differential/steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "base/text.h"

namespace nodeward::differential {
namespace {

const std::set<std::string> kOptions = {"accept", "as",   "end",       "json-patch", "merge", "open",
                                        "pick",   "same", "strategic", "take",       "type"};

std::string take_word(std::string_view& rest) {
  const std::size_t end = std::min(rest.find(' '), rest.size());
  std::string word(rest.substr(0, end));
  rest = trimmed(rest.substr(end));
  return word;
}

Result<Step> parse_step(std::string_view line) {
  Step step;
  step.id = take_word(line);
  step.method = take_word(line);
  step.path = take_word(line);
  if (step.path.empty()) return fail(ErrorCode::kInvalid, "a request is: id METHOD path [@option ...] [body]");
  while (line.starts_with('@')) {
    const std::string option = take_word(line).substr(1);
    const std::size_t colon = std::min(option.find(':'), option.size());
    const std::string name = option.substr(0, colon);
    if (!kOptions.contains(name)) return fail(ErrorCode::kInvalid, fmt::format("no option @{}", name));
    step.options[name] = option.substr(std::min(colon + 1, option.size()));
  }
  step.body = line;
  return step;
}

}  // namespace

std::string Step::option(const std::string& name, const std::string& otherwise) const {
  const auto found = options.find(name);
  return found == options.end() ? otherwise : found->second;
}

Result<std::vector<Step>> parse_steps(std::string_view text) {
  std::vector<Step> steps;
  std::string group;
  int number = 0;
  for (const std::string& line : split(text, '\n')) {
    ++number;
    if (trimmed(line).empty() || line.starts_with('#')) continue;
    if (line.starts_with("== ")) {
      group = line.substr(3);
    } else if (line.starts_with(' ')) {
      if (steps.empty()) return fail(ErrorCode::kInvalid, fmt::format("line {}: goes on with no request", number));
      steps.back().body += trimmed(line);
    } else {
      auto step = parse_step(trimmed(line));
      if (!step) return tl::unexpected(in_context(fmt::format("line {}", number), step.error()));
      step->group = group;
      steps.push_back(*std::move(step));
    }
  }
  return steps;
}

Result<std::vector<Step>> read_steps(const std::filesystem::path& folder) {
  std::set<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".txt") files.insert(entry.path());
  }
  std::vector<Step> all;
  std::set<std::string> ids;
  for (const std::filesystem::path& file : files) {
    NW_TRY_ASSIGN(const std::string text, read_file(file));
    auto steps = parse_steps(text);
    if (!steps) return tl::unexpected(in_context(file.filename().string(), steps.error()));
    for (Step& step : *steps) {
      if (!ids.insert(step.id).second) {
        return fail(ErrorCode::kInvalid, fmt::format("{}: two requests are called {}", file.filename().string(), step.id));
      }
      all.push_back(std::move(step));
    }
  }
  return all;
}

}  // namespace nodeward::differential
