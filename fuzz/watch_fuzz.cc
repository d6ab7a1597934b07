// Any bytes as a watch stream and as a list, cut anywhere: the same events and objects for every way of cutting, and no crash.
// The first four bytes choose the cuts, the rest is the stream.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/check.h"
#include "base/overload.h"
#include "kube/decode.h"
#include "kube/splitters.h"

namespace nodeward::kube {
namespace {

using Seen = std::vector<std::string>;

template <class T>
std::string described(const Result<WatchEvent<T>>& event) {
  if (!event) return "unreadable";
  const std::string version = " at " + event->version.str();
  return std::visit(Overload{[&](const Applied<T>& applied) { return "applied " + applied.object.name.str() + version; },
                             [&](const Deleted<T>& deleted) { return "deleted " + deleted.last.name.str() + version; },
                             [&](const Bookmark& mark) { return (mark.initial_end ? "end" : "bookmark") + version; },
                             [&](const WatchFailed& failed) { return std::string(to_string(failed.error.code)); },
                             [&](const UnknownEvent& unknown) { return "unknown " + unknown.type; }},
                    event->what);
}

// Pieces of 1 to `most` bytes, by a small generator of `seed`; most 0: all at once.
template <class Feed>
bool feed_cut(std::string_view bytes, std::uint32_t seed, std::size_t most, Feed&& feed) {
  while (!bytes.empty()) {
    seed = seed * 1664525U + 1013904223U;
    const std::size_t size = most == 0 ? bytes.size() : std::min<std::size_t>(1 + (seed >> 16) % most, bytes.size());
    if (!feed(bytes.substr(0, size))) return false;
    bytes.remove_prefix(size);
  }
  return true;
}

Seen watched(std::string_view bytes, std::uint32_t seed, std::size_t most) {
  const auto decoder = make_node_decoder({.labels = {.all = true, .keys = {}}, .spec = true});
  LineSplitter lines;
  Seen seen;
  const auto on_line = [&](std::string_view line) -> Result<> {
    seen.push_back(described(decoder->event(line)) + " of " + decoder->who(line).name.str());
    return {};
  };
  feed_cut(bytes, seed, most, [&](std::string_view piece) { return lines.feed(piece, on_line).has_value(); });
  NW_CHECK(lines.finish(on_line).has_value(), "the rest is an event or none");
  return seen;
}

Seen listed(std::string_view bytes, std::uint32_t seed, std::size_t most) {
  const auto decoder = make_node_decoder({.labels = {.all = true, .keys = {}}, .spec = true});
  ItemSplitter items;
  Seen seen;
  const auto on_item = [&](std::string_view json) -> Result<> {
    const auto object = decoder->object(json);
    seen.push_back(object ? object->name.str() : "unreadable");
    return {};
  };
  feed_cut(bytes, seed, most, [&](std::string_view piece) { return items.feed(piece, on_item).has_value(); });
  if (items.complete()) {
    const auto meta = decode_list_meta(items.envelope());
    seen.push_back(meta ? meta->version.str() + meta->continue_token : "no list");
  }
  return seen;
}

}  // namespace
}  // namespace nodeward::kube

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace nodeward::kube;
  if (size < 4) return 0;
  const std::uint32_t seed = data[0] | data[1] << 8U | data[2] << 16U;
  const std::size_t most = 1 + data[3] % 40;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 4, size - 4);
  NW_CHECK(watched(bytes, seed, 0) == watched(bytes, seed, most), "a watch does not depend on its cuts");
  NW_CHECK(listed(bytes, seed, 0) == listed(bytes, seed, most), "a list does not depend on its cuts");
  return 0;
}
