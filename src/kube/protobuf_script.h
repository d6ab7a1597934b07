// Protobuf messages as a server writes them, for tests: fields put together by hand.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "kube/protobuf_wire.h"

namespace nodeward::kube::protobuf {

inline std::string varint(std::uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(value | 0x80);
  return bytes + static_cast<char>(value);
}
inline std::string field(std::uint32_t number, std::string_view content) {
  return varint(number << 3 | 2) + varint(content.size()) + std::string(content);
}
inline std::string number(std::uint32_t number, std::uint64_t value) { return varint(number << 3) + varint(value); }
inline std::string entry(std::uint32_t number, std::string_view key, std::string_view value) {
  return field(number, field(1, key) + field(2, value));
}

inline std::string enveloped(std::string_view kind, std::string_view message) {
  return std::string(kMagic) + field(1, field(1, "v1") + field(2, kind)) + field(2, message) + field(3, "") + field(4, "");
}
inline std::string list(std::string_view kind, std::string_view version, std::string_view next, std::string_view items) {
  return enveloped(kind, field(1, field(1, "") + field(2, version) + field(3, next) + number(4, 300)) + std::string(items));
}
inline std::string frame(std::string_view type, std::string_view enveloped_object) {
  const std::string event = field(1, type) + field(2, field(1, enveloped_object));
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(event.size() >> shift);
  return bytes + event;
}
// `more`: further fields of ObjectMeta.
inline std::string node(std::string_view name, std::string_view version, std::string_view more = "") {
  return field(1, field(1, name) + field(2, "") + field(3, "") + field(5, "00000000-0000-4000-8000-000000000007") +
                      field(6, version) + number(7, 0) + field(8, number(1, 1'790'000'000)) + std::string(more));
}
inline std::string initial_end(std::string_view version) {
  return frame("BOOKMARK", enveloped("Node", node("", version, entry(12, "k8s.io/initial-events-end", "true"))));
}

}  // namespace nodeward::kube::protobuf
