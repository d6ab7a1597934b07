#include "writes/process.h"

#include <fmt/format.h>
#include <unistd.h>

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

// "VmRSS:	  1234 kB" in 10^6 bytes.
double megabytes(const std::string& status, const std::string& key) {
  const auto at = status.find(key + ":");
  if (at == std::string::npos) throw std::runtime_error("no " + key + " in /proc/<pid>/status");
  return std::stod(status.substr(at + key.size() + 1)) * 1024 / 1e6;
}

}  // namespace

double cpu_seconds(pid_t pid) {
  const std::string stat = proc_file(pid, "stat");
  // Fields are counted behind the program's name, which may hold spaces; utime and stime are the 14th and 15th of all.
  const auto fields = split(stat.substr(stat.rfind(')') + 2), ' ');
  return (std::stod(fields.at(11)) + std::stod(fields.at(12))) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

Memory memory_of(pid_t pid) {
  const std::string status = proc_file(pid, "status");
  return {megabytes(status, "VmRSS"), megabytes(status, "RssAnon"), megabytes(status, "VmHWM")};
}

}  // namespace nodeward::bench
