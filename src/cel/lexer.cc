#include "cel/lexer.h"

#include <fmt/format.h>

#include "cel/unicode.h"

namespace nodeward::cel {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_quote(char c) { return c == '"' || c == '\''; }

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  tl::expected<std::vector<Token>, CompileError> run() {
    for (;;) {
      skip_space();
      const auto begin = at_;
      if (at_ >= text_.size()) {
        tokens_.push_back({TokenKind::kEnd, position(at_), position(at_)});
        return std::move(tokens_);
      }
      const TokenKind kind = scan();
      if (!problem_.empty()) return tl::unexpected(compile_error_at(text_, problem_at_, problem_));
      tokens_.push_back({kind, position(begin), position(at_)});
    }
  }

 private:
  static std::uint32_t position(std::size_t at) { return static_cast<std::uint32_t>(at); }
  char peek(std::size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  TokenKind refuse(std::size_t at, std::string message) {
    problem_ = std::move(message);
    problem_at_ = at;
    return TokenKind::kEnd;
  }

  void skip_space() {
    for (; at_ < text_.size(); ++at_) {
      if (peek() == '/' && peek(1) == '/') {
        while (at_ + 1 < text_.size() && text_[at_ + 1] != '\n') ++at_;
      } else if (std::string_view(" \t\r\n\f").find(text_[at_]) == std::string_view::npos) {
        return;
      }
    }
  }

  TokenKind scan() {
    const char c = peek();
    if (is_digit(c) || (c == '.' && is_digit(peek(1)))) return scan_number();
    if (is_quote(c)) return scan_string(at_, false, false);
    if (is_letter(c)) {
      const bool bytes = c == 'b' || c == 'B';
      const std::size_t raw_at = bytes ? 1 : 0;
      const bool raw = peek(raw_at) == 'r' || peek(raw_at) == 'R';
      const std::size_t prefix = (bytes ? 1U : 0U) + (raw ? 1U : 0U);
      if (prefix > 0 && is_quote(peek(prefix))) return scan_string(at_ + prefix, raw, bytes);
      while (is_letter(peek()) || is_digit(peek())) ++at_;
      return TokenKind::kIdentifier;
    }
    if (c == '`') return scan_quoted_identifier();
    for (const std::string_view pair : {"||", "&&", "==", "!=", "<=", ">="}) {
      if (text_.substr(at_, 2) == pair) {
        at_ += 2;
        return TokenKind::kPunctuation;
      }
    }
    if (std::string_view("()[]{}.,-!?:+*/%<>").find(c) != std::string_view::npos) {
      ++at_;
      return TokenKind::kPunctuation;
    }
    if (c == '=') return refuse(at_, "unexpected '=': equality is written ==");
    std::size_t end = at_;
    next_code_point(text_, end);
    return refuse(at_, fmt::format("unexpected character '{}'", text_.substr(at_, end - at_)));
  }

  TokenKind scan_number() {
    if (peek() == '0' && peek(1) == 'x' && is_hex(peek(2))) {
      at_ += 2;
      while (is_hex(peek())) ++at_;
      return scan_uint_suffix();
    }
    while (is_digit(peek())) ++at_;
    bool is_double = false;
    if (peek() == '.' && is_digit(peek(1))) {
      is_double = true;
      ++at_;
      while (is_digit(peek())) ++at_;
    }
    if (peek() == 'e' || peek() == 'E') {
      const std::size_t sign = peek(1) == '+' || peek(1) == '-' ? 1 : 0;
      if (is_digit(peek(1 + sign))) {
        is_double = true;
        at_ += 1 + sign;
        while (is_digit(peek())) ++at_;
      }
    }
    return is_double ? TokenKind::kDouble : scan_uint_suffix();
  }
  TokenKind scan_uint_suffix() {
    if (peek() != 'u' && peek() != 'U') return TokenKind::kInt;
    ++at_;
    return TokenKind::kUint;
  }

  TokenKind scan_string(std::size_t quote_at, bool raw, bool bytes) {
    const std::size_t begin = at_;
    const char quote = text_[quote_at];
    const std::string triple(3, quote);
    const bool is_triple = text_.substr(quote_at, 3) == triple;
    at_ = quote_at + (is_triple ? 3 : 1);
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == quote && (!is_triple || text_.substr(at_, 3) == triple)) {
        at_ += is_triple ? 3 : 1;
        return bytes ? TokenKind::kBytes : TokenKind::kString;
      }
      if (!is_triple && (c == '\n' || c == '\r')) break;
      if (c == '\\' && !raw) ++at_;
    }
    return refuse(begin, "string without an end");
  }

  TokenKind scan_quoted_identifier() {
    const std::size_t begin = at_++;
    while (is_letter(peek()) || is_digit(peek()) ||
           (peek() != '\0' && std::string_view(".-/ ").find(peek()) != std::string_view::npos)) {
      ++at_;
    }
    if (peek() != '`' || at_ == begin + 1)
      return refuse(begin, "a name in backquotes may hold letters, digits, '_', '.', '-', '/' and spaces");
    ++at_;
    return TokenKind::kQuotedIdentifier;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::vector<Token> tokens_;
  std::string problem_;
  std::size_t problem_at_ = 0;
};

