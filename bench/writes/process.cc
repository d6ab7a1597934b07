#include "writes/process.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <stdexcept>
#include <string>

#include "base/text.h"

namespace nodeward::bench {
namespace {

std::string proc_file(pid_t pid, const char* name) {
  auto text = read_file(fmt::format("/proc/{}/{}", pid, name));
  if (!text) throw std::runtime_error("the process has ended: " + text.error().message);
  return *std::move(text);
}

// The number behind "key:" in a status file.
double number(const std::string& status, const std::string& key) {
  const auto at = status.find("\n" + key + ":");
  if (at == std::string::npos) throw std::runtime_error("no " + key + " in /proc/<pid>/status");
  return std::stod(status.substr(at + key.size() + 2));
}

constexpr double kMbPerKib = 1024 / 1e6;

}  // namespace

double cpu_seconds(pid_t pid) {
  const std::string stat = proc_file(pid, "stat");
  // Fields are counted behind the program's name, which may hold spaces; utime and stime are the 14th and 15th of all.
  const auto fields = split(stat.substr(stat.rfind(')') + 2), ' ');
  return (std::stod(fields.at(11)) + std::stod(fields.at(12))) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

long switches(pid_t pid) {
  double sum = 0;
  for (const auto& task : std::filesystem::directory_iterator(fmt::format("/proc/{}/task", pid))) {
    const std::string status = read_file(task.path() / "status").value_or("");
    sum += number(status, "voluntary_ctxt_switches") + number(status, "nonvoluntary_ctxt_switches");
  }
  return static_cast<long>(sum);
}

Memory memory_of(pid_t pid) {
  const std::string status = proc_file(pid, "status");
  return {number(status, "VmRSS") * kMbPerKib, number(status, "RssAnon") * kMbPerKib, number(status, "VmHWM") * kMbPerKib};
}

}  // namespace nodeward::bench
