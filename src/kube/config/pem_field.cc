#include "kube/config/pem_field.h"

#include "base/base64.h"
#include "kube/config/pem.h"
#include "kube/config/token.h"

namespace nodeward::kube {

Result<PemField> read_pem_field(const Section& section, const std::string& field, Result<> (*check)(std::string_view pem)) {
  const std::string data_field = field + "-data";
  NW_TRY_ASSIGN(const std::string data, section.text(data_field));
  NW_TRY_ASSIGN(const std::string file, section.text(field));
  if (data.empty() && file.empty()) return PemField{};
  if (!data.empty() && !file.empty())
    return section.refuse(field, fmt::format("is given together with {}; remove one of them", data_field));
  PemField found;
  if (!data.empty()) {
    auto decoded = decode_base64(data);
    if (!decoded)
      return section.refuse(data_field,
                            fmt::format("is not valid base64; give the PEM text in base64, or its path as {}", field));
    found.pem = std::move(*decoded);
  } else {
    found.file = section.folder() / file;
    auto read = read_unnamed(found.file);
    if (!read) return section.refuse(field, read.error().message + " (a relative path starts at the kubeconfig's folder)");
    found.pem = std::move(*read);
  }
  if (const auto good = check(found.pem); !good) return section.refuse(data.empty() ? field : data_field, good.error().message);
  return found;
}

}  // namespace nodeward::kube
