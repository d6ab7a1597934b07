// Which major version of DCGM an image reference names. It comes from the tag of an image whose name ends in "dcgm", never
// from a registry port, a path or a digest. Pure, linear, takes any text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace nodeward::labels {

enum class DcgmMajor : std::uint8_t { kNone, k3, k4 };   // in order of preference

// "3.x", "4.x"; empty for kNone.
std::string_view label_value(DcgmMajor major);

DcgmMajor dcgm_major(std::string_view image);
// Of a pod: the first container, in order, whose image names a major that we know.
DcgmMajor dcgm_major(const std::vector<std::string>& images);

// An image called dcgm, of which no major can be told (a digest alone, "latest", another major): worth a warning.
bool is_unversioned_dcgm(std::string_view image);

}  // namespace nodeward::labels
