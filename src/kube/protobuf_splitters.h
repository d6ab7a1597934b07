// A list or a watch in protobuf cut into messages, however its bytes arrive: what splitters.h does for JSON, with the same calls.
// Pure; one thread. Memory: the object in hand when it lies across two chunks, else none; never the page, and never what a
// length only promises.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "base/error.h"
#include "kube/decode.h"
#include "kube/protobuf_wire.h"
#include "kube/splitters.h"

namespace nodeward::kube {

// So many bytes out of chunks: in place when a chunk has them all, else collected.
class Collector {
 public:
  void begin(std::size_t size) { wanted_ = size, held_.clear(); }
  // Takes what is still wanting off `bytes`; the whole, once it is there, is valid until begin() and while the chunk is.
  std::optional<std::string_view> take(std::string_view& bytes);

 private:
  std::size_t wanted_ = 0;
  std::string held_;
};

// The frames of a watch: four bytes of length, the most significant first, then a metav1.WatchEvent.
class FrameSplitter {
 public:
  template <class OnFrame>  // Result<>(std::string_view frame)
  Result<> feed(std::string_view bytes, OnFrame&& on_frame) {
    while (!bytes.empty() || frame_due()) {
      NW_TRY_ASSIGN(const auto frame, next(bytes));
      if (!frame) return {};
      NW_TRY(on_frame(*frame));
    }
    return {};
  }
  // The stream has ended: half a frame is no event.
  template <class OnFrame>
  Result<> finish(OnFrame&&) {
    *this = {};
    return {};
  }

 private:
  bool frame_due() const { return size_ && *size_ == 0; }
  Result<std::optional<std::string_view>> next(std::string_view& bytes);

  std::string head_;
  std::optional<std::size_t> size_;  // of the frame in hand, once its head is whole
  Collector frame_;
};

// The items of a list: the magic, then runtime.Unknown{typeMeta = 1, raw = 2}, in whose raw lies an XList{metadata = 1, items = 2}.
class ProtobufItemSplitter {
 public:
  template <class OnItem>  // Result<>(std::string_view message)
  Result<> feed(std::string_view bytes, OnItem&& on_item) {
    while (true) {
      NW_TRY_ASSIGN(const auto item, next(bytes));
      if (!item) return {};
      NW_TRY(on_item(*item));
    }
  }
  // Complete once the list and all it has were whole.
  bool complete() const { return at_ == At::kHead && head_.empty() && seen_list_ && (!in_list_ || left_ == 0); }
  Result<ListMeta> meta() const;

 private:
  enum class At : std::uint8_t { kMagic, kHead, kItem, kListMeta, kTypeMeta, kSkipped };

  // The next item, taken off `bytes` with all that stands before it; nullopt: all of them are used up.
  Result<std::optional<std::string_view>> next(std::string_view& bytes);
  Result<> magic(std::string_view& bytes);
  Result<> head(std::string_view& bytes);
  Result<> enter(const protobuf::Head& head);
  std::optional<std::string_view> content(std::string_view& bytes);

  At at_ = At::kMagic;
  std::string head_;  // of the field in hand, as far as it came; the magic before it
  Collector content_;
  std::uint64_t to_skip_ = 0;
  bool in_list_ = false;
  bool seen_list_ = false;
  std::uint64_t left_ = 0;  // bytes of the list behind the field in hand
  std::string type_meta_;
  std::string list_meta_;
};

// ---- in whichever encoding the answer came -----------------------------------------------------------------------------

class EventSplitter {
 public:
  explicit EventSplitter(Encoding encoding) {
    if (encoding == Encoding::kProtobuf) events_ = FrameSplitter{};
  }
  template <class OnEvent>  // Result<>(std::string_view event)
  Result<> feed(std::string_view bytes, OnEvent&& on_event) {
    return std::visit([&](auto& events) { return events.feed(bytes, on_event); }, events_);
  }
  template <class OnEvent>
  Result<> finish(OnEvent&& on_event) {
    return std::visit([&](auto& events) { return events.finish(on_event); }, events_);
  }

 private:
  std::variant<LineSplitter, FrameSplitter> events_;
};

class ListSplitter {
 public:
  explicit ListSplitter(Encoding encoding) {
    if (encoding == Encoding::kProtobuf) items_ = ProtobufItemSplitter{};
  }
  template <class OnItem>  // Result<>(std::string_view item)
  Result<> feed(std::string_view bytes, OnItem&& on_item) {
    return std::visit([&](auto& items) { return items.feed(bytes, on_item); }, items_);
  }
  bool complete() const {
    return std::visit([](const auto& items) { return items.complete(); }, items_);
  }
  Result<ListMeta> meta() const {
    const auto* protobuf = std::get_if<ProtobufItemSplitter>(&items_);
    return protobuf != nullptr ? protobuf->meta() : decode_list_meta(std::get<ItemSplitter>(items_).envelope());
  }

 private:
  std::variant<ItemSplitter, ProtobufItemSplitter> items_;
};

}  // namespace nodeward::kube
