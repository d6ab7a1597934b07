// Which pods the labeler watches and what they mean: three watches over all namespaces, each with a label selector, because
// one selector cannot say "or" across keys. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "kube/objects.h"
#include "labels/options.h"

namespace nodeward::labels {

enum class PodWatchId : std::uint8_t { kApps, kCrdDrivers, kInstallers };
inline constexpr std::size_t kPodWatches = 3;

struct PodWatch {
  PodWatchId id;
  std::string_view name;        // for logs and metrics
  std::string label_selector;
};
std::array<PodWatch, kPodWatches> pod_watches(const Options& options);

// What a pod is to us. Bits: one pod can be several.
using Roles = std::uint8_t;
inline constexpr Roles kDcgm = 1;
inline constexpr Roles kDriver = 2;       // of a driver DaemonSet, by its app label
inline constexpr Roles kCrdDriver = 4;    // of an NVIDIADriver object, by its component label
inline constexpr Roles kInstaller = 8;    // of the GKE driver installer
inline constexpr Roles kAnyDriver = kDriver | kCrdDriver | kInstaller;

// What `pod` is to this watch, by its labels; 0: it does not belong here.
Roles roles_of(PodWatchId watch, const kube::Pod& pod, const Options& options);

}  // namespace nodeward::labels
