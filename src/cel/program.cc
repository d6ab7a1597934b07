#include "cel/program.h"

#include "base/check.h"
#include "cel/node.h"
#include "cel/syntax.h"

namespace nodeward::cel {

Program::Program() = default;
Program::Program(Program&&) noexcept = default;
Program& Program::operator=(Program&&) noexcept = default;
Program::~Program() = default;

namespace {

Value checked(Value value, Kinds accepted) {
  if (value.is_error() || (kinds(value.kind()) & accepted) != 0) return value;
  return Value::error(accepted == kinds(Kind::kBool) ? "expression did not return a boolean"
                                                     : "expression did not return an int");
}

void describe(const Expr& expr, const Syntax& syntax, std::size_t depth, std::span<const TraceEntry> trace,
              std::vector<Part>& parts) {
  const TraceEntry& entry = trace[expr.id];
  parts.push_back(
      {syntax.text.substr(expr.begin, expr.end - expr.begin), expr.at, depth, entry.times > 0, entry.times, entry.value});
  if (expr.target != nullptr) describe(*expr.target, syntax, depth + 1, trace, parts);
  for (const Expr* const arg : expr.args) {
    if (arg->kind != ExprKind::kLiteral) describe(*arg, syntax, depth + 1, trace, parts);
  }
}

}  // namespace

Value Program::evaluate(std::span<const Value> variables, Scratch& scratch) const {
  NW_CHECK(variables.size() >= variables_, "each variable of the environment has a value");
  scratch.arena().reset();
  Frame frame(variables, scratch.arena(), kCostLimit);
  frame.slots = scratch.arena().array<Value>(slots_);
  return checked(root_->eval(frame), accepted_);
}

Value Program::explain(std::span<const Value> variables, Scratch& scratch, std::vector<Part>& parts) const {
  NW_CHECK(variables.size() >= variables_, "each variable of the environment has a value");
  scratch.arena().reset();
  Frame frame(variables, scratch.arena(), kCostLimit);
  frame.slots = scratch.arena().array<Value>(slots_);
  frame.trace = scratch.arena().array<TraceEntry>(syntax_->nodes.size());
  const Value value = checked(root_->eval(frame), accepted_);
  describe(*syntax_->root, *syntax_, 0, frame.trace, parts);
  return value;
}

}  // namespace nodeward::cel
