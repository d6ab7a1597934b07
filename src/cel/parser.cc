#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <string>

#include "cel/lexer.h"
#include "cel/syntax.h"
#include "cel/unicode.h"

namespace nodeward::cel {
namespace {

constexpr std::array<std::string_view, 17> kReserved = {"as",        "break",  "const",  "continue", "else", "for",
                                                        "function",  "if",     "import", "let",      "loop", "package",
                                                        "namespace", "return", "var",    "void",     "while"};
constexpr std::array<std::string_view, 4> kWordTokens = {"in", "true", "false", "null"};

constexpr int kOrLevel = 0, kAndLevel = 1;

struct BinaryOperator {
  std::string_view text;
  int level;
  Operator op;
};
constexpr BinaryOperator kBinaryOperators[] = {{"||", kOrLevel, {}},          {"&&", kAndLevel, {}},
                                               {"<", 2, Operator::kLess},     {"<=", 2, Operator::kLessEqual},
                                               {">", 2, Operator::kGreater},  {">=", 2, Operator::kGreaterEqual},
                                               {"==", 2, Operator::kEqual},   {"!=", 2, Operator::kNotEqual},
                                               {"in", 2, Operator::kIn},      {"+", 3, Operator::kAdd},
                                               {"-", 3, Operator::kSubtract}, {"*", 4, Operator::kMultiply},
                                               {"/", 4, Operator::kDivide},   {"%", 4, Operator::kModulo}};

struct MacroRule {
  std::string_view name;
  std::size_t arguments;
  Macro macro;
  bool two_variables;
  bool SyntaxOptions::*needs;   // nullptr: standard
};
constexpr MacroRule kMacroRules[] = {
    {"all", 2, Macro::kAll, false, nullptr},
    {"exists", 2, Macro::kExists, false, nullptr},
    {"exists_one", 2, Macro::kExistsOne, false, nullptr},
    {"existsOne", 2, Macro::kExistsOne, false, &SyntaxOptions::two_variable_macros},
    {"map", 2, Macro::kMap, false, nullptr},
    {"map", 3, Macro::kMap, false, nullptr},
    {"filter", 2, Macro::kFilter, false, nullptr},
    {"all", 3, Macro::kAll, true, &SyntaxOptions::two_variable_macros},
    {"exists", 3, Macro::kExists, true, &SyntaxOptions::two_variable_macros},
    {"exists_one", 3, Macro::kExistsOne, true, &SyntaxOptions::two_variable_macros},
    {"existsOne", 3, Macro::kExistsOne, true, &SyntaxOptions::two_variable_macros},
    {"transformList", 3, Macro::kTransformList, true, &SyntaxOptions::two_variable_macros},
    {"transformList", 4, Macro::kTransformList, true, &SyntaxOptions::two_variable_macros},
    {"transformMap", 3, Macro::kTransformMap, true, &SyntaxOptions::two_variable_macros},
    {"transformMap", 4, Macro::kTransformMap, true, &SyntaxOptions::two_variable_macros},
    {"transformMapEntry", 3, Macro::kTransformMapEntry, true, &SyntaxOptions::two_variable_macros},
    {"transformMapEntry", 4, Macro::kTransformMapEntry, true, &SyntaxOptions::two_variable_macros},
    {"optMap", 2, Macro::kOptMap, false, &SyntaxOptions::optional_syntax},
    {"optFlatMap", 2, Macro::kOptFlatMap, false, &SyntaxOptions::optional_syntax},
};

// Recursive descent. Every parse_ function returns nullptr once refuse() was called; the first refusal stands.
class Parser {
 public:
  Parser(Syntax& syntax, const SyntaxOptions& options, std::vector<Token> tokens)
      : syntax_(syntax), options_(options), tokens_(std::move(tokens)) {}

  bool run() {
    syntax_.root = parse_expression();
    if (syntax_.root == nullptr) return false;
    if (token().kind != TokenKind::kEnd) return refuse_token("an operator or the end") != nullptr;
    return true;
  }
  CompileError take_error() { return compile_error_at(syntax_.text, error_at_, std::move(error_)); }

 private:
  const Token& token() const { return tokens_[next_]; }
  std::string_view spelling(const Token& token) const { return syntax_.text.substr(token.begin, token.end - token.begin); }
  bool at(std::string_view punctuation) const {
    return token().kind == TokenKind::kPunctuation && spelling(token()) == punctuation;
  }
  bool at_word(std::string_view word) const { return token().kind == TokenKind::kIdentifier && spelling(token()) == word; }
  bool take(std::string_view punctuation) {
    if (!at(punctuation)) return false;
    ++next_;
    return true;
  }

