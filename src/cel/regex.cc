// matches(): RE2 and nothing else, so that a pattern can never take more than linear time.
#include "cel/regex.h"

#include <fmt/format.h>
#include <re2/re2.h>

namespace nodeward::cel {
namespace {

re2::StringPiece piece(std::string_view text) { return {text.data(), text.size()}; }

std::unique_ptr<re2::RE2> compile_pattern(std::string_view pattern) {
  re2::RE2::Options options;
  options.set_log_errors(false);
  return std::make_unique<re2::RE2>(piece(pattern), options);
}

Value matches(Value text, const re2::RE2& pattern, Call& call) {
  if (!text.is(Kind::kString)) return text.is_error() ? text : no_overload();
  if (!call.charge_text(text.text().size())) return Call::exhausted();
  return Value::boolean(pattern.Match(piece(text.text()), 0, text.text().size(), re2::RE2::UNANCHORED, nullptr, 0));
}

class Matches final : public Node {
 public:
  Matches(NodePtr operand, std::unique_ptr<re2::RE2> pattern) : operand_(std::move(operand)), pattern_(std::move(pattern)) {}
  Value eval(Frame& frame) const override { return matches(operand_->eval(frame), *pattern_, frame); }

 private:
  const NodePtr operand_;
  const std::unique_ptr<const re2::RE2> pattern_;
};

// Compiling costs far more than matching a short text: a macro that computes patterns must run into the bound soon.
constexpr std::size_t kPatternCost = 200;

}  // namespace

NodePtr make_matches(NodePtr operand, std::string_view pattern, std::string& problem) {
  auto compiled = compile_pattern(pattern);
  if (!compiled->ok()) {
    problem = fmt::format("the regular expression is refused: {}", compiled->error());
    return nullptr;
  }
  return std::make_unique<Matches>(std::move(operand), std::move(compiled));
}

Value matches_computed(Call& call, std::span<const Value> args) {
  if (!args[1].is(Kind::kString)) return no_overload();
  if (!call.charge(kPatternCost + 10 * args[1].text().size())) return Call::exhausted();
  const auto compiled = compile_pattern(args[1].text());
  if (!compiled->ok()) return call.error(fmt::format("the regular expression is refused: {}", compiled->error()));
  return matches(args[0], *compiled, call);
}

}  // namespace nodeward::cel
