#include "apps/fault_quarantine/flags.h"

#include <fmt/format.h>

#include "apps/flag_table.h"

namespace nodeward::apps {

Result<> check_gpu_node_label(const std::string& label) {
  const auto equals = label.find('=');
  if (equals != std::string::npos && equals > 0) return {};
  return fail(ErrorCode::kInvalid,
              fmt::format("--gpu-node-label: \"{}\" is no label; it takes KEY=VALUE, as nvidia.com/gpu.present=true", label));
}

tl::expected<FaultQuarantineFlags, FlagExit> read_fault_quarantine_flags(std::span<const std::string> args) {
  FaultQuarantineFlags flags;
  FlagTable table("fault-quarantine");
  table.add("metrics-port", flags.metrics_port, flags.metrics_port, "port of /healthz, /readyz and /metrics");
  table.add("kubeconfig-path", flags.kubeconfig_path, "",
            "path of a kubeconfig; empty means $KUBECONFIG's files, else the pod's service account");
  table.add("config-path", flags.config_path, flags.config_path, "the rule file, TOML");
  table.add("dry-run", flags.dry_run, "false", "mark nodes, act on none; not in this version yet");
  table.add("circuit-breaker-enabled", flags.circuit_breaker_enabled, "true",
            "stop when too many nodes fall ill at once; not in this version yet");
  table.add("gpu-node-label", flags.gpu_node_label, flags.gpu_node_label,
            "the label of the nodes that the circuit breaker counts");
  table.add("tls-enabled", flags.tls_enabled, "true", "accepted for old command lines and ignored: MongoDB only");
  table.add("database-client-cert-mount-path", flags.database_client_cert_mount_path, flags.database_client_cert_mount_path,
            "accepted for old command lines and ignored: MongoDB only");
  table.add("mongo-client-cert-mount-path", flags.mongo_client_cert_mount_path, flags.mongo_client_cert_mount_path,
            "accepted for old command lines and ignored: MongoDB only");
  table.add("kube-api-qps", flags.kube_api_qps, "5", "node writes per second; 0 means 5, negative means no limit");
  table.add("kube-api-burst", flags.kube_api_burst, "10", "node writes that may go at once after a quiet time; 0 means 10");
  table.add("kube-api-gzip", flags.kube_api_gzip, "false",
            "ask for compressed answers: fewer bytes for more CPU at both ends; never on loopback");
  table.add("event-source", flags.event_source, "",
            "file:PATH, file:PATH?follow or file:- (standard input): health events as JSON lines");
  table.add("outcomes", flags.outcomes, "", "file for what became of each event, JSON lines; -: standard output");
  table.add("workers", flags.workers, "16", "nodes worked on at the same time, 1 to 256");
  table.add("context", flags.context, "", "context of the kubeconfig to use; empty means its current-context");
  add_lease_flags(table, flags.lease, "fault-quarantine");
  table.add("node-events", flags.node_events, "false",
            "write a Kubernetes Event for each quarantine and release too, a second request each");
  table.add("print-only", flags.print_only, "false", "print what would be written, a line per write, and send nothing");
  table.add("version", flags.version, "false", "print the version and end");
  if (auto exit = table.read(args)) return tl::unexpected(std::move(*exit));
  return flags;
}

}  // namespace nodeward::apps
