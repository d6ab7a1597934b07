#include "apps/go_flags.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <optional>

#include "base/text.h"

namespace nodeward::apps {
namespace {

// The value as CLI11 is to see it, or Go's reason against it.
using Normal = tl::expected<std::string, std::string_view>;
constexpr std::string_view kSyntax = "parse error";
constexpr std::string_view kRange = "value out of range";

// Go's number literals may have single underscores between digits and after a base prefix. nullopt: elsewhere.
std::optional<std::string> without_underscores(std::string_view text) {
  std::string out;
  const auto body = text.substr(text.starts_with('-') || text.starts_with('+') ? 1 : 0);
  const bool prefixed = body.size() > 1 && body[0] == '0' && std::string_view("xXbBoO").find(body[1]) != std::string_view::npos;
  const bool hex = prefixed && (body[1] | 0x20) == 'x';
  const auto is_digit = [&](char c) { return hex ? std::isxdigit(static_cast<unsigned char>(c)) != 0 : c >= '0' && c <= '9'; };
  for (std::size_t i = 0; i < body.size(); ++i) {
    if (body[i] != '_') {
      out += body[i];
    } else if (i == 0 || i + 1 == body.size() || !is_digit(body[i + 1]) || !(is_digit(body[i - 1]) || (prefixed && i == 2))) {
      return std::nullopt;
    }
  }
  return std::string(text.substr(0, text.size() - body.size())) + out;
}

// strconv.ParseInt(text, 0, 64): the prefix gives the base, a leading 0 alone is octal.
Normal normal_int(std::string_view text) {
  const auto plain = without_underscores(text);
  if (!plain) return tl::unexpected(kSyntax);
  std::string_view digits = *plain;
  const bool negative = digits.starts_with('-');
  if (negative || digits.starts_with('+')) digits.remove_prefix(1);
  int base = 10;
  if (digits.size() > 1 && digits[0] == '0') {
    const char letter = static_cast<char>(digits[1] | 0x20);
    base = letter == 'x' ? 16 : letter == 'b' ? 2 : 8;
    digits.remove_prefix(letter == 'x' || letter == 'b' || letter == 'o' ? 2 : 1);
  }
  std::uint64_t magnitude = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), magnitude, base);
  if (error == std::errc::result_out_of_range) return tl::unexpected(kRange);
  if (error != std::errc{} || end != digits.data() + digits.size()) return tl::unexpected(kSyntax);
  const std::uint64_t most = negative ? std::uint64_t{1} << 63 : (std::uint64_t{1} << 63) - 1;
  if (magnitude > most) return tl::unexpected(kRange);
  return fmt::format("{}{}", negative && magnitude != 0 ? "-" : "", magnitude);
}

// strconv.ParseFloat(text, 64). strtod knows all its forms and some more, which are refused first: blanks in front, nan with
// a sign or in brackets, hexadecimal without an exponent.
Normal normal_double(std::string_view text) {
  const auto plain = without_underscores(text);
  const std::string low = lowered(plain.value_or(""));
  const auto odd = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '.' && c != '+' && c != '-'; };
  const bool hex_without_exponent = low.find("0x") != std::string::npos && low.find('p') == std::string::npos;
  const bool signed_nan = low.ends_with("nan") && low != "nan";
  if (low.empty() || std::any_of(low.begin(), low.end(), odd) || hex_without_exponent || signed_nan)
    return tl::unexpected(kSyntax);
  char* end = nullptr;
  const double value = std::strtod(low.c_str(), &end);
  if (*end != '\0') return tl::unexpected(kSyntax);
  if (std::isinf(value) && low.find("inf") == std::string::npos) return tl::unexpected(kRange);
  return fmt::format("{}", value);
}

Normal normal_value(FlagKind kind, std::string_view text) {
  switch (kind) {
    case FlagKind::kString: return std::string(text);
    case FlagKind::kInt: return normal_int(text);
    case FlagKind::kDouble: return normal_double(text);
    case FlagKind::kBool:
      if (const auto value = parse_go_bool(text)) return std::string(*value ? "true" : "false");
      return tl::unexpected(kSyntax);
  }
  return tl::unexpected(kSyntax);
}

