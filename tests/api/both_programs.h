// Both programs beside each other on the real API server, under an account with the rights of docs/operating.md and no other, on
// nodes with foreign taints. What they asked for comes from the server's own record. Main thread, but for touch().
#pragma once

#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "api/fault_quarantine_fixture.h"
#include "api/labeler_process.h"
#include "api/real_cluster.h"

namespace nodeward::api {

// Whether a test is to run at its full length (make test-long).
bool is_long();

class BothProgramsOnTheServer : public FaultQuarantineOnTheServer {
 protected:
  // The foreign taints of every node, then ours.
  static const std::string kForeign;
  static const std::string kFault;

  void SetUp() override;
  void TearDown() override;

  RealCluster& real() { return dynamic_cast<RealCluster&>(cluster()); }
  // As tests/data/nodes/node-three-foreign-taints.json, with nothing to do for the labeler.
  static Json node_of_fleet(const std::string& name);
  std::vector<std::string> create_fleet(int count);
  static Json fatal_on(const std::string& node, const std::string& check = "GpuXidError");

  void start_fault_quarantine(const std::vector<std::string>& more = {});     // by tests/data/config/fq-base.toml
  void start_labeler();
  LabelerProcess& labeler() { return *labeler_; }

  // Of this test so far.
  std::vector<ServedCall> served(const std::string& program, const std::string& verb = "");
  // The answers to the program's PATCHes, by node, in order.
  std::map<std::string, std::vector<int>> patches(const std::string& program);

 private:
  std::unique_ptr<LabelerProcess> labeler_;
  std::size_t served_before_ = 0;
};

}  // namespace nodeward::api
