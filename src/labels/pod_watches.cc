#include "labels/pod_watches.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <set>

namespace nodeward::labels {
namespace {

constexpr std::string_view kApp = "app";
constexpr std::string_view kComponent = "app.kubernetes.io/component";
constexpr std::string_view kComponentValue = "nvidia-driver";   // a vGPU host manager is another component: no driver for pods
constexpr std::string_view kK8sApp = "k8s-app";

std::optional<std::string_view> label(const kube::Pod& pod, std::string_view key) {
  for (const auto& [name, value] : pod.labels) {
    if (name == key) return value;
  }
  return std::nullopt;
}

// "(a,b)"; the API server reads an empty element as the empty value, "(,a)" and "()" alike.
std::string value_list(const Options& options) {
  std::set<std::string> values(options.dcgm_apps.begin(), options.dcgm_apps.end());
  values.insert(options.driver_app);
  return fmt::format("({})", fmt::join(values, ","));
}

Roles roles_by_app(const kube::Pod& pod, const Options& options) {
  const auto app = label(pod, kApp);
  if (!app) return 0;
  Roles roles = 0;
  if (std::find(options.dcgm_apps.begin(), options.dcgm_apps.end(), *app) != options.dcgm_apps.end()) roles |= kDcgm;
  if (*app == options.driver_app) roles |= kDriver;
  return roles;
}

}  // namespace

std::array<PodWatch, kPodWatches> pod_watches(const Options& options) {
  return {{
      {PodWatchId::kApps, "pods-app", fmt::format("{} in {}", kApp, value_list(options))},
      {PodWatchId::kCrdDrivers, "pods-crd-driver",
       fmt::format("{}={},{}!={}", kComponent, kComponentValue, kApp, options.driver_app)},
      {PodWatchId::kInstallers, "pods-installer", fmt::format("{}={}", kK8sApp, options.installer_app)},
  }};
}

Roles roles_of(PodWatchId watch, const kube::Pod& pod, const Options& options) {
  switch (watch) {
    case PodWatchId::kApps: return roles_by_app(pod, options);
    case PodWatchId::kCrdDrivers:
      return label(pod, kComponent) == kComponentValue && label(pod, kApp) != options.driver_app ? kCrdDriver : 0;
    case PodWatchId::kInstallers: return label(pod, kK8sApp) == options.installer_app ? kInstaller : 0;
  }
  return 0;
}

}  // namespace nodeward::labels
