#include "net/http.h"

namespace nodeward::net {

std::optional<std::string_view> Response::header(std::string_view lower_case_name) const {
  for (const Header& header : headers) {
    if (header.name == lower_case_name) return header.value;
  }
  return std::nullopt;
}

}  // namespace nodeward::net
