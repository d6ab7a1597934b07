// The labeler as a process beside the measurement. When each node was written is read off its log, which has a line with
// nanoseconds for each answer 200, so the measuring costs neither it nor the server anything; how many there were is the
// server's word (Counters). Main thread only. Throws std::runtime_error.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "api/child.h"
#include "api/cluster.h"
#include "writes/process.h"

namespace nodeward::bench {

class LabelerRun {
 public:
  LabelerRun(const api::RealCluster& cluster, const std::string& program, const std::vector<std::string>& flags);

  // Until the log has named `count` writes; throws when none came for 30 s.
  void wait_for_writes(std::size_t count);
  void wait_until_synced();                     // all caches are read
  std::vector<double> write_times() const;      // seconds since the epoch, ascending
  double cpu() const { return cpu_seconds(child_.pid()); }
  double switches() const { return static_cast<double>(bench::switches(child_.pid())); }
  Memory memory() const { return memory_of(child_.pid()); }

 private:
  const std::filesystem::path log_;
  api::Child child_;
};

}  // namespace nodeward::bench
