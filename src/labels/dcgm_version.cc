#include "labels/dcgm_version.h"

#include "labels/keys.h"

namespace nodeward::labels {
namespace {

// registry:port/path/name:tag@algorithm:digest -> name:tag
std::string_view name_and_tag(std::string_view image) {
  image = image.substr(0, image.find('@'));
  return image.substr(image.rfind('/') + 1);
}

}  // namespace

std::string_view label_value(DcgmMajor major) {
  switch (major) {
    case DcgmMajor::k4: return kDcgm4;
    case DcgmMajor::k3: return kDcgm3;
    case DcgmMajor::kNone: break;
  }
  return {};
}

// A text with both is no legal reference; 4 before 3 is what the peer makes of it.
DcgmMajor dcgm_major(std::string_view image) {
  const std::string_view reference = name_and_tag(image);
  if (reference.find("dcgm:4.") != std::string_view::npos) return DcgmMajor::k4;
  if (reference.find("dcgm:3.") != std::string_view::npos) return DcgmMajor::k3;
  return DcgmMajor::kNone;
}

DcgmMajor dcgm_major(const std::vector<std::string>& images) {
  for (const std::string& image : images) {
    if (const DcgmMajor major = dcgm_major(image); major != DcgmMajor::kNone) return major;
  }
  return DcgmMajor::kNone;
}

bool is_unversioned_dcgm(std::string_view image) {
  const std::string_view reference = name_and_tag(image);
  return reference.substr(0, reference.find(':')).ends_with("dcgm") && dcgm_major(image) == DcgmMajor::kNone;
}

}  // namespace nodeward::labels
