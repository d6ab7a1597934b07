// A controller as a process beside the measurement. When each node was written is read off its log, which has a line with
// nanoseconds for each answer 200, so the measuring costs neither it nor the server anything; how many there were is the
// server's word (Counters). Main thread only. Throws std::runtime_error.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "api/child.h"
#include "api/real_cluster.h"
#include "writes/process.h"

namespace nodeward::bench {

// What its log says of a write.
inline constexpr std::string_view kLabelsWritten = R"("msg":"labels written")";
inline constexpr std::string_view kNodeQuarantined = R"("msg":"event settled: quarantine")";

class ControllerRun {
 public:
  // `flags` name the kubeconfig; a --metrics-port of 0 is put in front of them.
  ControllerRun(const api::RealCluster& cluster, const std::string& program, const std::vector<std::string>& flags,
                std::string_view written);

  // Until the log has named `count` writes; throws when none came for 30 s.
  void wait_for_writes(std::size_t count);
  void wait_until_synced();                     // all caches are read
  std::vector<double> write_times() const;      // seconds since the epoch, ascending
  double cpu() const { return cpu_seconds(child_.pid()); }
  double switches() const { return static_cast<double>(bench::switches(child_.pid())); }
  Memory memory() const { return memory_of(child_.pid()); }

 private:
  const std::filesystem::path log_;
  const std::string written_;
  api::Child child_;
};

class LabelerRun : public ControllerRun {
 public:
  LabelerRun(const api::RealCluster& cluster, const std::string& program, std::vector<std::string> flags);
};

}  // namespace nodeward::bench
