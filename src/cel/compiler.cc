// Syntax tree -> checked tree of nodes: names are resolved, functions chosen, constants worked out, touched members noted.
#include <fmt/format.h>
#include <algorithm>
#include <optional>

#include "cel/environment.h"
#include "cel/node.h"
#include "cel/regex.h"
#include "cel/syntax.h"

namespace nodeward::cel {
namespace {

// For all constants of one expression together: bounds what 'x'.replace(...) may grow to while a rule is loaded.
constexpr std::int64_t kFoldBudget = 500'000;

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

constexpr Kinds kComputable = kinds(Kind::kInt, Kind::kUint, Kind::kDouble, Kind::kString, Kind::kBytes, Kind::kList,
                                    Kind::kDuration);

bool is_comparison(Operator op) { return op >= Operator::kLess; }

Kinds result_of(Operator op, Kinds a, Kinds b) {
  if (is_comparison(op)) return kinds(Kind::kBool);
  Kinds result = a & b & kComputable;
  if ((a & kinds(Kind::kTimestamp)) != 0 || (b & kinds(Kind::kTimestamp)) != 0)
    result |= kinds(Kind::kTimestamp, Kind::kDuration);
  return result;
}

std::string kind_names(Kinds set) {
  std::string text;
  for (const auto& [kind, name] : {std::pair{Kind::kNull, "null"},
                                   {Kind::kBool, "bool"},
                                   {Kind::kInt, "int"},
                                   {Kind::kUint, "uint"},
                                   {Kind::kDouble, "double"},
                                   {Kind::kString, "string"},
                                   {Kind::kBytes, "bytes"},
                                   {Kind::kList, "list"},
                                   {Kind::kMap, "map"},
                                   {Kind::kType, "type"},
                                   {Kind::kDuration, "duration"},
                                   {Kind::kTimestamp, "timestamp"},
                                   {Kind::kOptional, "optional"}}) {
    if ((set & kinds(kind)) != 0) text += fmt::format("{}{}", text.empty() ? "" : " or ", name);
  }
  return text.empty() ? "nothing" : text;
}

}  // namespace

// A node and what it can yield. No node: refused.
struct Built {
  NodePtr node;
  Kinds kinds = kAnyKind;
};

class Compiler {
 public:
  Compiler(const Environment& environment, const CompileOptions& options, Syntax& syntax)
      : environment_(environment),
        options_(options),
        syntax_(syntax),
        constants_(std::make_unique<Arena>()),
        fold_budget_(kFoldBudget) {
    for (std::string_view container = options_.container; !container.empty();) {
      containers_.push_back(std::string(container) + ".");
      const auto dot = container.rfind('.');
      container = dot == std::string_view::npos ? std::string_view() : container.substr(0, dot);
    }
    containers_.emplace_back();
  }

  tl::expected<Program, CompileError> run(std::unique_ptr<Syntax> owner) {
    Built root = build(*syntax_.root);
    const Kinds wanted = options_.wanted == Wanted::kBool  ? kinds(Kind::kBool)
                         : options_.wanted == Wanted::kInt ? kinds(Kind::kInt)
                                                           : kAnyKind;
    if (root.node != nullptr && (root.kinds & wanted) == 0) {
      refuse(*syntax_.root,
             fmt::format("the expression yields {}, where {} is needed", kind_names(root.kinds), kind_names(wanted)));
    }
    if (problem_) return tl::unexpected(compile_error_at(syntax_.text, problem_at_, *problem_));
    Program program;
    program.root_ = std::move(root.node);
    program.result_ = root.kinds;
    program.accepted_ = wanted;
    program.slots_ = most_slots_;
    std::ranges::sort(touches_);
    touches_.erase(std::ranges::unique(touches_).begin(), touches_.end());
    program.touches_ = std::move(touches_);
    program.constants_ = std::move(constants_);
    program.syntax_ = std::move(owner);
    return program;
  }

 private:
  struct Path {
    std::size_t variable = 0;
    std::vector<Key> keys;
  };
  struct Local {
    std::string_view name;
    std::size_t slot;
  };

