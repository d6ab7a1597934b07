// Bearer tokens and the files they come from. Messages give the reason alone, neither path nor content: a token written where
// a path belongs must not end in a log. Private to kube/config.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/error.h"

namespace nodeward::kube {

// `text` without the blanks and line ends around it, if what is left can stand in a header.
Result<std::string> token_from(std::string_view text);
Result<std::string> read_token(const std::filesystem::path& file);

// read_file() without the path in its message.
Result<std::string> read_unnamed(const std::filesystem::path& file);

}  // namespace nodeward::kube
