// Timestamps and durations: text forms, calendar parts, time zones. Pure but for the zone files of the system.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace nodeward::cel {

constexpr std::int64_t kNanosPerSecond = 1'000'000'000;
constexpr std::int64_t kFirstSecond = -62'135'596'800;   // 0001-01-01T00:00:00Z
constexpr std::int64_t kLastSecond = 253'402'300'799;    // 9999-12-31T23:59:59Z

// Seconds and nanoseconds multiplied out do not fit 64 bits.
__extension__ using Wide = __int128;

struct Instant {
  std::int64_t seconds = 0;    // since 1970
  std::uint32_t nanos = 0;     // upwards
};

std::optional<Instant> parse_timestamp(std::string_view text);        // RFC 3339, years 1 to 9999
std::optional<std::int64_t> parse_duration(std::string_view text);    // Go's form: 1h30m, -1.5s, 10ms; nanoseconds
std::string format_timestamp(Instant instant);                        // 2026-09-01T08:30:00.5Z
std::string format_duration(std::int64_t nanoseconds);                // 5400s, -1.5s

struct CivilTime {
  std::int64_t year = 1970;
  int month = 1, day = 1;          // from 1
  int weekday = 0;                 // Sunday is 0
  int day_of_year = 0;             // from 0
  int hour = 0, minute = 0, second = 0;
};
CivilTime civil_time(std::int64_t seconds);

// Seconds east of Greenwich at `seconds` for "UTC", "+02:00", "-2:30" or a zone of the system ("Europe/Berlin").
// nullopt: no such zone. Any thread; zone files are read once.
std::optional<std::int32_t> zone_offset(std::string_view zone, std::int64_t seconds);

}  // namespace nodeward::cel