  Built refuse(const Expr& where, std::string message) {
    if (!problem_) {
      problem_ = std::move(message);
      problem_at_ = where.at;
    }
    return {};
  }

  Built unknown(const Expr& where, std::string message) {
    if (!options_.unknown_names) return refuse(where, std::move(message));
    return {make_constant(Value::error(constants_->copy(message))), kAnyKind};
  }

  // --- names

  const Local* find_local(const Expr& ident) const {
    if (ident.absolute) return nullptr;
    const auto found = std::find_if(locals_.rbegin(), locals_.rend(),
                                    [&](const Local& local) { return local.name == ident.name; });
    return found == locals_.rend() ? nullptr : &*found;
  }

  // a.b.c as names from the front, when it is nothing but names and its head is no macro variable.
  std::optional<std::vector<const Expr*>> plain_names(const Expr& expr) const {
    std::vector<const Expr*> names;
    const Expr* at = &expr;
    for (; at->kind == ExprKind::kSelect && !at->optional; at = at->target) names.push_back(at);
    if (at->kind != ExprKind::kIdent || find_local(*at) != nullptr) return std::nullopt;
    names.push_back(at);
    std::ranges::reverse(names);
    return names;
  }
  static std::string joined(std::span<const Expr* const> names) {
    std::string text;
    for (const Expr* const name : names) text += fmt::format("{}{}", text.empty() ? "" : ".", name->name);
    return text;
  }
  // Calls use(full name) for each place the name could stand for, the nearest first, until it says yes.
  template <class Use>
  bool in_containers(std::string_view name, bool absolute, Use&& use) const {
    if (absolute) return use(std::string(name));
    return std::ranges::any_of(containers_, [&](const std::string& container) { return use(container + std::string(name)); });
  }