  Expr* refuse(std::size_t where, std::string message) {
    if (error_.empty()) {
      error_ = std::move(message);
      error_at_ = where;
    }
    return nullptr;
  }
  Expr* refuse_token(std::string_view wanted) {
    if (token().kind == TokenKind::kEnd) {
      return refuse(token().begin,
                    next_ == 0 ? "the expression is empty" : fmt::format("the expression ends where {} should come", wanted));
    }
    return refuse(token().begin, fmt::format("unexpected '{}' where {} should come", spelling(token()).substr(0, 40), wanted));
  }
  bool expect(std::string_view punctuation) {
    if (take(punctuation)) return true;
    refuse_token(fmt::format("'{}'", punctuation));
    return false;
  }

  Expr* make(ExprKind kind, std::size_t begin, std::size_t where) {
    Expr* const expr = &syntax_.arena.array<Expr>(1)[0];
    expr->kind = kind;
    expr->begin = static_cast<std::uint32_t>(begin);
    expr->at = static_cast<std::uint32_t>(where);
    expr->id = static_cast<std::uint32_t>(syntax_.nodes.size());
    syntax_.nodes.push_back(expr);
    return expr;
  }
  // Sets end and height once target and args are in place.
  Expr* close(Expr* expr) {
    expr->end = next_ == 0 ? expr->begin : tokens_[next_ - 1].end;
    std::uint32_t below = expr->target == nullptr ? 0 : expr->target->height;
    for (const Expr* const arg : expr->args) below = std::max(below, arg->height);
    expr->height = below + 1;
    if (expr->height > kMaxHeight) {
      return refuse(expr->at, fmt::format("more than {} nested parts; split the rule into several", kMaxHeight));
    }
    return expr;
  }
  template <class T>
  std::span<T> keep(const std::vector<T>& items) {
    const auto kept = syntax_.arena.array<T>(items.size());
    std::copy(items.begin(), items.end(), kept.begin());
    return kept;
  }

  Expr* parse_expression() {
    if (++brackets_ > kMaxBrackets + 1) {   // the whole text is level one
      return refuse(token().begin, fmt::format("more than {} levels of nesting", kMaxBrackets));
    }
    Expr* const first = parse_binary(kOrLevel);
    Expr* const result = first != nullptr && at("?") ? parse_conditional(first) : first;
    --brackets_;
    return result;
  }

  // c1 ? v1 : c2 ? v2 : v3 is one node with the operands c1, v1, c2, v2, v3.
  [[gnu::noinline]] Expr* parse_conditional(Expr* first) {
    Expr* const expr = make(ExprKind::kConditional, first->begin, token().begin);
    std::vector<Expr*> operands = {first};
    while (take("?")) {
      Expr* const chosen = parse_binary(kOrLevel);
      if (chosen == nullptr || !expect(":")) return nullptr;
      Expr* const next = parse_binary(kOrLevel);
      if (next == nullptr) return nullptr;
      operands.push_back(chosen);
      operands.push_back(next);
    }
    expr->args = keep(operands);
    return close(expr);
  }

  const BinaryOperator* binary_operator() const {
    if (token().kind != TokenKind::kPunctuation && !at_word("in")) return nullptr;
    const std::string_view text = spelling(token());
    for (const BinaryOperator& candidate : kBinaryOperators) {
      if (candidate.text == text) return &candidate;
    }
    return nullptr;
  }

  Expr* parse_binary(int lowest) {
    Expr* left = parse_unary();
    while (left != nullptr) {
      const BinaryOperator* const op = binary_operator();
      if (op == nullptr || op->level < lowest) break;
      left = parse_chain(left, op->level);
    }
    return left;
  }

  // Operators of one level associate to the left and make one node.
  [[gnu::noinline]] Expr* parse_chain(Expr* first, int level) {
    const ExprKind kind = level == kOrLevel ? ExprKind::kOr : level == kAndLevel ? ExprKind::kAnd : ExprKind::kChain;
    Expr* const expr = make(kind, first->begin, token().begin);
    std::vector<Expr*> operands = {first};
    std::vector<Operator> operators;
    for (const BinaryOperator* op = binary_operator(); op != nullptr && op->level == level; op = binary_operator()) {
      ++next_;
      Expr* const operand = parse_binary(level + 1);
      if (operand == nullptr) return nullptr;
      operators.push_back(op->op);
      operands.push_back(operand);
    }
    expr->args = keep(operands);
    if (kind == ExprKind::kChain) expr->operators = keep(operators);
    return close(expr);
  }

