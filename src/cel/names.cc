#include "cel/names.h"

#include <fmt/format.h>

#include <algorithm>

namespace nodeward::cel {
namespace {

constexpr std::string_view kTypeNames[] = {"null_type",
                                           "bool",
                                           "int",
                                           "uint",
                                           "double",
                                           "string",
                                           "bytes",
                                           "list",
                                           "map",
                                           "type",
                                           "google.protobuf.Duration",
                                           "google.protobuf.Timestamp",
                                           "optional_type"};

}  // namespace

std::string joined(std::span<const Expr* const> names) {
  std::string text;
  for (const Expr* const name : names) text += fmt::format("{}{}", text.empty() ? "" : ".", name->name);
  return text;
}

std::optional<std::string_view> literal_key(const Expr& expr) {
  if (expr.kind == ExprKind::kSelect) return expr.name;
  if (expr.kind != ExprKind::kIndex) return std::nullopt;
  const Expr& index = *expr.args[0];
  if (index.kind != ExprKind::kLiteral || !index.literal.is(Kind::kString)) return std::nullopt;
  return index.literal.text();
}

Names::Names(const std::vector<std::string>& variables, std::string_view container) : variables_(variables) {
  while (!container.empty()) {
    containers_.push_back(std::string(container) + ".");
    const auto dot = container.rfind('.');
    container = dot == std::string_view::npos ? std::string_view() : container.substr(0, dot);
  }
  containers_.emplace_back();
}

std::size_t Names::push(std::string_view name) {
  locals_.push_back(name);
  return locals_.size() - 1;
}

std::optional<std::size_t> Names::find_local(const Expr& ident) const {
  if (ident.absolute) return std::nullopt;
  const auto found = std::find(locals_.rbegin(), locals_.rend(), ident.name);
  if (found == locals_.rend()) return std::nullopt;
  return static_cast<std::size_t>(locals_.rend() - found) - 1;
}

std::optional<NameList> Names::plain(const Expr& expr) const {
  NameList names;
  const Expr* at = &expr;
  for (; at->kind == ExprKind::kSelect && !at->optional; at = at->target) names.push_back(at);
  if (at->kind != ExprKind::kIdent || find_local(*at)) return std::nullopt;
  names.push_back(at);
  std::ranges::reverse(names);
  return names;
}

std::optional<Named> Names::resolve(std::span<const Expr* const> names) const {
  for (std::size_t count = names.size(); count > 0; --count) {
    Named named{count, std::nullopt, {}};
    const bool found = in_containers(joined(names.first(count)), names[0]->absolute, [&](const std::string& full) {
      if (const auto variable = std::ranges::find(variables_, full); variable != variables_.end()) {
        named.variable = static_cast<std::size_t>(variable - variables_.begin());
        return true;
      }
      const auto* const type = std::ranges::find(kTypeNames, full);
      if (type != std::end(kTypeNames)) named.type = Value::type(*type);
      return type != std::end(kTypeNames);
    });
    if (found) return named;
  }
  return std::nullopt;
}

std::optional<Path> Names::as_path(const Expr& expr) const {
  NameList steps;   // from the end of the path to its head
  const Expr* at = &expr;
  for (; !at->optional && literal_key(*at); at = at->target) steps.push_back(at);
  if (at->kind != ExprKind::kIdent || find_local(*at)) return std::nullopt;
  NameList names = {at};
  for (auto step = steps.rbegin(); step != steps.rend() && (*step)->kind == ExprKind::kSelect; ++step) names.push_back(*step);
  const auto named = resolve(names);
  if (!named || !named->variable) return std::nullopt;
  Path path{*named->variable, {}};
  steps.resize(steps.size() - (named->consumed - 1));
  for (auto step = steps.rbegin(); step != steps.rend(); ++step) path.keys.emplace_back(*literal_key(**step));
  return path;
}

std::string Names::unknown(const Expr& name) const {
  std::string known;
  for (const std::string& variable : variables_) known += fmt::format("{}{}", known.empty() ? "" : ", ", variable);
  return known.empty() ? fmt::format("unknown name '{}'", name.name)
                       : fmt::format("unknown name '{}' (known here: {})", name.name, known);
}

}  // namespace nodeward::cel
