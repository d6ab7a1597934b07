// Time zones from the system's zone files (RFC 8536). Only the table of changes and the rule for the time after it are used.
#include <algorithm>
#include <charconv>
#include <map>
#include <memory>
#include <vector>

#include "base/guarded.h"
#include "base/text.h"
#include "cel/time.h"

namespace nodeward::cel {
namespace {

constexpr const char* kZoneFolder = "/usr/share/zoneinfo/";
constexpr std::size_t kMostZones = 1000;   // more names than exist: bounds what rules that compute names can make us keep

std::int64_t big_endian(std::string_view bytes) {
  std::uint64_t value = (bytes[0] & 0x80) != 0 ? ~std::uint64_t{0} : 0;
  for (const char byte : bytes) value = (value << 8) | static_cast<unsigned char>(byte);
  return static_cast<std::int64_t>(value);
}

// One change of a POSIX rule such as "M3.2.0/2": the second month 3, week 2, Sunday, 02:00.
struct RuleDate {
  int month = 1, week = 1, weekday = 0;
  int second = 7200;
};

// "CET-1CEST,M3.5.0,M10.5.0/3". Offsets are seconds east.
struct Rule {
  std::int32_t standard = 0, summer = 0;
  bool has_summer = false;
  RuleDate begin, end;
};

class RuleReader {
 public:
  explicit RuleReader(std::string_view text) : text_(text) {}
  std::optional<Rule> read() {
    Rule rule;
    if (!skip_name()) return std::nullopt;
    rule.standard = -read_time();
    if (text_.empty()) return rule;
    if (!skip_name()) return std::nullopt;
    rule.has_summer = true;
    rule.summer = text_.starts_with(',') ? rule.standard + 3600 : -read_time();
    if (!read_date(rule.begin) || !read_date(rule.end) || !text_.empty()) return std::nullopt;
    return rule;
  }

