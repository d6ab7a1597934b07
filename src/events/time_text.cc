#include "events/time_text.h"

#include <chrono>

namespace nodeward::events {
namespace {

// Takes what it reads off the front of the text; after the first thing that is not as asked, everything else fails too.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : rest_(text) {}

  int digits(std::size_t count, int most) {
    int value = 0;
    for (std::size_t i = 0; i < count; ++i) value = value * 10 + digit();
    if (value > most) good_ = false;
    return value;
  }
  bool take_if(std::string_view any_of) {
    if (rest_.empty() || any_of.find(rest_.front()) == std::string_view::npos) return false;
    rest_.remove_prefix(1);
    return true;
  }
  void take(std::string_view any_of) { good_ = take_if(any_of) && good_; }
  bool at_digit() const { return !rest_.empty() && rest_.front() >= '0' && rest_.front() <= '9'; }
  int digit() {
    if (!at_digit()) good_ = false;
    if (!good_) return 0;
    const int value = rest_.front() - '0';
    rest_.remove_prefix(1);
    return value;
  }
  bool good() const { return good_; }
  bool good_and_done() const { return good_ && rest_.empty(); }

 private:
  std::string_view rest_;
  bool good_ = true;
};

std::int32_t read_nanos(Scanner& in) {
  if (!in.take_if(".")) return 0;
  std::int32_t nanos = in.digit();   // one digit at least
  int digits = 1;
  for (; in.good() && in.at_digit(); ++digits) {
    const int digit = in.digit();
    if (digits < 9) nanos = nanos * 10 + digit;
  }
  for (; digits < 9; ++digits) nanos *= 10;
  return nanos;
}

int read_offset_seconds(Scanner& in) {
  if (in.take_if("Zz")) return 0;
  const bool west = in.take_if("-");
  if (!west) in.take("+");
  const int hours = in.digits(2, 23);
  in.take(":");
  const int seconds = (hours * 60 + in.digits(2, 59)) * 60;
  return west ? -seconds : seconds;
}

}  // namespace

std::optional<Timestamp> parse_rfc3339(std::string_view text) {
  namespace chrono = std::chrono;
  Scanner in(text);
  const int year = in.digits(4, 9999);
  in.take("-");
  const int month = in.digits(2, 12);
  in.take("-");
  const int day = in.digits(2, 31);
  in.take("Tt ");
  const int hour = in.digits(2, 23);
  in.take(":");
  const int minute = in.digits(2, 59);
  in.take(":");
  const int second = in.digits(2, 59);
  const std::int32_t nanos = read_nanos(in);
  const int offset = read_offset_seconds(in);
  const chrono::year_month_day date(chrono::year(year), chrono::month(static_cast<unsigned>(month)),
                                    chrono::day(static_cast<unsigned>(day)));
  if (!in.good_and_done() || year == 0 || !date.ok()) return std::nullopt;
  const chrono::seconds days = chrono::sys_days(date).time_since_epoch();
  return Timestamp{days.count() + (hour * 60 + minute) * 60 + second - offset, nanos};
}

}  // namespace nodeward::events
