// Small text helpers that the standard library lacks. Pure.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace nodeward {

std::string_view trimmed(std::string_view text);                        // without spaces, tabs, CR and LF at both ends
std::string lowered(std::string_view text);                             // ASCII only
std::vector<std::string> split(std::string_view text, char separator);  // "a,,b" gives three parts
std::optional<std::int64_t> parse_int(std::string_view text);  // signed 64-bit, base 10, the whole text; "+7" and "007" are 7
// strconv.ParseBool: 1 t T TRUE true True / 0 f F FALSE false False, nothing else.
std::optional<bool> parse_go_bool(std::string_view text);
// At most `most` bytes, for a message: the middle of a longer text gives way to "...". UTF-8 stays whole.
std::string shortened(std::string_view text, std::size_t most);
// Whole, or an error that names the file and the system's reason. Up to 256 MiB: what is endless, as /dev/zero, is no file to keep.
Result<std::string> read_file(const std::filesystem::path& file);

}  // namespace nodeward