  Expr* parse_unary() {
    if (!at("!") && !at("-")) return parse_member();
    return parse_signs();
  }
  [[gnu::noinline]] Expr* parse_signs() {
    const Token first = token();
    const std::string_view sign = spelling(first);
    std::uint32_t count = 0;
    while (take(sign)) ++count;
    const bool number = token().kind == TokenKind::kInt || token().kind == TokenKind::kDouble;
    if (sign == "-" && number) {   // the sign belongs to the literal, so that the least int can be written
      --count;
      --next_;
    }
    if (count == 0) return parse_member();
    Expr* const expr = make(sign == "!" ? ExprKind::kNot : ExprKind::kNegate, first.begin, first.begin);
    expr->count = count;
    expr->target = parse_member();
    return expr->target == nullptr ? nullptr : close(expr);
  }

  Expr* parse_member() {
    Expr* expr = parse_primary();
    while (expr != nullptr) {
      if (at(".")) {
        expr = parse_dot(expr);
      } else if (at("[")) {
        expr = parse_index(expr);
      } else if (at("{") && (expr->kind == ExprKind::kIdent || expr->kind == ExprKind::kSelect)) {
        return refuse(expr->begin,
                      fmt::format("message types are not supported: '{}'",
                                  syntax_.text.substr(expr->begin, std::min<std::size_t>(expr->end - expr->begin, 80))));
      } else {
        break;
      }
    }
    return expr;
  }

  bool take_question() {
    if (!at("?")) return false;
    if (!options_.optional_syntax) {
      refuse(token().begin, "the optional syntax (.? and [?) is not part of this environment");
      return true;
    }
    ++next_;
    return true;
  }

  [[gnu::noinline]] Expr* parse_dot(Expr* target) {
    ++next_;
    const bool optional = take_question();
    if (!error_.empty()) return nullptr;
    const Token name = token();
    const bool word = name.kind == TokenKind::kIdentifier && std::ranges::find(kWordTokens, spelling(name)) == kWordTokens.end();
    if (!word && name.kind != TokenKind::kQuotedIdentifier) return refuse_token("a member name");
    ++next_;
    if (word && !optional && at("(")) return parse_member_call(target, name);
    Expr* const expr = make(ExprKind::kSelect, target->begin, name.begin);
    expr->optional = optional;
    expr->target = target;
    expr->name = spelling(name);
    if (!word) expr->name = expr->name.substr(1, expr->name.size() - 2);
    return close(expr);
  }

  [[gnu::noinline]] Expr* parse_index(Expr* target) {
    Expr* const expr = make(ExprKind::kIndex, target->begin, token().begin);
    ++next_;
    expr->optional = take_question();
    if (!error_.empty()) return nullptr;
    Expr* const index = parse_expression();
    if (index == nullptr || !expect("]")) return nullptr;
    expr->target = target;
    expr->args = keep<Expr*>({index});
    return close(expr);
  }

  bool parse_arguments(std::vector<Expr*>& arguments) {
    ++next_;
    if (take(")")) return true;
    do {
      Expr* const argument = parse_expression();
      if (argument == nullptr) return false;
      arguments.push_back(argument);
    } while (take(","));
    return expect(")");
  }

  [[gnu::noinline]] Expr* parse_member_call(Expr* target, const Token& name) {
    Expr* const expr = make(ExprKind::kCall, target->begin, name.begin);
    expr->name = spelling(name);
    expr->target = target;
    std::vector<Expr*> arguments;
    if (!parse_arguments(arguments)) return nullptr;
    expr->args = keep(arguments);
    return expand_member_macro(*expr) ? close(expr) : nullptr;
  }

