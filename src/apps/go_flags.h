// argv in the meaning of Go's flag package, for programs whose flags come from Go: -x and --x are one, the last one wins, a
// switch takes =false but no separate word, the first word that is no flag (or --) ends the flags. What is wrong is told in
// Go's words, with its usage text and exit code. CLI11 then only stores the values:
//   const auto read = read_go_flags("labeler", kFlags, args);
//   if (!read) { print read.error().text on standard error; return read.error().exit_code; }
//   app.parse(std::vector<std::string>(read->words.rbegin(), read->words.rend()));   // CLI11 takes the last word first
// Pure. tests/goflags holds the proof beside the real package.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

namespace nodeward::apps {

enum class FlagKind { kString, kBool, kInt, kDouble };

struct GoFlag {
  std::string name;  // without dashes
  FlagKind kind;
  std::string default_text;  // as the usage text shows it; "", "0" and "false" are not shown
  std::string help;          // one line
};

struct FlagExit {
  int exit_code;     // 0 when help was asked for, else 2
  std::string text;  // for standard error, whole lines
};

struct GoFlags {
  // Per flag that was given: "--name=value", or "--name" and "" for an empty value (CLI11 lets "--name=" swallow the next word).
  // Numbers are in base 10, switches true or false.
  std::vector<std::string> words;
  std::span<const std::string> rest;  // of `args`: what stands behind the flags, without a -- that ended them; Go ignores it
};
tl::expected<GoFlags, FlagExit> read_go_flags(std::string_view program, std::span<const GoFlag> flags,
                                              std::span<const std::string> args);

}  // namespace nodeward::apps
