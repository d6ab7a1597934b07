// Expression text into tokens. Private to this folder.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "cel/compile_error.h"

namespace nodeward::cel {

enum class TokenKind : std::uint8_t { kEnd, kIdentifier, kQuotedIdentifier, kInt, kUint, kDouble, kString, kBytes, kPunctuation };

struct Token {
  TokenKind kind = TokenKind::kEnd;
  std::uint32_t begin = 0, end = 0;   // bytes of the text
};

// The last token is kEnd. Punctuation is one of || && == != <= >= and the single characters of the grammar.
tl::expected<std::vector<Token>, CompileError> tokenize(std::string_view text);

// The content of a string or bytes literal, without prefix and quotes, escapes resolved; else the byte of a bad escape.
tl::expected<std::string, std::size_t> literal_content(std::string_view text, const Token& token);

}  // namespace nodeward::cel
