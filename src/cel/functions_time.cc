// Accessors of timestamps and durations.
#include "cel/node.h"
#include "cel/time.h"

namespace nodeward::cel {
namespace {

using Args = std::span<const Value>;

template <class Part>
Value of_timestamp(Args args, Part&& part) {
  if (!args[0].is(Kind::kTimestamp)) return no_overload();
  std::int64_t local = args[0].seconds();
  if (args.size() == 2) {
    if (!args[1].is(Kind::kString)) return no_overload();
    const auto offset = zone_offset(args[1].text(), local);
    if (!offset) return Value::error("no such time zone");
    local += *offset;
  }
  return Value::integer(part(civil_time(local)));
}

Value full_year(Call&, Args args) {
  return of_timestamp(args, [](const CivilTime& time) { return time.year; });
}
Value month(Call&, Args args) {
  return of_timestamp(args, [](const CivilTime& time) { return time.month - 1; });
}
Value date(Call&, Args args) {
  return of_timestamp(args, [](const CivilTime& time) { return time.day; });
}
Value day_of_month(Call&, Args args) {
  return of_timestamp(args, [](const CivilTime& time) { return time.day - 1; });
}
Value day_of_week(Call&, Args args) {
  return of_timestamp(args, [](const CivilTime& time) { return time.weekday; });
}
Value day_of_year(Call&, Args args) {
  return of_timestamp(args, [](const CivilTime& time) { return time.day_of_year; });
}

bool is_duration(Args args) { return args.size() == 1 && args[0].is(Kind::kDuration); }

Value hours(Call&, Args args) {
  if (is_duration(args)) return Value::integer(args[0].nanoseconds() / (3600 * kNanosPerSecond));
  return of_timestamp(args, [](const CivilTime& time) { return time.hour; });
}
Value minutes(Call&, Args args) {
  if (is_duration(args)) return Value::integer(args[0].nanoseconds() / (60 * kNanosPerSecond));
  return of_timestamp(args, [](const CivilTime& time) { return time.minute; });
}
Value seconds(Call&, Args args) {
  if (is_duration(args)) return Value::integer(args[0].nanoseconds() / kNanosPerSecond);
  return of_timestamp(args, [](const CivilTime& time) { return time.second; });
}
// Of a duration, too, only what is left of the last second: the specification says so where others give the total.
Value milliseconds(Call&, Args args) {
  if (is_duration(args)) return Value::integer(args[0].nanoseconds() % kNanosPerSecond / 1'000'000);
  return of_timestamp(args, [&](const CivilTime&) { return args[0].nanos() / 1'000'000; });
}

}  // namespace

void add_time_functions(std::vector<Function>& to) {
  constexpr FunctionShape kAccessor{.member = true, .least = 1, .most = 2, .result = kinds(Kind::kInt)};
  to.push_back({"getFullYear", kAccessor, full_year});
  to.push_back({"getMonth", kAccessor, month});
  to.push_back({"getDate", kAccessor, date});
  to.push_back({"getDayOfMonth", kAccessor, day_of_month});
  to.push_back({"getDayOfWeek", kAccessor, day_of_week});
  to.push_back({"getDayOfYear", kAccessor, day_of_year});
  to.push_back({"getHours", kAccessor, hours});
  to.push_back({"getMinutes", kAccessor, minutes});
  to.push_back({"getSeconds", kAccessor, seconds});
  to.push_back({"getMilliseconds", kAccessor, milliseconds});
}

}  // namespace nodeward::cel
