// A controller's flags, each declared once: for Go's reading of argv, for the usage text, and for CLI11, which stores the values.
// A word behind the flags, which Go ignores together with all that follows it, is refused (docs/adr/0013).
//   FlagTable table("labeler");
//   table.add("workers", flags.workers, "16", "nodes worked on at the same time");
//   if (auto exit = table.read(args)) return *exit;
#pragma once

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "apps/go_flags.h"
#include "base/text.h"

namespace nodeward::apps {

class FlagTable {
 public:
  explicit FlagTable(std::string program) : program_(std::move(program)) {}

  // `value` holds the default; `default_text` is what the usage text shows of it.
  template <class T>
  void add(const std::string& name, T& value, const std::string& default_text, const std::string& help) {
    known_.push_back({name, kind_of<T>(), default_text, help});
    if constexpr (std::is_same_v<T, int>) {
      // An int of the command line has 64 bits: what does not fit ours is far out of range anyway, and is refused as such.
      app_.add_option_function<std::int64_t>("--" + name, [&value](const std::int64_t& given) {
        value = static_cast<int>(
            std::clamp<std::int64_t>(given, std::numeric_limits<int>::min(), std::numeric_limits<int>::max()));
      });
    } else {
      app_.add_option("--" + name, value);
    }
  }

  // What to print and how to end, when the flags are wrong or help was asked for.
  std::optional<FlagExit> read(std::span<const std::string> args) {
    auto read = read_go_flags(program_, known_, args);
    if (!read) return std::move(read.error());
    if (!read->rest.empty()) return refusal_of_rest(read->rest.front(), args.first(args.size() - read->rest.size()));
    app_.parse(std::vector<std::string>(read->words.rbegin(), read->words.rend()));  // CLI11 takes the last word first
    return std::nullopt;
  }

 private:
  FlagExit refusal_of_rest(const std::string& word, std::span<const std::string> before) const {
    std::string text = fmt::format("{:?} is no flag; it and what follows would be ignored", word);
    const auto is_switch = [&](const GoFlag& flag) {
      return flag.kind == FlagKind::kBool && (before.back() == "-" + flag.name || before.back() == "--" + flag.name);
    };
    if (!before.empty() && parse_go_bool(word) && std::any_of(known_.begin(), known_.end(), is_switch))
      text += fmt::format(" (a switch's value is written with \"=\": {}={})", before.back(), word);
    return {2, text + "\n"};
  }

  template <class T>
  static constexpr FlagKind kind_of() {
    if constexpr (std::is_same_v<T, bool>) return FlagKind::kBool;
    if constexpr (std::is_same_v<T, int>) return FlagKind::kInt;
    if constexpr (std::is_same_v<T, double>) return FlagKind::kDouble;
    return FlagKind::kString;
  }

  const std::string program_;
  CLI::App app_;
  std::vector<GoFlag> known_;
};

}  // namespace nodeward::apps