  bool expand_member_macro(Expr& call) {
    if (!options_.macros) return true;
    if (options_.bindings && call.name == "bind" && call.args.size() == 3 && call.target->kind == ExprKind::kIdent &&
        call.target->name == "cel") {
      call.target = call.args[1];
      return become_macro(call, Macro::kBind, call.args[0], nullptr, call.args.subspan(2));
    }
    for (const MacroRule& rule : kMacroRules) {
      if (rule.name != call.name || rule.arguments != call.args.size()) continue;
      if (rule.needs != nullptr && !(options_.*rule.needs)) continue;
      return rule.two_variables ? become_macro(call, rule.macro, call.args[0], call.args[1], call.args.subspan(2))
                                : become_macro(call, rule.macro, call.args[0], nullptr, call.args.subspan(1));
    }
    return true;
  }

  bool become_macro(Expr& call, Macro macro, const Expr* variable, const Expr* variable2, std::span<Expr*> rest) {
    for (const Expr* const name : {variable, variable2}) {
      if (name == nullptr || (name->kind == ExprKind::kIdent && !name->absolute)) continue;
      return refuse(name->at, fmt::format("{}() needs a plain name for its variable here", call.name)) != nullptr;
    }
    if (variable2 != nullptr && variable->name == variable2->name) {
      return refuse(variable2->at, fmt::format("{}() needs two different names", call.name)) != nullptr;
    }
    call.kind = ExprKind::kMacro;
    call.macro = macro;
    call.variable = variable->name;
    if (variable2 != nullptr) call.variable2 = variable2->name;
    call.args = rest;
    return true;
  }

  Expr* parse_primary() {
    const Token start = token();
    switch (start.kind) {
      case TokenKind::kInt:
      case TokenKind::kUint:
      case TokenKind::kDouble: return parse_number();
      case TokenKind::kString:
      case TokenKind::kBytes: return parse_text();
      case TokenKind::kIdentifier: return parse_name(false);
      default: break;
    }
    if (at("(")) {
      ++next_;
      Expr* const inner = parse_expression();
      return inner != nullptr && expect(")") ? inner : nullptr;
    }
    if (at("[")) return parse_list();
    if (at("{")) return parse_map();
    if (at("-")) return parse_number();
    if (at(".")) {
      ++next_;
      if (token().kind != TokenKind::kIdentifier) return refuse_token("a name");
      return parse_name(true);
    }
    return refuse_token("a value");
  }

  Expr* literal(const Token& from, Value value) {
    Expr* const expr = make(ExprKind::kLiteral, from.begin, from.begin);
    expr->literal = value;
    return close(expr);
  }

  [[gnu::noinline]] Expr* parse_number() {
    const Token start = token();
    const bool negative = take("-");
    const Token number = token();
    std::string_view digits = spelling(number);
    ++next_;
    if (number.kind == TokenKind::kDouble) {
      double value = 0;
      const auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
      if (problem == std::errc::result_out_of_range)
        value = std::strtod(std::string(digits).c_str(), nullptr);   // infinite or tiny
      if (std::isinf(value)) return refuse(start.begin, "the number is too large for a double");
      return literal(start, Value::number(negative ? -value : value));
    }
    if (number.kind == TokenKind::kUint) digits.remove_suffix(1);
    const bool hex = digits.starts_with("0x");
    if (hex) digits.remove_prefix(2);
    std::uint64_t value = 0;
    const auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), value, hex ? 16 : 10);
    constexpr std::uint64_t kMax = std::numeric_limits<std::int64_t>::max();
    const std::uint64_t most = number.kind == TokenKind::kUint ? std::numeric_limits<std::uint64_t>::max()
                                                               : kMax + (negative ? 1 : 0);
    if (problem != std::errc() || value > most) {
      return refuse(start.begin, number.kind == TokenKind::kUint ? "the number does not fit 64 bits"
                                                                 : "the number does not fit a signed 64-bit int");
    }
    if (number.kind == TokenKind::kUint) return literal(start, Value::uint(value));
    return literal(start, Value::integer(static_cast<std::int64_t>(negative ? 0 - value : value)));
  }

  [[gnu::noinline]] Expr* parse_text() {
    const Token start = token();
    const auto content = literal_content(syntax_.text, start);
    if (!content) return refuse(content.error(), "no such escape; a backslash itself is written \\\\, or use r'...'");
    ++next_;
    const std::string_view kept = syntax_.arena.copy(*content);
    return literal(start, start.kind == TokenKind::kBytes ? Value::bytes(kept) : Value::string(kept));
  }