 private:
  bool skip_name() {
    if (text_.starts_with('<')) {
      const auto close = text_.find('>');
      if (close == std::string_view::npos) return false;
      text_.remove_prefix(close + 1);
      return true;
    }
    const auto end = std::ranges::find_if(text_,
                                          [](char c) { return c == '+' || c == '-' || c == ',' || (c >= '0' && c <= '9'); });
    const auto length = static_cast<std::size_t>(end - text_.begin());
    text_.remove_prefix(length);
    return length >= 3;
  }
  int read_number() {
    int value = 0;
    const auto [end, problem] = std::from_chars(text_.data(), text_.data() + text_.size(), value);
    text_.remove_prefix(static_cast<std::size_t>(end - text_.data()));
    return problem == std::errc() ? value : 0;
  }
  bool take(char c) {
    if (!text_.starts_with(c)) return false;
    text_.remove_prefix(1);
    return true;
  }
  std::int32_t read_time() {
    const bool negative = take('-');
    if (!negative) take('+');
    std::int32_t seconds = 3600 * read_number();
    if (take(':')) seconds += 60 * read_number();
    if (take(':')) seconds += read_number();
    return negative ? -seconds : seconds;
  }
  bool read_date(RuleDate& date) {
    if (!take(',') || !take('M')) return false;   // no zone of today's data uses the day-of-year forms
    date.month = read_number();
    if (!take('.')) return false;
    date.week = read_number();
    if (!take('.')) return false;
    date.weekday = read_number();
    if (take('/')) date.second = read_time();
    return date.month >= 1 && date.month <= 12;
  }
  std::string_view text_;
};

// The local second of the year at which `date` falls, counted from the first of January.
std::int64_t second_of_year(const RuleDate& date, std::int64_t year) {
  constexpr int kBefore[] = {0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334, 365};
  const bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
  const auto before = [&](int month) { return kBefore[month - 1] + (leap && month > 2 ? 1 : 0); };
  // 1970-01-01 was a Thursday; a year moves the weekday by one, a leap year by two.
  const std::int64_t y = year - 1;
  const std::int64_t january_first = (1 + y + y / 4 - y / 100 + y / 400) % 7;
  const int first = before(date.month);
  const int month_weekday = static_cast<int>((january_first + first) % 7);
  int day = (date.weekday - month_weekday + 7) % 7 + 7 * (date.week - 1);
  const int length = (date.month == 12 ? (leap ? 366 : 365) : before(date.month + 1)) - first;
  while (day >= length) day -= 7;   // week 5 is the last
  return (first + day) * std::int64_t{86'400} + date.second;
}

std::int32_t offset_by_rule(const Rule& rule, std::int64_t seconds) {
  if (!rule.has_summer) return rule.standard;
  const CivilTime local = civil_time(seconds + rule.standard);
  const std::int64_t now = local.day_of_year * std::int64_t{86'400} + local.hour * std::int64_t{3600} +
                           local.minute * std::int64_t{60} + local.second;
  const std::int64_t begin = second_of_year(rule.begin, local.year);
  const std::int64_t end = second_of_year(rule.end, local.year) - (rule.summer - rule.standard);
  const bool summer = begin < end ? now >= begin && now < end : now >= begin || now < end;
  return summer ? rule.summer : rule.standard;
}

struct Zone {
  std::vector<std::int64_t> changes;
  std::vector<std::int32_t> offsets;   // one per change: what holds from then on
  std::int32_t before = 0;
  std::optional<Rule> rule;

  std::int32_t at(std::int64_t seconds) const {
    const auto next = std::ranges::upper_bound(changes, seconds);
    if (next == changes.end() && rule) return offset_by_rule(*rule, seconds);
    return next == changes.begin() ? before : offsets[static_cast<std::size_t>(next - changes.begin()) - 1];
  }
};

// The header is "TZif", a version, 15 unused bytes and six counts; version 2 repeats it all with 64-bit times.
struct Header {
  std::size_t isutc, isstd, leap, times, types, chars;
};
constexpr std::size_t kHeaderSize = 44;

std::optional<Header> read_header(std::string_view bytes) {
  if (bytes.size() < kHeaderSize || !bytes.starts_with("TZif")) return std::nullopt;
  const auto count = [&](std::size_t i) {
    return static_cast<std::size_t>(big_endian(bytes.substr(20 + 4 * i, 4)) & 0xFFFF'FFFF);
  };
  return Header{count(0), count(1), count(2), count(3), count(4), count(5)};
}
std::size_t body_size(const Header& h, std::size_t time_size) {
  return h.times * (time_size + 1) + h.types * 6 + h.chars + h.leap * (time_size + 4) + h.isstd + h.isutc;
}

std::shared_ptr<const Zone> parse_zone(std::string_view bytes) {
  const auto first = read_header(bytes);
  if (!first || bytes[4] < '2' || bytes.size() > (1 << 20) || bytes.size() < kHeaderSize + body_size(*first, 4)) return nullptr;
  bytes.remove_prefix(kHeaderSize + body_size(*first, 4));
  const auto header = read_header(bytes);
  if (!header || header->types == 0 || bytes.size() < kHeaderSize + body_size(*header, 8)) return nullptr;
  const std::string_view times = bytes.substr(kHeaderSize);
  const std::string_view indices = times.substr(8 * header->times);
  const std::string_view types = indices.substr(header->times);
  const auto offset_of = [&](std::size_t type) { return static_cast<std::int32_t>(big_endian(types.substr(6 * type, 4))); };

  auto zone = std::make_shared<Zone>();
  zone->before = offset_of(0);
  for (std::size_t i = 0; i < header->times; ++i) {
    const auto type = static_cast<unsigned char>(indices[i]);
    if (type >= header->types) return nullptr;
    zone->changes.push_back(big_endian(times.substr(8 * i, 8)));
    zone->offsets.push_back(offset_of(type));
  }
  const std::string_view footer = trimmed(bytes.substr(kHeaderSize + body_size(*header, 8)));
  if (!footer.empty()) zone->rule = RuleReader(footer).read();
  return zone;
}

bool is_zone_name(std::string_view name) {
  if (name.empty() || name.size() > 64 || name.front() == '/' || name.find("..") != std::string_view::npos) return false;
  return std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("/_+-").find(c) != std::string_view::npos;
  });
}

using Zones = std::map<std::string, std::shared_ptr<const Zone>, std::less<>>;

std::shared_ptr<const Zone> find_zone(std::string_view name) {
  static Guarded<Zones> zones;
  auto known = zones.with([&](const Zones& all) -> std::optional<std::shared_ptr<const Zone>> {
    const auto found = all.find(name);
    return found == all.end() ? std::nullopt : std::optional(found->second);
  });
  if (known) return *known;
  const auto bytes = read_file(kZoneFolder + std::string(name));
  auto zone = bytes ? parse_zone(*bytes) : nullptr;
  zones.with([&](Zones& all) {
    if (all.size() < kMostZones) all.emplace(name, zone);
  });
  return zone;
}

// "+02:00", "-2:30", "05:45"
std::optional<std::int32_t> fixed_offset(std::string_view zone) {
  const bool negative = zone.starts_with('-');
  if (negative || zone.starts_with('+')) zone.remove_prefix(1);
  const auto colon = zone.find(':');
  if (colon == std::string_view::npos || colon == 0 || colon > 2 || zone.size() != colon + 3) return std::nullopt;
  const auto hours = parse_int(zone.substr(0, colon)), minutes = parse_int(zone.substr(colon + 1));
  if (!hours || !minutes || *hours < 0 || *hours > 23 || *minutes < 0 || *minutes > 59) return std::nullopt;
  const auto seconds = static_cast<std::int32_t>(*hours * 3600 + *minutes * 60);
  return negative ? -seconds : seconds;
}

}  // namespace

std::optional<std::int32_t> zone_offset(std::string_view zone, std::int64_t seconds) {
  if (zone.empty() || zone == "UTC") return 0;
  if (zone.find(':') != std::string_view::npos) return fixed_offset(zone);
  if (!is_zone_name(zone)) return std::nullopt;
  const auto found = find_zone(zone);
  return found == nullptr ? std::nullopt : std::optional(found->at(seconds));
}

}  // namespace nodeward::cel
