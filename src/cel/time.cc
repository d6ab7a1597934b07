#include "cel/time.h"

#include <fmt/format.h>
#include <algorithm>
#include <charconv>
#include <limits>

namespace nodeward::cel {
namespace {

constexpr std::int64_t kSecondsPerDay = 86'400;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Exactly `count` digits at `at`; -1 when they are not there.
int digits(std::string_view text, std::size_t at, std::size_t count) {
  int value = 0;
  for (std::size_t i = at; i < at + count; ++i) {
    if (i >= text.size() || !is_digit(text[i])) return -1;
    value = value * 10 + (text[i] - '0');
  }
  return value;
}

// Days since 1970-01-01 in the proleptic Gregorian calendar; years are counted from March, so that the leap day is the last.
std::int64_t days_from_civil(std::int64_t year, int month, int day) {
  year -= month <= 2 ? 1 : 0;
  const std::int64_t era = (year >= 0 ? year : year - 399) / 400;
  const std::int64_t year_of_era = year - era * 400;
  const std::int64_t day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
  return era * 146'097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719'468;
}

int days_in_month(std::int64_t year, int month) {
  constexpr int kDays[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  const bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
  return month == 2 && leap ? 29 : kDays[month - 1];
}

// ".5" at `at`, moved past it; nullopt when there is a point without digits. More than nine digits are cut.
std::optional<std::uint32_t> parse_fraction(std::string_view text, std::size_t& at) {
  std::uint32_t nanos = 0;
  if (at >= text.size() || text[at] != '.') return nanos;
  std::uint32_t unit = 100'000'000;
  const std::size_t first = ++at;
  for (; at < text.size() && is_digit(text[at]); ++at, unit /= 10) nanos += unit * static_cast<std::uint32_t>(text[at] - '0');
  return at == first ? std::nullopt : std::optional(nanos);
}

// "Z" or "+02:00" from `at` to the end, in seconds.
std::optional<int> parse_offset(std::string_view text, std::size_t at) {
  if (at >= text.size()) return std::nullopt;
  if (text.substr(at) == "Z") return 0;
  if ((text[at] != '+' && text[at] != '-') || text.size() != at + 6 || text[at + 3] != ':') return std::nullopt;
  const int hours = digits(text, at + 1, 2), minutes = digits(text, at + 4, 2);
  if (hours < 0 || hours > 23 || minutes < 0 || minutes > 59) return std::nullopt;
  return (text[at] == '-' ? -1 : 1) * (hours * 3600 + minutes * 60);
}

struct Unit {
  std::string_view name;
  std::int64_t nanos;
};
constexpr Unit kUnits[] = {{"ns", 1},         {"us", 1000},           {"\u00b5s", 1000},           {"\u03bcs", 1000},
                           {"ms", 1'000'000}, {"s", kNanosPerSecond}, {"m", 60 * kNanosPerSecond}, {"h", 3600 * kNanosPerSecond}};

// One part such as "1.5h" at the front of `text`, taken off it.
std::optional<Wide> take_part(std::string_view& text) {
  std::size_t at = 0;
  Wide whole = 0;
  for (; at < text.size() && is_digit(text[at]); ++at) {
    whole = whole * 10 + (text[at] - '0');
    if (whole > std::numeric_limits<std::int64_t>::max()) return std::nullopt;
  }
  std::size_t seen = at;
  Wide fraction = 0, scale = 1;
  if (at < text.size() && text[at] == '.') {
    for (++at; at < text.size() && is_digit(text[at]); ++at, ++seen) {
      if (scale < 1'000'000'000'000'000LL) {   // finer than any unit can show
        fraction = fraction * 10 + (text[at] - '0');
        scale *= 10;
      }
    }
  }
  if (seen == 0) return std::nullopt;
  text.remove_prefix(at);
  std::size_t name_length = 0;
  while (name_length < text.size() && text[name_length] != '.' && !is_digit(text[name_length])) ++name_length;
  for (const Unit& unit : kUnits) {
    if (unit.name != text.substr(0, name_length)) continue;
    text.remove_prefix(name_length);
    return whole * unit.nanos + fraction * unit.nanos / scale;
  }
  return std::nullopt;
}

}  // namespace

std::optional<Instant> parse_timestamp(std::string_view text) {
  if (text.size() < 20 || text[4] != '-' || text[7] != '-' || text[10] != 'T' || text[13] != ':' || text[16] != ':') {
    return std::nullopt;
  }
  const int year = digits(text, 0, 4), month = digits(text, 5, 2), day = digits(text, 8, 2);
  const int hour = digits(text, 11, 2), minute = digits(text, 14, 2), second = digits(text, 17, 2);
  if (year < 0 || month < 1 || month > 12 || day < 1 || day > days_in_month(year, month)) return std::nullopt;
  if (hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 59) return std::nullopt;
  std::size_t at = 19;
  const auto nanos = parse_fraction(text, at);
  const auto offset = parse_offset(text, at);
  if (!nanos || !offset) return std::nullopt;
  const std::int64_t seconds = days_from_civil(year, month, day) * kSecondsPerDay + hour * 3600 + minute * 60 + second - *offset;
  if (seconds < kFirstSecond || seconds > kLastSecond) return std::nullopt;
  return Instant{seconds, *nanos};
}

std::optional<std::int64_t> parse_duration(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  if (text == "0") return 0;
  if (text.empty()) return std::nullopt;
  Wide total = 0;
  while (!text.empty()) {
    const auto part = take_part(text);
    if (!part) return std::nullopt;
    total += *part;
    if (total > static_cast<Wide>(std::numeric_limits<std::int64_t>::max()) + (negative ? 1 : 0)) return std::nullopt;
  }
  return static_cast<std::int64_t>(negative ? -total : total);
}

namespace {

std::string fraction_text(std::uint64_t nanos) {
  if (nanos == 0) return {};
  std::string text = fmt::format(".{:09}", nanos);
  text.erase(text.find_last_not_of('0') + 1);
  return text;
}

}  // namespace

std::string format_timestamp(Instant instant) {
  const CivilTime civil = civil_time(instant.seconds);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}{}Z", civil.year, civil.month, civil.day, civil.hour, civil.minute,
                     civil.second, fraction_text(instant.nanos));
}

