#include "kube/config/token.h"

#include <algorithm>

#include "base/text.h"

namespace nodeward::kube {

Result<std::string> token_from(std::string_view text) {
  const std::string_view token = trimmed(text);
  if (token.empty()) return fail(ErrorCode::kInvalid, "is empty");
  const auto visible = [](char c) { return c > ' ' && c < 0x7f; };
  if (!std::all_of(token.begin(), token.end(), visible)) {
    return fail(ErrorCode::kInvalid, "is no token: there are blanks, line ends or other characters in it that no token has");
  }
  return std::string(token);
}

Result<std::string> read_unnamed(const std::filesystem::path& file) {
  auto text = read_file(file);
  if (text) return text;
  Error error = std::move(text).error();
  if (const std::string path = file.string() + ": "; error.message.starts_with(path)) error.message.erase(0, path.size());
  return tl::unexpected<Error>(std::move(error));
}

Result<std::string> read_token(const std::filesystem::path& file) {
  NW_TRY_ASSIGN(const std::string text, read_unnamed(file));
  return token_from(text);
}

}  // namespace nodeward::kube
