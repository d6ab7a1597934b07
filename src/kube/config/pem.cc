#include "kube/config/pem.h"

#include <fmt/format.h>

#include <cstdint>

#include "base/base64.h"

namespace nodeward::kube {
namespace {

constexpr std::string_view kBegin = "-----BEGIN CERTIFICATE-----";
constexpr std::string_view kEnd = "-----END CERTIFICATE-----";

// Whether `der` is one SEQUENCE (X.690 section 8.1) that fills it to the last byte, as every certificate is.
bool is_whole_sequence(std::string_view der) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(der[i]); };
  if (der.size() < 2 || byte(0) != 0x30) return false;
  if (byte(1) < 0x80) return der.size() - 2 == byte(1);
  const std::size_t length_bytes = byte(1) & 0x7f;
  if (length_bytes > 4 || der.size() < 2 + length_bytes) return false;
  std::size_t length = 0;
  for (std::size_t i = 0; i < length_bytes; ++i) length = length << 8 | byte(2 + i);
  return der.size() - 2 - length_bytes == length;
}

}  // namespace

Result<> check_certificates(std::string_view pem) {
  int count = 0;
  for (auto at = pem.find(kBegin); at != std::string_view::npos; at = pem.find(kBegin)) {
    ++count;
    pem.remove_prefix(at + kBegin.size());
    const auto end = pem.find(kEnd);
    const auto der = decode_base64(pem.substr(0, end));
    if (end == std::string_view::npos || !der || !is_whole_sequence(*der)) {
      return fail(ErrorCode::kInvalid, fmt::format("certificate {} in it is broken or cut off", count));
    }
    pem.remove_prefix(end + kEnd.size());
  }
  if (count == 0)
    return fail(ErrorCode::kInvalid, fmt::format("holds no certificate; it must hold PEM text that begins with {}", kBegin));
  return {};
}

Result<> check_private_key(std::string_view pem) {
  if (pem.find("PRIVATE KEY-----") == std::string_view::npos) {
    return fail(ErrorCode::kInvalid,
                "holds no private key; it must hold PEM text that begins with -----BEGIN ... PRIVATE KEY-----");
  }
  if (pem.find("ENCRYPTED") != std::string_view::npos) {
    return fail(ErrorCode::kInvalid, "is locked with a passphrase; give a key without one");
  }
  return {};
}

}  // namespace nodeward::kube
