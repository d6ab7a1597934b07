// The protobuf wire format, field by field, in place: what is asked for is a view into the message, the rest is stepped over.
// Bounds are checked and nothing is allocated; an unknown field costs a few instructions. Groups, which no Kubernetes message
// has, count as broken. Pure. Source: https://protobuf.dev/programming-guides/encoding
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace nodeward::kube::protobuf {

enum class Kind : std::uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

struct Field {
  std::uint32_t number = 0;
  Kind kind = Kind::kVarint;
  std::uint64_t value = 0;         // kVarint
  std::string_view bytes = {};     // kBytes: a text or a message

  bool is(std::uint32_t wanted) const { return number == wanted && kind == Kind::kBytes; }
};

enum class Read : std::uint8_t { kDone, kShort, kBroken };    // kShort: more bytes may make it whole

// Takes a varint off `bytes`, which stay as they were unless it is kDone.
inline Read take_varint(std::string_view& bytes, std::uint64_t& value) {
  value = 0;
  for (std::size_t i = 0; i < bytes.size() && i < 10; ++i) {
    const auto byte = static_cast<unsigned char>(bytes[i]);
    if (i == 9 && byte > 1) return Read::kBroken;               // over 64 bits
    value |= static_cast<std::uint64_t>(byte & 0x7f) << (7 * i);
    if (byte < 0x80) {
      bytes.remove_prefix(i + 1);
      return Read::kDone;
    }
  }
  return bytes.size() < 10 ? Read::kShort : Read::kBroken;
}

// What stands before the content of a field. A varint has its content in here.
struct Head {
  Field field;                     // without bytes
  std::uint64_t size = 0;          // of the content that follows
};

inline Read take_head(std::string_view& bytes, Head& head) {
  std::string_view rest = bytes;
  std::uint64_t tag = 0;
  if (const Read read = take_varint(rest, tag); read != Read::kDone) return read;
  if (tag >> 3 == 0 || tag >> 3 >= 1U << 29) return Read::kBroken;
  head = {.field = {.number = static_cast<std::uint32_t>(tag >> 3), .kind = static_cast<Kind>(tag & 7)}};
  Read read = Read::kDone;
  switch (head.field.kind) {
    case Kind::kVarint: read = take_varint(rest, head.field.value); break;
    case Kind::kBytes: read = take_varint(rest, head.size); break;
    case Kind::kFixed64: head.size = 8; break;
    case Kind::kFixed32: head.size = 4; break;
    default: return Read::kBroken;
  }
  if (read == Read::kDone) bytes = rest;
  return read;
}

// Calls bool on_field(const Field&) for each field of a whole message, in order. False: the message is broken, or on_field said
// so; the fields before that have been seen.
template <class OnField>
bool each_field(std::string_view message, OnField&& on_field) {
  while (!message.empty()) {
    Head head;
    if (take_head(message, head) != Read::kDone || head.size > message.size()) return false;
    head.field.bytes = message.substr(0, head.size);
    message.remove_prefix(head.size);
    if (!on_field(head.field)) return false;
  }
  return true;
}

// What every object that is answered or watched begins with, before a runtime.Unknown.
inline constexpr std::string_view kMagic{"k8s\0", 4};

// k8s.io/apimachinery/pkg/runtime: Unknown.raw; nullopt: there is none, or what came is broken.
inline std::optional<std::string_view> unwrapped(std::string_view envelope) {
  if (!envelope.starts_with(kMagic)) return std::nullopt;
  std::optional<std::string_view> raw;
  const bool sound = each_field(envelope.substr(kMagic.size()), [&](const Field& field) {
    if (field.is(2)) raw = field.bytes;
    return true;
  });
  return sound ? raw : std::nullopt;
}

}  // namespace nodeward::kube::protobuf
