#include "apps/labeler/flags.h"

#include <CLI/CLI.hpp>
#include <vector>

namespace nodeward::apps {

tl::expected<LabelerFlags, FlagExit> read_labeler_flags(std::span<const std::string> args) {
  LabelerFlags flags;
  CLI::App app;
  std::vector<GoFlag> known;
  const auto add = [&](const std::string& name, FlagKind kind, auto& value, const std::string& default_text, const std::string& help) {
    known.push_back({name, kind, default_text, help});
    app.add_option("--" + name, value);
  };
  add("kubeconfig", FlagKind::kString, flags.kubeconfig, "", "path of a kubeconfig; empty: the pod's own account");
  add("metrics-port", FlagKind::kString, flags.metrics_port, flags.metrics_port, "port of /healthz, /readyz and /metrics");
  add("dcgm-app-label", FlagKind::kString, flags.dcgm_app_label, flags.dcgm_app_label, "values of the label app of DCGM pods, separated by commas");
  add("driver-app-label", FlagKind::kString, flags.driver_app_label, flags.driver_app_label, "value of the label app of driver pods");
  add("gke-installer-app-label", FlagKind::kString, flags.gke_installer_app_label, flags.gke_installer_app_label,
      "value of the label k8s-app of driver installer pods");
  add("kata-label", FlagKind::kString, flags.kata_label, "", "a further node label that tells a Kata node");
  add("expected-device-counts-config-file", FlagKind::kString, flags.expected_device_counts_config_file, "",
      "TOML file of expected device counts; not in this version yet");
  add("assume-dcgm-available", FlagKind::kBool, flags.assume_dcgm_available, "false", "keep a valid DCGM version when no DCGM pod is there");
  add("assume-driver-installed", FlagKind::kBool, flags.assume_driver_installed, "false", "GPU nodes have a driver, whatever their pods");
  add("require-dcgm-ready-for-bootstrap", FlagKind::kBool, flags.require_dcgm_ready_for_bootstrap, "true",
      "the first DCGM version of a node needs a Ready DCGM pod");
  add("kube-api-qps", FlagKind::kDouble, flags.kube_api_qps, "5", "node writes per second; 0: 5, negative: no limit");
  add("kube-api-burst", FlagKind::kInt, flags.kube_api_burst, "10", "node writes saved up; 0: 10");
  add("workers", FlagKind::kInt, flags.workers, "16", "nodes worked on at the same time, 1 to 256");
  add("print-only", FlagKind::kBool, flags.print_only, "false", "print what would change, a line per node, write nothing, and end");
  add("version", FlagKind::kBool, flags.version, "false", "print the version and end");

  auto words = read_go_flags("labeler", known, args);
  if (!words) return tl::unexpected(std::move(words.error()));
  app.parse(std::vector<std::string>(words->rbegin(), words->rend()));   // CLI11 takes the last word first
  return flags;
}

}  // namespace nodeward::apps