std::string format_duration(std::int64_t nanoseconds) {
  const bool negative = nanoseconds < 0;
  const std::uint64_t size = negative ? 0 - static_cast<std::uint64_t>(nanoseconds) : static_cast<std::uint64_t>(nanoseconds);
  return fmt::format("{}{}{}s", negative ? "-" : "", size / kNanosPerSecond, fraction_text(size % kNanosPerSecond));
}

CivilTime civil_time(std::int64_t seconds) {
  std::int64_t days = seconds / kSecondsPerDay;
  std::int64_t rest = seconds % kSecondsPerDay;
  if (rest < 0) {
    rest += kSecondsPerDay;
    --days;
  }
  const std::int64_t shifted = days + 719'468;
  const std::int64_t era = (shifted >= 0 ? shifted : shifted - 146'096) / 146'097;
  const std::int64_t day_of_era = shifted - era * 146'097;
  const std::int64_t year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36'524 - day_of_era / 146'096) / 365;
  const std::int64_t march_day = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const std::int64_t march_month = (5 * march_day + 2) / 153;
  CivilTime civil;
  civil.day = static_cast<int>(march_day - (153 * march_month + 2) / 5 + 1);
  civil.month = static_cast<int>(march_month < 10 ? march_month + 3 : march_month - 9);
  civil.year = year_of_era + era * 400 + (civil.month <= 2 ? 1 : 0);
  civil.weekday = static_cast<int>(((days % 7) + 11) % 7);   // 1970-01-01 was a Thursday
  civil.day_of_year = static_cast<int>(days - days_from_civil(civil.year, 1, 1));
  civil.hour = static_cast<int>(rest / 3600);
  civil.minute = static_cast<int>(rest / 60 % 60);
  civil.second = static_cast<int>(rest % 60);
  return civil;
}

}  // namespace nodeward::cel
