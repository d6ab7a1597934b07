// A controller's flags, each declared once: for Go's reading of argv, for the usage text, and for CLI11, which stores the values.
//   FlagTable table("labeler");
//   table.add("workers", flags.workers, "16", "nodes worked on at the same time");
//   if (auto exit = table.read(args)) return *exit;
#pragma once

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
        value = static_cast<int>(std::clamp<std::int64_t>(given, std::numeric_limits<int>::min(), std::numeric_limits<int>::max()));
      });
    } else {
      app_.add_option("--" + name, value);
    }
  }

  // What to print and how to end, when the flags are wrong or help was asked for.
  std::optional<FlagExit> read(std::span<const std::string> args) {
    auto words = read_go_flags(program_, known_, args);
    if (!words) return std::move(words.error());
    app_.parse(std::vector<std::string>(words->rbegin(), words->rend()));   // CLI11 takes the last word first
    return std::nullopt;
  }

 private:
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
