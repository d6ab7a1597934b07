// For fuzzers of lists and watches: the same events and objects for every way of cutting a stream, and no crash. The first four
// bytes of an input choose the cuts, the rest is the stream.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/check.h"
#include "base/overload.h"
#include "kube/decode.h"
#include "kube/protobuf_splitters.h"

namespace nodeward::kube {

using Seen = std::vector<std::string>;

inline std::string described(const Node& node) {
  std::string text = node.name.str() + " at " + node.version.str();
  for (const auto& [key, value] : node.labels) text.append(" ").append(key.view()).append("=").append(value.view());
  return text;
}

inline std::string described(const Result<WatchEvent<Node>>& event) {
  if (!event) return "unreadable";
  return std::visit(Overload{[&](const Applied<Node>& applied) { return "applied " + described(applied.object); },
                             [&](const Deleted<Node>& deleted) { return "deleted " + described(deleted.last); },
                             [&](const Bookmark& mark) { return (mark.initial_end ? "end " : "bookmark ") + mark.version.str(); },
                             [&](const WatchFailed& failed) { return std::string(to_string(failed.error.code)); },
                             [&](const UnknownEvent& unknown) { return "unknown " + unknown.type; }},
                    event->what);
}

// Pieces of 1 to `most` bytes, by a small generator of `seed`; most 0: all at once.
struct Cuts {
  std::uint32_t seed = 0;
  std::size_t most = 0;
  template <class Feed>                      // bool(std::string_view piece): false ends it
  void apply(std::string_view bytes, Feed&& feed) const {
    std::uint32_t state = seed;
    while (!bytes.empty()) {
      state = state * 1664525U + 1013904223U;
      const std::size_t size = most == 0 ? bytes.size() : std::min<std::size_t>(1 + (state >> 16) % most, bytes.size());
      if (!feed(bytes.substr(0, size))) return;
      bytes.remove_prefix(size);
    }
  }
};

inline std::unique_ptr<Decoder<Node>> decoder_of(Encoding encoding) {
  return make_node_decoder({.labels = {.all = true, .keys = {}}, .spec = encoding == Encoding::kJson}, encoding);
}

inline Seen watched(std::string_view bytes, Encoding encoding, const Cuts& cuts) {
  const auto decoder = decoder_of(encoding);
  EventSplitter events(encoding);
  Seen seen;
  const auto on_event = [&](std::string_view event) -> Result<> {
    seen.push_back(described(decoder->event(event)) + " of " + decoder->who(event).name.str());
    return {};
  };
  cuts.apply(bytes, [&](std::string_view piece) { return events.feed(piece, on_event).has_value(); });
  NW_CHECK(events.finish(on_event).has_value(), "the rest is an event or none");
  return seen;
}

inline Seen listed(std::string_view bytes, Encoding encoding, const Cuts& cuts) {
  const auto decoder = decoder_of(encoding);
  ListSplitter items(encoding);
  Seen seen;
  const auto on_item = [&](std::string_view item) -> Result<> {
    const auto object = decoder->object(item);
    seen.push_back(object ? described(*object) : "unreadable");
    return {};
  };
  cuts.apply(bytes, [&](std::string_view piece) { return items.feed(piece, on_item).has_value(); });
  if (items.complete()) {
    const auto meta = items.meta();
    seen.push_back(meta ? meta->version.str() + meta->continue_token : "no list");
  }
  return seen;
}

inline void check_cuts(const std::uint8_t* data, std::size_t size, Encoding encoding) {
  if (size < 4) return;
  const Cuts cuts{.seed = data[0] + 256U * data[1] + 65536U * data[2], .most = std::size_t{1} + data[3] % 40};
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 4, size - 4);
  NW_CHECK(watched(bytes, encoding, {}) == watched(bytes, encoding, cuts), "a watch does not depend on its cuts");
  NW_CHECK(listed(bytes, encoding, {}) == listed(bytes, encoding, cuts), "a list does not depend on its cuts");
}

}  // namespace nodeward::kube
