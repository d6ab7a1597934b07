#include "telemetry/process.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <string_view>

#include "base/text.h"

namespace nodeward::telemetry {
namespace {

double number(std::string_view text) {
  double value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

// Fields of /proc/self/stat behind the program's name, which may hold blanks; proc(5) counts from 1, the first of these is 3.
class Stat {
 public:
  Stat() : text_(read_file("/proc/self/stat").value_or("")) {
    const auto name_end = text_.rfind(") ");
    if (name_end != text_.npos) fields_ = split(std::string_view(text_).substr(name_end + 2), ' ');
  }
  double field(std::size_t proc5) const { return proc5 - 3 < fields_.size() ? number(fields_[proc5 - 3]) : 0; }

 private:
  std::string text_;
  std::vector<std::string> fields_;
};

// Seconds since the epoch at which the machine started, so that start times (in ticks since then) become dates.
double boot_time() {
  const std::string text = read_file("/proc/stat").value_or("");
  const auto at = text.find("\nbtime ");
  return at == text.npos ? 0 : number(std::string_view(text).substr(at + 7));
}

double open_files() {
  std::error_code unreadable;
  double count = -1;    // without the one that lists them
  for (std::filesystem::directory_iterator file("/proc/self/fd", unreadable), end; !unreadable && file != end;) {
    ++count;
    file.increment(unreadable);
  }
  return count;
}

double file_limit() {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  return static_cast<double>(limit.rlim_cur);
}

}  // namespace

std::vector<ProcessMetric> process_metrics() {
  static const double ticks_per_second = static_cast<double>(sysconf(_SC_CLK_TCK));
  static const double page_size = static_cast<double>(sysconf(_SC_PAGESIZE));
  static const double booted = boot_time();
  const Stat stat;
  return {
      {"process_cpu_seconds_total", "Total user and system CPU time spent in seconds.", true,
       (stat.field(14) + stat.field(15)) / ticks_per_second},
      {"process_max_fds", "Maximum number of open file descriptors.", false, file_limit()},
      {"process_open_fds", "Number of open file descriptors.", false, std::max(0.0, open_files())},
      {"process_resident_memory_bytes", "Resident memory size in bytes.", false, stat.field(24) * page_size},
      {"process_start_time_seconds", "Start time of the process since unix epoch in seconds.", false,
       booted + stat.field(22) / ticks_per_second},
      {"process_virtual_memory_bytes", "Virtual memory size in bytes.", false, stat.field(23)},
  };
}

}  // namespace nodeward::telemetry