std::string_view type_word(FlagKind kind) {
  switch (kind) {
    case FlagKind::kString: return " string";
    case FlagKind::kInt: return " int";
    case FlagKind::kDouble: return " float";
    case FlagKind::kBool: return "";
  }
  return "";
}

std::string usage(std::string_view program, std::span<const GoFlag> flags) {
  std::vector<GoFlag> sorted(flags.begin(), flags.end());
  std::sort(sorted.begin(), sorted.end(), [](const GoFlag& a, const GoFlag& b) { return a.name < b.name; });
  std::string text = fmt::format("Usage of {}:\n", program);
  for (const GoFlag& flag : sorted) {
    const std::string head = fmt::format("  -{}{}", flag.name, type_word(flag.kind));
    text += head + (head.size() <= 4 ? "\t" : "\n    \t") + flag.help;
    const bool is_string = flag.kind == FlagKind::kString;
    const bool shown = !flag.default_text.empty() && (is_string || (flag.default_text != "0" && flag.default_text != "false"));
    if (shown && is_string) text += fmt::format(" (default {:?})", flag.default_text);
    if (shown && !is_string) text += fmt::format(" (default {})", flag.default_text);
    text += '\n';
  }
  return text;
}

struct Word {
  std::string_view name;
  std::optional<std::string_view> value;  // after the =
};

// `word` begins with a dash and is no end of the flags; nullopt: "bad flag syntax".
std::optional<Word> split_flag(std::string_view word) {
  word.remove_prefix(word.starts_with("--") ? 2 : 1);
  if (word.empty() || word[0] == '-' || word[0] == '=') return std::nullopt;
  const auto equals = word.find('=');
  if (equals == std::string_view::npos) return Word{word, std::nullopt};
  return Word{word.substr(0, equals), word.substr(equals + 1)};
}

std::vector<std::string> words_for_cli11(const std::map<std::string, std::string>& given) {
  std::vector<std::string> words;
  for (const auto& [name, value] : given) {
    if (value.empty()) {
      words.insert(words.end(), {"--" + name, ""});
    } else {
      words.push_back(fmt::format("--{}={}", name, value));
    }
  }
  return words;
}

}  // namespace

tl::expected<GoFlags, FlagExit> read_go_flags(std::string_view program, std::span<const GoFlag> flags,
                                              std::span<const std::string> args) {
  const auto refuse = [&](const std::string& why) { return tl::unexpected(FlagExit{2, why + "\n" + usage(program, flags)}); };
  std::map<std::string, std::string> given;
  std::size_t i = 0;
  for (; i < args.size(); ++i) {
    if (args[i].size() < 2 || args[i][0] != '-' || args[i] == "--") break;
    const auto word = split_flag(args[i]);
    if (!word) return refuse(fmt::format("bad flag syntax: {}", args[i]));
    const auto flag = std::find_if(flags.begin(), flags.end(), [&](const GoFlag& known) { return known.name == word->name; });
    if (flag == flags.end()) {
      if (word->name == "help" || word->name == "h") return tl::unexpected(FlagExit{0, usage(program, flags)});
      return refuse(fmt::format("flag provided but not defined: -{}", word->name));
    }
    std::optional<std::string_view> value = word->value;
    const bool is_switch = flag->kind == FlagKind::kBool;
    if (!value && is_switch) value = "true";
    if (!value && i + 1 < args.size()) value = args[++i];
    if (!value) return refuse(fmt::format("flag needs an argument: -{}", word->name));
    auto normal = normal_value(flag->kind, *value);
    if (!normal) {
      return refuse(is_switch ? fmt::format("invalid boolean value {:?} for -{}: {}", *value, word->name, normal.error())
                              : fmt::format("invalid value {:?} for flag -{}: {}", *value, word->name, normal.error()));
    }
    given[flag->name] = std::move(*normal);
  }
  if (i < args.size() && args[i] == "--") ++i;
  return GoFlags{words_for_cli11(given), args.subspan(i)};
}

}  // namespace nodeward::apps