  [[gnu::noinline]] Expr* parse_name(bool absolute) {
    const Token name = token();
    const std::string_view word = spelling(name);
    if (word == "in") return refuse_token("a value");
    ++next_;
    if (!absolute) {
      if (word == "true" || word == "false") return literal(name, Value::boolean(word == "true"));
      if (word == "null") return literal(name, Value::null());
    }
    if (std::ranges::find(kReserved, word) != kReserved.end() || std::ranges::find(kWordTokens, word) != kWordTokens.end()) {
      return refuse(name.begin, fmt::format("'{}' is a reserved word", word));
    }
    const std::size_t begin = absolute ? name.begin - 1 : name.begin;
    Expr* const expr = make(at("(") ? ExprKind::kCall : ExprKind::kIdent, begin, name.begin);
    expr->absolute = absolute;
    expr->name = word;
    if (expr->kind == ExprKind::kCall) {
      std::vector<Expr*> arguments;
      if (!parse_arguments(arguments)) return nullptr;
      if (word == "has" && options_.macros && arguments.size() == 1) return expand_has(*expr, arguments[0]);
      expr->args = keep(arguments);
    }
    return close(expr);
  }

  Expr* expand_has(Expr& call, Expr* argument) {
    if (argument->kind != ExprKind::kSelect) return refuse(argument->at, "has() needs a member selection such as has(a.b)");
    call.kind = ExprKind::kHas;
    call.name = argument->name;
    call.optional = argument->optional;
    call.target = argument->target;
    return close(&call);
  }

  [[gnu::noinline]] Expr* parse_list() {
    Expr* const expr = make(ExprKind::kList, token().begin, token().begin);
    ++next_;
    std::vector<Expr*> items;
    std::vector<char> marks;
    const bool only_comma = take(",");   // [,] is an empty list
    while (!only_comma && !at("]")) {
      marks.push_back(take_question() ? 1 : 0);
      Expr* const item = error_.empty() ? parse_expression() : nullptr;
      if (item == nullptr) return nullptr;
      items.push_back(item);
      if (!take(",")) break;
    }
    if (!expect("]")) return nullptr;
    return finish_collection(expr, items, marks);
  }

  [[gnu::noinline]] Expr* parse_map() {
    Expr* const expr = make(ExprKind::kMap, token().begin, token().begin);
    ++next_;
    std::vector<Expr*> items;
    std::vector<char> marks;
    const bool only_comma = take(",");
    while (!only_comma && !at("}")) {
      marks.push_back(take_question() ? 1 : 0);
      Expr* const key = error_.empty() ? parse_expression() : nullptr;
      if (key == nullptr || !expect(":")) return nullptr;
      Expr* const value = parse_expression();
      if (value == nullptr) return nullptr;
      items.push_back(key);
      items.push_back(value);
      if (!take(",")) break;
    }
    if (!expect("}")) return nullptr;
    return finish_collection(expr, items, marks);
  }

  Expr* finish_collection(Expr* expr, const std::vector<Expr*>& items, const std::vector<char>& marks) {
    expr->args = keep(items);
    if (std::ranges::find(marks, 1) != marks.end()) {
      expr->optionals = syntax_.arena.array<bool>(marks.size());
      std::copy(marks.begin(), marks.end(), expr->optionals.begin());
    }
    return close(expr);
  }

  Syntax& syntax_;
  const SyntaxOptions& options_;
  const std::vector<Token> tokens_;
  std::size_t next_ = 0;
  std::uint32_t brackets_ = 0;
  std::string error_;
  std::size_t error_at_ = 0;
};

}  // namespace

tl::expected<Syntax, CompileError> parse(std::string_view text, const SyntaxOptions& options) {
  const auto refuse = [&](std::size_t at, std::string message) {
    return tl::unexpected(compile_error_at(text, at, std::move(message)));
  };
  if (text.size() > 4 * kMaxCodePoints || count_code_points(text) > kMaxCodePoints) {
    return refuse(0, fmt::format("the expression is longer than {} characters", kMaxCodePoints));
  }
  if (!is_utf8(text)) return refuse(0, "the expression is not UTF-8");
  Syntax syntax;
  syntax.text = syntax.arena.copy(text);
  auto tokens = tokenize(syntax.text);
  if (!tokens) return tl::unexpected(std::move(tokens).error());
  Parser parser(syntax, options, *std::move(tokens));
  if (parser.run()) return syntax;
  return tl::unexpected(parser.take_error());
}

}  // namespace nodeward::cel
