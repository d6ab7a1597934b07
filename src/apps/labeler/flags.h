// The labeler's command line (labeler spec, section 2.1), in Go's spellings, with flags of our own behind it.
#pragma once

#include <span>
#include <string>
#include <tl/expected.hpp>

#include "apps/controller/leadership.h"
#include "apps/go_flags.h"

namespace nodeward::apps {

struct LabelerFlags {
  std::string kubeconfig;
  std::string metrics_port = "2112";
  std::string dcgm_app_label = "nvidia-dcgm,nvidia-dcgm-dra";
  std::string driver_app_label = "nvidia-driver-daemonset";
  std::string gke_installer_app_label = "nvidia-driver-installer";
  std::string kata_label;
  std::string expected_device_counts_config_file;
  bool assume_dcgm_available = false;
  bool assume_driver_installed = false;
  bool require_dcgm_ready_for_bootstrap = true;
  double kube_api_qps = 0;
  int kube_api_burst = 0;
  bool kube_api_gzip = false;
  int workers = 16;
  std::string context;
  LeaseFlags lease;
  bool print_only = false;
  bool version = false;
};

tl::expected<LabelerFlags, FlagExit> read_labeler_flags(std::span<const std::string> args);

}  // namespace nodeward::apps
