// labeler: pods and nodes -> the labels that GPU monitoring selects nodes by. Flags, wiring, signals, exit codes; what it does
// is in src/labels.
#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <vector>

#include "apps/controller/cluster.h"
#include "apps/controller/health.h"
#include "apps/controller/leadership.h"
#include "apps/controller/node_events.h"
#include "apps/controller/process.h"
#include "apps/labeler/flags.h"
#include "base/version.h"
#include "labels/labeler.h"
#include "telemetry/log.h"
#include "telemetry/metrics.h"

namespace nodeward::apps {
namespace {

Result<labels::LabelerOptions> labeler_options(const LabelerFlags& flags) {
  NW_TRY_ASSIGN(const int workers, workers_from_flag(flags.workers));
  NW_TRY_ASSIGN(const Rate rate, rate_from_flags(flags.kube_api_qps, flags.kube_api_burst));
  labels::LabelerOptions options{.labels = {.dcgm_apps = labels::app_list(flags.dcgm_app_label),
                                            .driver_app = flags.driver_app_label,
                                            .installer_app = flags.gke_installer_app_label,
                                            .kata_label = flags.kata_label,
                                            .assume_dcgm_available = flags.assume_dcgm_available,
                                            .assume_driver_installed = flags.assume_driver_installed,
                                            .require_dcgm_ready = flags.require_dcgm_ready_for_bootstrap},
                                 .qps = rate.qps,
                                 .burst = rate.burst,
                                 .workers = workers,
                                 .name_pods = flags.print_only};
  NW_TRY(labels::validate(options.labels));
  return options;
}

Result<int> run(const LabelerFlags& flags, Clock& clock, const std::stop_token& stop) {
  NW_TRY_ASSIGN(auto options, labeler_options(flags));
  telemetry::Metrics metrics;
  NW_TRY_ASSIGN(const auto cluster,
                Cluster::open({flags.kubeconfig, flags.context, flags.kube_api_gzip, "labeler"}, metrics, clock, stop));
  NW_TRY_ASSIGN(const auto leadership, Leadership::open(flags.lease, "labeler", cluster->client(), clock));
  NodeEvents events(cluster->client(), "labeler", clock);
  options.fence = leadership->fence();
  options.on_refused = [&](const kube::NodeName& node, const std::string& why) { events.warn(node, kWriteRefused, why); };
  labels::Labeler labeler(cluster->client(), std::move(options), metrics, clock);
  telemetry::info(flags.print_only ? "labeler starts; print-only: nothing is written" : "labeler starts",
                  {{"cluster", cluster->source()}});
  if (flags.print_only) {
    labeler.print_once([](std::string_view line) { fmt::print("{}\n", line); }, stop);
    if (std::fflush(stdout) != 0) return fail(ErrorCode::kUnavailable, "--print-only: standard output cannot be written");
    return 0;
  }
  NW_TRY_ASSIGN(const auto health, serve_health(flags.metrics_port, health_of(labeler, *leadership, metrics)));
  NW_TRY(leadership->run(
      stop, [&] { labeler.resume(); }, [&](const std::stop_token& end) { labeler.run(end); }));
  return 0;
}

int main(const std::vector<std::string>& args) {
  const auto flags = read_labeler_flags(args);
  if (!flags) {
    fmt::print(stderr, "{}", flags.error().text);
    return flags.error().exit_code;
  }
  if (flags->version) {
    fmt::print("labeler {}\n", version());
    return 0;
  }
  if (!flags->expected_device_counts_config_file.empty()) {
    fmt::print(stderr, "labeler: --expected-device-counts-config-file: this version does not count devices yet; leave it out\n");
    return 2;
  }
  return run_controller("labeler", [&](Clock& clock, const std::stop_token& stop) { return run(*flags, clock, stop); });
}

}  // namespace
}  // namespace nodeward::apps

int main(int argc, char** argv) { return nodeward::apps::main({argv + 1, argv + argc}); }
