// The keys the labeler reads and writes on a node (letters as in the acceptance rows), and their values. Nothing else of a
// node is ever written by it.
#pragma once

#include <string_view>

namespace nodeward::labels {

// Written.
inline constexpr std::string_view kDcgmVersion = "nvsentinel.dgxc.nvidia.com/dcgm.version";               // D
inline constexpr std::string_view kDriverInstalled = "nvsentinel.dgxc.nvidia.com/driver.installed";  // I: "true" or absent
inline constexpr std::string_view kKataEnabled = "nvsentinel.dgxc.nvidia.com/kata.enabled";  // K: "true" or "false"
inline constexpr std::string_view kBootstrapped = "nvsentinel.dgxc.nvidia.com/dcgm-bootstrap-completed";  // B, an annotation

// Read.
inline constexpr std::string_view kManaged = "nvsentinel.dgxc.nvidia.com/managed";  // M: exactly "false" opts the node out
inline constexpr std::string_view kGpuPresent = "nvidia.com/gpu.present";  // G
inline constexpr std::string_view kKataRuntime = "katacontainers.io/kata-runtime";

inline constexpr std::string_view kTrue = "true";
inline constexpr std::string_view kFalse = "false";
inline constexpr std::string_view kDcgm3 = "3.x";
inline constexpr std::string_view kDcgm4 = "4.x";

}  // namespace nodeward::labels
