// A certificate or key as a kubeconfig gives it: `<field>-data` in base64, or the file that `<field>` names. Private to
// kube/config.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/error.h"
#include "kube/config/section.h"

namespace nodeward::kube {

struct PemField {
  std::string pem = {};             // "": neither is given
  std::filesystem::path file = {};  // absolute; empty when it came as data
};

Result<PemField> read_pem_field(const Section& section, const std::string& field, Result<> (*check)(std::string_view pem));

}  // namespace nodeward::kube
