// A list or a watch cut into objects, however its bytes arrive (requirement R14). Pure; one thread. Memory: the object in
// hand, never the page.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"

namespace nodeward::kube {

// An object of over 64 MiB is no object but a fault: etcd refuses values over 1.5 MiB by default.
inline constexpr std::size_t kMaxObject = std::size_t{64} << 20;

// Whether `json` is an object that is closed again (nothing else of it is checked).
bool is_whole(std::string_view json);

// Lines of a watch. Blank lines are skipped; what stands behind the last newline is kept for the next feed.
class LineSplitter {
 public:
  template <class OnLine>      // Result<>(std::string_view line)
  Result<> feed(std::string_view bytes, OnLine&& on_line) {
    while (true) {
      const auto end = bytes.find('\n');
      if (end == std::string_view::npos) {
        if (rest_.size() + bytes.size() > kMaxObject) return fail(ErrorCode::kInvalid, "a line of the watch is over 64 MiB");
        rest_.append(bytes);
        return {};
      }
      const std::string_view here = bytes.substr(0, end);
      bytes.remove_prefix(end + 1);
      if (rest_.empty()) {
        if (!is_blank(here)) NW_TRY(on_line(here));
      } else {
        rest_.append(here);
        if (!is_blank(rest_)) NW_TRY(on_line(std::string_view(rest_)));
        rest_.clear();
      }
    }
  }

  // The stream has ended: a last line without its newline is an event, half a line is none.
  template <class OnLine>
  Result<> finish(OnLine&& on_line) {
    const std::string last = std::exchange(rest_, {});
    return is_whole(last) ? on_line(std::string_view(last)) : Result<>{};
  }

 private:
  static bool is_blank(std::string_view line) { return line.find_first_not_of(" \t\r") == std::string_view::npos; }
  std::string rest_;
};

// The objects of the member "items" of a Kubernetes list. What stands around them (kind, metadata with the version and the
// continue token) is left over as a document with an empty "items": envelope().
class ItemSplitter {
 public:
  template <class OnItem>      // Result<>(std::string_view json)
  Result<> feed(std::string_view bytes, OnItem&& on_item) {
    while (!bytes.empty()) {
      const std::size_t taken = in_item_ ? item_bytes(bytes) : envelope_bytes(bytes);
      bytes.remove_prefix(taken);
      if (item_.size() > kMaxObject || envelope_.size() > kMaxObject)
        return fail(ErrorCode::kInvalid, "an object of the list is over 64 MiB");
      if (!in_item_ && !item_.empty()) {
        NW_TRY(on_item(std::string_view(item_)));
        item_.clear();
      }
    }
    return {};
  }
  // Complete once every bracket was closed.
  bool complete() const { return depth_ == 0 && !envelope_.empty(); }
  const std::string& envelope() const { return envelope_; }

 private:
  std::size_t item_bytes(std::string_view bytes);       // copies up to the end of the item in hand
  std::size_t envelope_bytes(std::string_view bytes);   // copies up to the start of the next item

  std::string envelope_;
  std::string item_;
  std::string key_;                // the last string at depth 1: a member's name when ':' and '[' follow
  int depth_ = 0;
  bool in_item_ = false;
  bool in_items_ = false;
  bool in_string_ = false;
  bool escaped_ = false;
};

}  // namespace nodeward::kube
