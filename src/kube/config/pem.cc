#include "kube/config/pem.h"

#include <fmt/format.h>

#include <cstdint>

namespace nodeward::kube {
namespace {

constexpr std::string_view kBegin = "-----BEGIN CERTIFICATE-----";
constexpr std::string_view kEnd = "-----END CERTIFICATE-----";

int base64_digit(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  return c == '+' ? 62 : c == '/' ? 63 : -1;
}

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

std::optional<std::string> decode_base64(std::string_view text) {
  std::string out;
  std::uint32_t bits = 0;
  int digits = 0, padding = 0;
  for (const char c : text) {
    if (c == ' ' || c == '\t' || c == '\r' || c == '\n') continue;
    const int digit = c == '=' ? 0 : base64_digit(c);
    padding += c == '=';
    if (digit < 0 || padding > 2 || (padding > 0 && c != '=')) return std::nullopt;
    bits = bits << 6 | static_cast<std::uint32_t>(digit);
    if (++digits % 4 == 0) {
      for (const int shift : {16, 8, 0}) out.push_back(static_cast<char>(bits >> shift & 0xff));
    }
  }
  if (digits % 4 != 0) return std::nullopt;
  out.resize(out.size() - static_cast<std::size_t>(padding));
  return out;
}

std::string encode_base64(std::string_view bytes) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    const std::string_view group = bytes.substr(at, 3);
    std::uint32_t bits = 0;
    for (std::size_t i = 0; i < 3; ++i) bits = bits << 8 | (i < group.size() ? static_cast<std::uint8_t>(group[i]) : 0);
    for (std::size_t i = 0; i < 4; ++i) out += i <= group.size() ? kDigits[bits >> (18 - 6 * i) & 63] : '=';
  }
  return out;
}

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
