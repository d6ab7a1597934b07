// One copy of a controller writes, the others stand by with warm caches: --leader-elect and its --lease-* flags, from the command
// line to the fence of the node writer. Without --leader-elect the fence is always open. Built and run in main.
#pragma once

#include <functional>
#include <memory>
#include <stop_token>
#include <string>

#include "apps/flag_table.h"
#include "base/clock.h"
#include "base/error.h"
#include "kube/client.h"
#include "kube/lease.h"
#include "nodes/node_writer.h"

namespace nodeward::apps {

struct LeaseFlags {
  bool leader_elect = false;
  std::string name = {};  // empty: the program's
  std::string name_space = {};  // empty: the pod's own, "default" outside of a cluster
  std::string duration = "15s";
  std::string renew_deadline = "10s";
  std::string retry_period = "2s";
};
void add_lease_flags(FlagTable& table, LeaseFlags& flags, const std::string& program);

class Leadership {
 public:
  // kInvalid names the flag.
  static Result<std::unique_ptr<Leadership>> open(const LeaseFlags& flags, const std::string& program, kube::Client& client,
                                                  Clock& clock);

  // Any thread; as long as this object lives.
  nodes::Fence fence() const;
  std::string readiness() const;  // a line for /readyz while this copy does not write, else empty

  // Runs `work` until it returns, with the election beside it; `on_lead` (another thread) each time the lease is taken. The lease
  // is kept until `work` is through, so that its last writes are covered, and given back then. An error: no right to the lease;
  // `work` was stopped.
  Result<> run(const std::stop_token& stop, std::function<void()> on_lead,
               const std::function<void(const std::stop_token&)>& work);

 private:
  Leadership(bool elects, kube::LeaseOptions options, kube::Client& client, Clock& clock);

  const bool elects_;
  const std::string identity_;
  std::function<void()> on_lead_ = [] {};
  kube::Lease lease_;
};

}  // namespace nodeward::apps
