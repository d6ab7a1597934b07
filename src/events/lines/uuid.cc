#include "events/lines/uuid.h"

#include <fmt/format.h>

#include <bit>

namespace nodeward::events::lines {
namespace {

using Digest = std::array<std::uint32_t, 5>;

// One block of 64 bytes of SHA-1 (RFC 3174). Version 5 is defined by it; nothing here relies on its strength.
void add_block(Digest& digest, std::string_view block) {
  std::array<std::uint32_t, 80> words{};
  for (std::size_t i = 0; i < 64; ++i) words[i / 4] = (words[i / 4] << 8) | static_cast<std::uint8_t>(block[i]);
  for (std::size_t i = 16; i < 80; ++i) words[i] = std::rotl(words[i - 3] ^ words[i - 8] ^ words[i - 14] ^ words[i - 16], 1);
  auto [a, b, c, d, e] = digest;
  for (std::size_t i = 0; i < 80; ++i) {
    std::uint32_t mixed = b ^ c ^ d;
    std::uint32_t constant = i < 40 ? 0x6ED9EBA1 : 0xCA62C1D6;
    if (i < 20) {
      mixed = (b & c) | (~b & d);
      constant = 0x5A827999;
    } else if (i >= 40 && i < 60) {
      mixed = (b & c) | (b & d) | (c & d);
      constant = 0x8F1BBCDC;
    }
    const std::uint32_t next = std::rotl(a, 5) + mixed + e + constant + words[i];
    e = d;
    d = c;
    c = std::rotl(b, 30);
    b = a;
    a = next;
  }
  const Digest sum = {a, b, c, d, e};
  for (std::size_t i = 0; i < sum.size(); ++i) digest[i] += sum[i];
}

Digest sha1(std::string_view text) {
  Digest digest = {0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476, 0xC3D2E1F0};
  const std::uint64_t bits = std::uint64_t{text.size()} * 8;
  while (text.size() >= 64) {
    add_block(digest, text.substr(0, 64));
    text.remove_prefix(64);
  }
  std::string tail(text);
  tail += '\x80';
  while (tail.size() % 64 != 56) tail += '\0';
  for (int shift = 56; shift >= 0; shift -= 8) tail += static_cast<char>(bits >> shift);
  for (std::size_t at = 0; at < tail.size(); at += 64) add_block(digest, std::string_view(tail).substr(at, 64));
  return digest;
}

}  // namespace

std::string uuid_v5(const UuidBytes& name_space, std::string_view name) {
  std::string text(name_space.begin(), name_space.end());
  const Digest digest = sha1(text.append(name));
  const std::uint32_t version = (digest[1] & 0xFFFF0FFF) | 0x5000;
  const std::uint32_t variant = (digest[2] & 0x3FFFFFFF) | 0x80000000;
  return fmt::format("{:08x}-{:04x}-{:04x}-{:04x}-{:04x}{:08x}", digest[0], version >> 16, version & 0xFFFF, variant >> 16,
                     variant & 0xFFFF, digest[3]);
}

}  // namespace nodeward::events::lines