// Reads `digits` hexadecimal or octal digits at `at`; nullptr-like -1 when there are fewer.
std::int64_t read_digits(std::string_view body, std::size_t at, std::size_t digits, int base) {
  std::int64_t value = 0;
  for (std::size_t i = 0; i < digits; ++i) {
    if (at + i >= body.size() || !is_hex(body[at + i])) return -1;
    const char c = body[at + i];
    const int digit = is_digit(c) ? c - '0' : (c | 0x20) - 'a' + 10;
    if (digit >= base) return -1;
    value = value * base + digit;
  }
  return value;
}

struct Escape {
  std::int64_t value = -1;     // -1: no such escape
  std::size_t length = 2;      // with the backslash
  bool is_byte = false;        // \x and octal: a byte in a bytes literal
};

Escape read_escape(std::string_view body, std::size_t at) {
  const char c = at + 1 < body.size() ? body[at + 1] : '\0';
  switch (c) {
    case 'a': return {'\a'};
    case 'b': return {'\b'};
    case 'f': return {'\f'};
    case 'n': return {'\n'};
    case 'r': return {'\r'};
    case 't': return {'\t'};
    case 'v': return {'\v'};
    case '\\':
    case '\'':
    case '"':
    case '`':
    case '?': return {c};
    case 'x':
    case 'X': return {read_digits(body, at + 2, 2, 16), 4, true};
    case 'u': return {read_digits(body, at + 2, 4, 16), 6};
    case 'U': return {read_digits(body, at + 2, 8, 16), 10};
    case '0':
    case '1':
    case '2':
    case '3': return {read_digits(body, at + 1, 3, 8), 4, true};
    default: return {};
  }
}

}  // namespace

tl::expected<std::vector<Token>, CompileError> tokenize(std::string_view text) { return Lexer(text).run(); }

tl::expected<std::string, std::size_t> literal_content(std::string_view text, const Token& token) {
  std::string_view body = text.substr(token.begin, token.end - token.begin);
  const bool is_bytes = token.kind == TokenKind::kBytes;
  bool raw = false;
  while (!is_quote(body.front())) {
    raw = raw || body.front() == 'r' || body.front() == 'R';
    body.remove_prefix(1);
  }
  const std::size_t quotes = body.size() >= 6 && body[1] == body[0] && body[2] == body[0] ? 3 : 1;
  body = body.substr(quotes, body.size() - 2 * quotes);
  const auto offset = static_cast<std::size_t>(body.data() - text.data());

  std::string content;
  content.reserve(body.size());
  for (std::size_t at = 0; at < body.size();) {
    const char c = body[at];
    if (c == '\r') {   // every line end is \n
      content += '\n';
      at += at + 1 < body.size() && body[at + 1] == '\n' ? 2 : 1;
    } else if (c != '\\' || raw) {
      content += c;
      ++at;
    } else {
      const Escape escape = read_escape(body, at);
      const bool is_text_only = !escape.is_byte && escape.length > 2;
      const bool is_point = escape.value >= 0 && escape.value <= 0x10FFFF && (escape.value < 0xD800 || escape.value > 0xDFFF);
      if (escape.value < 0 || (is_bytes ? is_text_only : !is_point)) {
        return tl::unexpected(offset + at);
      }
      if (is_bytes) {
        content += static_cast<char>(escape.value);
      } else {
        append_code_point(content, static_cast<char32_t>(escape.value));
      }
      at += escape.length;
    }
  }
  return content;
}

}  // namespace nodeward::cel
