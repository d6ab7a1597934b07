#include "apps/labeler/flags.h"

#include "apps/flag_table.h"

namespace nodeward::apps {

tl::expected<LabelerFlags, FlagExit> read_labeler_flags(std::span<const std::string> args) {
  LabelerFlags flags;
  FlagTable table("labeler");
  table.add("kubeconfig", flags.kubeconfig, "",
            "path of a kubeconfig; empty means $KUBECONFIG's files, else the pod's service account");
  table.add("metrics-port", flags.metrics_port, flags.metrics_port, "port of /healthz, /readyz and /metrics");
  table.add("dcgm-app-label", flags.dcgm_app_label, flags.dcgm_app_label,
            "values of the label app of DCGM pods, separated by commas");
  table.add("driver-app-label", flags.driver_app_label, flags.driver_app_label, "value of the label app of driver pods");
  table.add("gke-installer-app-label", flags.gke_installer_app_label, flags.gke_installer_app_label,
            "value of the label k8s-app of driver installer pods");
  table.add("kata-label", flags.kata_label, "",
            "a further node label that tells a Kata node, beside katacontainers.io/kata-runtime");
  table.add("expected-device-counts-config-file", flags.expected_device_counts_config_file, "",
            "TOML file of expected device counts; not in this version yet");
  table.add("assume-dcgm-available", flags.assume_dcgm_available, "false", "keep a valid DCGM version when no DCGM pod is there");
  table.add("assume-driver-installed", flags.assume_driver_installed, "false",
            "take it that GPU nodes have a driver, whatever their pods say");
  table.add("require-dcgm-ready-for-bootstrap", flags.require_dcgm_ready_for_bootstrap, "true",
            "the first DCGM version of a node needs a Ready DCGM pod");
  table.add("kube-api-qps", flags.kube_api_qps, "5", "node writes per second; 0 means 5, negative means no limit");
  table.add("kube-api-burst", flags.kube_api_burst, "10", "node writes that may go at once after a quiet time; 0 means 10");
  table.add("kube-api-gzip", flags.kube_api_gzip, "false",
            "ask for compressed answers: fewer bytes for more CPU at both ends; never on loopback");
  table.add("workers", flags.workers, "16", "nodes worked on at the same time, 1 to 256");
  table.add("context", flags.context, "", "context of the kubeconfig to use; empty means its current-context");
  add_lease_flags(table, flags.lease, "labeler");
  table.add("print-only", flags.print_only, "false", "print what would change, a line per node, write nothing, and end");
  table.add("version", flags.version, "false", "print the version and end");

  if (auto exit = table.read(args)) return tl::unexpected(std::move(*exit));
  return flags;
}

}  // namespace nodeward::apps