  struct Named {
    std::size_t consumed = 0;               // how many of the names it took
    std::optional<std::size_t> variable;
    Value type;
  };
  std::optional<Named> resolve(std::span<const Expr* const> names) const {
    for (std::size_t count = names.size(); count > 0; --count) {
      Named named{count, std::nullopt, {}};
      const bool found = in_containers(joined(names.first(count)), names[0]->absolute, [&](const std::string& full) {
        const auto& variables = environment_.variables();
        if (const auto variable = std::ranges::find(variables, full); variable != variables.end()) {
          named.variable = static_cast<std::size_t>(variable - variables.begin());
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

  static std::optional<std::string_view> literal_key(const Expr& expr) {
    if (expr.kind == ExprKind::kSelect && !expr.optional) return expr.name;
    if (expr.kind != ExprKind::kIndex || expr.optional) return std::nullopt;
    const Expr& index = *expr.args[0];
    if (index.kind != ExprKind::kLiteral || !index.literal.is(Kind::kString)) return std::nullopt;
    return index.literal.text();
  }

  // expr as a variable and literal keys below it: node.metadata.labels['k'].
  std::optional<Path> as_path(const Expr& expr) const {
    std::vector<Key> keys;
    const Expr* at = &expr;
    for (;;) {
      if (const auto names = plain_names(*at)) {
        const auto named = resolve(*names);
        if (!named || !named->variable) return std::nullopt;
        Path path{*named->variable, {}};
        for (std::size_t i = named->consumed; i < names->size(); ++i) path.keys.emplace_back((*names)[i]->name);
        path.keys.insert(path.keys.end(), keys.rbegin(), keys.rend());
        return path;
      }
      const auto key = literal_key(*at);
      if (!key) return std::nullopt;
      keys.emplace_back(*key);
      at = at->target;
    }
  }

  void touch(const Path& path, bool presence_only) {
    Touch touched{environment_.variables()[path.variable], {}, presence_only};
    for (const Key& key : path.keys) touched.path.emplace_back(key.text);
    touches_.push_back(std::move(touched));
  }

  // --- nodes

  Built built(const Expr& expr, NodePtr node, Kinds result) {
    ++nodes_built_;
    if (options_.traced) return {make_traced(std::move(node), expr.id), result};
    const bool is_literal = expr.kind == ExprKind::kLiteral;
    if (is_literal || !node->constant()) return {std::move(node), result};
    Frame frame({}, *constants_, fold_budget_);
    const Value value = node->eval(frame);
    fold_budget_ = std::max<std::int64_t>(frame.budget_left(), 0);
    if (value.is_error()) return {std::move(node), result};
    return {make_constant(value), kinds(value.kind())};
  }
  std::optional<Value> constant_of(const Built& part) {
    if (!part.node->constant()) return std::nullopt;
    Frame frame({}, *constants_, 0);
    const Value value = part.node->eval(frame);
    return value.is_error() ? std::nullopt : std::optional(value);
  }

  Built build(const Expr& expr) {
    switch (expr.kind) {
      case ExprKind::kLiteral: return built(expr, make_constant(expr.literal), kinds(expr.literal.kind()));
      case ExprKind::kIdent:
      case ExprKind::kSelect:
      case ExprKind::kIndex: return build_reference(expr, true);
      case ExprKind::kHas: return build_has(expr);
      case ExprKind::kCall: return build_call(expr);
      case ExprKind::kList:
      case ExprKind::kMap: return build_collection(expr);
      case ExprKind::kNot: return build_not(expr);
      case ExprKind::kNegate: return build_negate(expr);
      case ExprKind::kChain: return build_chain(expr);
      case ExprKind::kAnd:
      case ExprKind::kOr: return build_logic(expr);
      case ExprKind::kConditional: return build_conditional(expr);
      case ExprKind::kMacro: return build_macro(expr);
    }
    return {};
  }

  Nodes build_all(std::span<Expr* const> exprs, Kinds* together = nullptr) {
    Nodes nodes;
    nodes.reserve(exprs.size());
    for (const Expr* const expr : exprs) {
      Built part = build(*expr);
      if (part.node == nullptr) return {};
      if (together != nullptr) *together |= part.kinds;
      nodes.push_back(std::move(part.node));
    }
    return nodes;
  }

  // `whole`: all below is looked at; else the caller has noted what is.
  Built build_reference(const Expr& expr, bool whole) {
    if (const auto path = as_path(expr)) {
      if (whole) touch(*path, false);
      if (!options_.traced) {
        ++nodes_built_;
        if (path->keys.empty()) return {make_variable(path->variable), kAnyKind};
        return {make_variable_path(path->variable, path->keys), kAnyKind};
      }
    }
    if (const auto names = plain_names(expr)) {
      const auto named = resolve(*names);
      if (!named) return unknown(*names->front(), unknown_name(*names->front()));
      if (named->consumed == names->size()) {
        return named->variable ? built(expr, make_variable(*named->variable), kAnyKind)
                               : built(expr, make_constant(named->type), kinds(Kind::kType));
      }
    }
    if (expr.kind == ExprKind::kIdent) return built(expr, make_slot(find_local(expr)->slot), kAnyKind);
    return build_step(expr);
  }

  // The operand of a member step; on the way down nothing is touched whole when the path is noted at the top.
  Built build_step(const Expr& expr) {
    const auto below = as_path(*expr.target);
    std::string_view key = expr.name;
    bool literal = expr.kind == ExprKind::kSelect;
    if (expr.kind == ExprKind::kIndex && expr.args[0]->kind == ExprKind::kLiteral && expr.args[0]->literal.is(Kind::kString)) {
      key = expr.args[0]->literal.text();
      literal = true;
    }
    if (below && literal && expr.optional) {
      Path path = *below;
      path.keys.emplace_back(key);
      touch(path, false);
    }
    Built operand = below ? build_reference(*expr.target, !literal) : build(*expr.target);
    if (operand.node == nullptr) return {};
    if (expr.kind == ExprKind::kSelect)
      return built(expr, make_select(std::move(operand.node), Key(expr.name), expr.optional), kAnyKind);
    Built index = build(*expr.args[0]);
    if (index.node == nullptr) return {};
    return built(expr, make_index(std::move(operand.node), std::move(index.node), expr.optional), kAnyKind);
  }

  std::string unknown_name(const Expr& name) const {
    std::string known;
    for (const std::string& variable : environment_.variables())
      known += fmt::format("{}{}", known.empty() ? "" : ", ", variable);
    return known.empty() ? fmt::format("unknown name '{}'", name.name)
                         : fmt::format("unknown name '{}' (known here: {})", name.name, known);
  }

  Built build_has(const Expr& expr) {
    const auto below = as_path(*expr.target);
    if (below) {
      Path path = *below;
      path.keys.emplace_back(expr.name);
      touch(path, true);
    }
    Built operand = below ? build_reference(*expr.target, false) : build(*expr.target);
    if (operand.node == nullptr) return {};
    return built(expr, make_has(std::move(operand.node), Key(expr.name)), kinds(Kind::kBool));
  }

  Built build_collection(const Expr& expr) {
    Nodes items = build_all(expr.args);
    if (problem_) return {};
    if (expr.kind == ExprKind::kList) return built(expr, make_list(std::move(items), expr.optionals), kinds(Kind::kList));
    return built(expr, make_map(std::move(items), expr.optionals), kinds(Kind::kMap));
  }

  Built build_not(const Expr& expr) {
    Built operand = build(*expr.target);
    if (operand.node == nullptr) return {};
    return built(expr, make_not(std::move(operand.node), expr.count), kinds(Kind::kBool));
  }
  Built build_negate(const Expr& expr) {
    Built operand = build(*expr.target);
    if (operand.node == nullptr) return {};
    return built(expr, make_negate(std::move(operand.node), expr.count), operand.kinds & kinds(Kind::kInt, Kind::kDouble));
  }

  Built build_chain(const Expr& expr) {
    if (expr.operators.size() == 1) return build_binary(expr);
    Nodes operands;
    Kinds result = 0;
    for (std::size_t i = 0; i < expr.args.size(); ++i) {
      Built operand = build(*expr.args[i]);
      if (operand.node == nullptr) return {};
      result = i == 0 ? operand.kinds : result_of(expr.operators[i - 1], result, operand.kinds);
      operands.push_back(std::move(operand.node));
    }
    return built(expr, make_chain(std::move(operands), expr.operators), result);
  }

  [[gnu::noinline]] Built build_binary(const Expr& expr) {
    const Operator op = expr.operators[0];
    const Expr& right_expr = *expr.args[1];
    Built left = build(*expr.args[0]);
    if (left.node == nullptr) return {};
    Built right = op == Operator::kIn ? build_range(right_expr, *expr.args[0]) : build(right_expr);
    if (right.node == nullptr) return {};
    const Kinds result = result_of(op, left.kinds, right.kinds);
    if (options_.traced) return built(expr, binary(std::move(left), std::move(right), expr), result);
    if (op == Operator::kEqual || op == Operator::kNotEqual) {
      const bool negated = op == Operator::kNotEqual;
      if (const auto text = constant_of(right); text && text->is(Kind::kString)) {
        return {make_equals_text(std::move(left.node), text->text(), negated), result};
      }
      if (const auto text = constant_of(left); text && text->is(Kind::kString)) {
        return {make_equals_text(std::move(right.node), text->text(), negated), result};
      }
    }
    if (const auto key = op == Operator::kIn ? constant_of(left) : std::nullopt;
        key && key->is(Kind::kString) && !right.node->constant()) {
      return {make_in_with_key(Key(key->text()), std::move(right.node)), result};
    }
    if (const auto list = op == Operator::kIn ? constant_of(right) : std::nullopt; list && list->is(Kind::kList)) {
      return {make_in_set(std::move(left.node), as_set(list->items())), result};
    }
    return built(expr, binary(std::move(left), std::move(right), expr), result);
  }
  static NodePtr binary(Built left, Built right, const Expr& expr) {
    Nodes operands;
    operands.push_back(std::move(left.node));
    operands.push_back(std::move(right.node));
    return make_chain(std::move(operands), expr.operators);
  }
  Value as_set(std::span<const Value> items) {
    MapBuilder builder(*constants_, items.size());
    for (const Value item : items) builder.add(item, Value::null());   // a repeat is simply not added again
    return builder.finish();
  }
  // 'k' in node.metadata.labels looks at one key only.
  Built build_range(const Expr& range, const Expr& item) {
    auto path = as_path(range);
    if (!path || item.kind != ExprKind::kLiteral || !item.literal.is(Kind::kString)) return build(range);
    path->keys.emplace_back(item.literal.text());
    touch(*path, true);
    return build_reference(range, false);
  }

  Built build_logic(const Expr& expr) {
    Nodes operands = build_all(expr.args);
    if (problem_) return {};
    return built(expr, expr.kind == ExprKind::kAnd ? make_and(std::move(operands)) : make_or(std::move(operands)),
                 kinds(Kind::kBool));
  }

  Built build_conditional(const Expr& expr) {
    Nodes operands;
    Kinds result = 0;
    for (std::size_t i = 0; i < expr.args.size(); ++i) {
      Built operand = build(*expr.args[i]);
      if (operand.node == nullptr) return {};
      if (i % 2 == 1 || i + 1 == expr.args.size()) result |= operand.kinds;
      operands.push_back(std::move(operand.node));
    }
    return built(expr, make_conditional(std::move(operands)), result);
  }

  // --- calls

  // The function of a.b.f(x), when a.b.f is the full name of one.
  const Function* find_namespaced(const Expr& expr, std::string& name) const {
    if (expr.target == nullptr) return nullptr;
    const auto names = plain_names(*expr.target);
    if (!names) return nullptr;
    const Function* function = nullptr;
    in_containers(fmt::format("{}.{}", joined(*names), expr.name), names->front()->absolute, [&](const std::string& full) {
      name = full;
      function = find_function(full, false, expr.args.size());
      return function != nullptr || has_function(full);
    });
    return function;
  }
  bool has_function(std::string_view name) const {
    return std::ranges::any_of(environment_.functions(), [&](const Function& function) { return function.name == name; });
  }
  const Function* find_function(std::string_view name, bool member, std::size_t arguments) const {
    for (const Function& function : environment_.functions()) {
      const FunctionShape& shape = function.shape;
      if (function.name == name && shape.member == member && arguments >= shape.least && arguments <= shape.most)
        return &function;
    }
    return nullptr;
  }

  Built build_call(const Expr& expr) {
    std::string name(expr.name);
    const Function* function = find_namespaced(expr, name);
    const bool namespaced = function != nullptr || (expr.target != nullptr && has_function(name) && name != expr.name);
    const bool member = expr.target != nullptr && !namespaced;
    if (member) {
      name = expr.name;
      function = find_function(name, true, expr.args.size() + 1);
    } else if (!namespaced) {
      in_containers(expr.name, expr.absolute, [&](const std::string& full) {
        function = find_function(full, false, expr.args.size());
        return function != nullptr;
      });
    }
    Nodes arguments;
    if (member) {
      Built receiver = build(*expr.target);
      if (receiver.node == nullptr) return {};
      arguments.push_back(std::move(receiver.node));
    }
    if (function == nullptr) return unknown(expr, wrong_call(name, member, expr.args.size()));
    for (const Expr* const argument : expr.args) {
      Built part = build(*argument);
      if (part.node == nullptr) return {};
      arguments.push_back(std::move(part.node));
    }
    return finish_call(expr, *function, std::move(arguments));
  }

  Built finish_call(const Expr& expr, const Function& function, Nodes arguments) {
    if (function.body == matches_computed) {
      const Expr& pattern = *expr.args.back();
      if (pattern.kind == ExprKind::kLiteral && pattern.literal.is(Kind::kString)) {
        std::string problem;
        NodePtr node = make_matches(std::move(arguments[0]), pattern.literal.text(), problem);
        return node == nullptr ? refuse(pattern, problem) : built(expr, std::move(node), function.shape.result);
      }
    }
    if (function.body == optional_or || function.body == optional_or_value) {
      const bool unwraps = function.body == optional_or_value;
      return built(expr, make_optional_or(std::move(arguments[0]), std::move(arguments[1]), unwraps), function.shape.result);
    }
    return built(expr, make_call(function.body, std::move(arguments)), function.shape.result);
  }

  std::string wrong_call(const std::string& name, bool member, std::size_t arguments) const {
    bool as_member = false, as_global = false;
    for (const Function& function : environment_.functions()) {
      if (function.name == name) (function.shape.member ? as_member : as_global) = true;
    }
    if (!as_member && !as_global) return fmt::format("unknown function '{}'", name);
    if (member && !as_member) return fmt::format("'{0}' is called as {0}(x), not as x.{0}()", name);
    if (!member && !as_global) return fmt::format("'{0}' is called as x.{0}(), not as {0}(x)", name);
    return fmt::format("'{}' does not take {} argument{}", name, arguments, arguments == 1 ? "" : "s");
  }

  // --- macros

  Built build_macro(const Expr& expr) {
    MacroParts parts{.macro = expr.macro, .range = nullptr, .filter = nullptr, .body = nullptr};
    Built range = build(*expr.target);
    if (range.node == nullptr) return {};
    parts.range = std::move(range.node);
    parts.two_variables = !expr.variable2.empty();
    parts.slot = locals_.size();
    locals_.push_back({expr.variable, parts.slot});
    if (parts.two_variables) locals_.push_back({expr.variable2, parts.slot + 1});
    most_slots_ = std::max(most_slots_, locals_.size());
    const std::size_t before = nodes_built_;
    Built body = build_macro_body(expr, parts);
    parts.body_cost = 1 + nodes_built_ - before;
    locals_.resize(parts.slot);
    if (body.node == nullptr) return {};
    parts.body = std::move(body.node);
    const Kinds result = macro_result(expr.macro, body.kinds);
    return built(expr, make_macro(std::move(parts)), result);
  }
  Built build_macro_body(const Expr& expr, MacroParts& parts) {
    const bool filtered = expr.args.size() == 2 || expr.macro == Macro::kFilter;
    if (filtered) {
      Built filter = build(*expr.args[0]);
      if (filter.node == nullptr) return {};
      parts.filter = std::move(filter.node);
    }
    if (expr.macro == Macro::kFilter) return {make_slot(parts.slot), kAnyKind};
    return build(*expr.args.back());
  }
  static Kinds macro_result(Macro macro, Kinds body) {
    switch (macro) {
      case Macro::kAll:
      case Macro::kExists:
      case Macro::kExistsOne: return kinds(Kind::kBool);
      case Macro::kMap:
      case Macro::kFilter:
      case Macro::kTransformList: return kinds(Kind::kList);
      case Macro::kTransformMap:
      case Macro::kTransformMapEntry: return kinds(Kind::kMap);
      case Macro::kBind: return body;
      case Macro::kOptMap:
      case Macro::kOptFlatMap: return kinds(Kind::kOptional);
    }
    return kAnyKind;
  }

  const Environment& environment_;
  const CompileOptions& options_;
  Syntax& syntax_;
  std::unique_ptr<Arena> constants_;
  std::int64_t fold_budget_;
  std::vector<std::string> containers_;   // "a.b.", "a.", ""
  std::vector<Local> locals_;
  std::size_t most_slots_ = 0;
  std::size_t nodes_built_ = 0;
  std::vector<Touch> touches_;
  std::optional<std::string> problem_;
  std::size_t problem_at_ = 0;
};

tl::expected<Program, CompileError> Environment::compile(std::string_view text, const CompileOptions& options) const {
  auto parsed = parse(text, {.optional_syntax = has(Extension::kOptionals),
                             .two_variable_macros = has(Extension::kTwoVariableMacros),
                             .bindings = has(Extension::kBindings),
                             .macros = options.macros});
  if (!parsed) return tl::unexpected(std::move(parsed).error());
  auto syntax = std::make_unique<Syntax>(*std::move(parsed));
  Syntax& tree = *syntax;
  return Compiler(*this, options, tree).run(std::move(syntax));
}

tl::expected<Program, CompileError> Environment::compile(std::string_view text, Wanted wanted) const {
  return compile(text, CompileOptions{.wanted = wanted, .container = {}});
}

}  // namespace nodeward::cel
