#include "writes/labeler_run.h"

#include <fmt/format.h>
#include <stdlib.h>

#include <algorithm>
#include <ctime>
#include <stdexcept>
#include <string_view>
#include <thread>

#include "base/clock.h"
#include "base/text.h"

namespace nodeward::bench {
namespace {

constexpr std::string_view kSynced = R"("msg":"all caches are read)";
constexpr std::string_view kTime = R"({"time":")";

// {"time":"2026-09-01T08:30:00.123456789Z",...
double time_of(std::string_view line) {
  std::tm parts{};
  const std::string text(line.substr(std::min(kTime.size(), line.size())));
  const char* rest = strptime(text.c_str(), "%Y-%m-%dT%H:%M:%S", &parts);
  if (!line.starts_with(kTime) || rest == nullptr) throw std::runtime_error("a line of the log has no time");
  return static_cast<double>(timegm(&parts)) + std::strtod(rest, nullptr);
}

std::filesystem::path next_log(const api::RealCluster& cluster) {
  static int runs = 0;
  return cluster.folder() / fmt::format("controller-{}.log", ++runs);
}

std::string text_of(const std::filesystem::path& log) { return read_file(log).value_or(""); }

std::size_t count(std::string_view text, std::string_view what) {
  std::size_t found = 0;
  for (auto at = text.find(what); at != std::string_view::npos; at = text.find(what, at + what.size())) ++found;
  return found;
}

}  // namespace

ControllerRun::ControllerRun(const api::RealCluster& cluster, const std::string& program, const std::vector<std::string>& flags,
                             std::string_view written)
    : log_(next_log(cluster)), written_(written) {
  std::vector<std::string> arguments = {program, "--metrics-port=0"};
  arguments.insert(arguments.end(), flags.begin(), flags.end());
  ::setenv("AUDIT_LOG_BASE_PATH", (cluster.folder() / "audit").c_str(), 1);    // on, as a user has it
  child_ = api::Child(arguments, log_);
}

LabelerRun::LabelerRun(const api::RealCluster& cluster, const std::string& program, std::vector<std::string> flags)
    : ControllerRun(cluster, program, (flags.push_back("--kubeconfig=" + cluster.kubeconfig().string()), flags), kLabelsWritten) {
}

void ControllerRun::wait_for_writes(std::size_t wanted) {
  std::size_t seen = 0;
  MonoTime news = Clock::real().now();
  while (seen < wanted) {
    std::this_thread::sleep_for(100ms);
    const std::size_t now = count(text_of(log_), written_);
    if (now > seen) news = Clock::real().now();
    seen = now;
    if (child_.running() && Clock::real().now() - news < 30s) continue;
    throw std::runtime_error(
        fmt::format("it stopped at {} of {} writes; its log: {}", seen, wanted, text_of(log_).substr(0, 2000)));
  }
}

void ControllerRun::wait_until_synced() {
  const MonoTime deadline = Clock::real().now() + 60s;
  while (count(text_of(log_), kSynced) == 0) {
    if (Clock::real().now() > deadline) throw std::runtime_error("it did not read its caches: " + text_of(log_));
    std::this_thread::sleep_for(50ms);
  }
}

std::vector<double> ControllerRun::write_times() const {
  std::vector<double> times;
  for (const std::string& line : split(text_of(log_), '\n')) {
    if (line.find(written_) != std::string::npos) times.push_back(time_of(line));
  }
  std::sort(times.begin(), times.end());
  return times;
}

}  // namespace nodeward::bench
