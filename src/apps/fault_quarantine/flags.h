// The command line of fault-quarantine (FQ spec, section 2.1), in Go's spellings, with flags of our own behind it.
#pragma once

#include <span>
#include <string>
#include <tl/expected.hpp>

#include "apps/controller/leadership.h"
#include "apps/go_flags.h"
#include "base/error.h"

namespace nodeward::apps {

struct FaultQuarantineFlags {
  std::string metrics_port = "2112";
  std::string kubeconfig_path;
  std::string config_path = "/etc/config/config.toml";
  bool dry_run = false;
  bool circuit_breaker_enabled = true;
  std::string gpu_node_label = "nvidia.com/gpu.present=true";
  bool tls_enabled = true;  // this and the next two: accepted, for MongoDB only
  std::string database_client_cert_mount_path = "/etc/ssl/database-client";
  std::string mongo_client_cert_mount_path = "/etc/ssl/mongo-client";
  double kube_api_qps = 0;
  int kube_api_burst = 0;
  bool kube_api_gzip = false;
  std::string event_source;
  std::string outcomes;
  int workers = 16;
  std::string context;
  LeaseFlags lease;
  bool node_events = false;
  bool print_only = false;
  bool version = false;
};

// --gpu-node-label: KEY=VALUE, where the value may be empty.
Result<> check_gpu_node_label(const std::string& label);

tl::expected<FaultQuarantineFlags, FlagExit> read_fault_quarantine_flags(std::span<const std::string> args);

}  // namespace nodeward::apps
