#include "kube/protobuf_splitters.h"

#include <algorithm>

namespace nodeward::kube {
namespace {

tl::unexpected<Error> broken(const char* what) { return fail(ErrorCode::kInvalid, what); }

}  // namespace

std::optional<std::string_view> Collector::take(std::string_view& bytes) {
  const std::size_t size = std::min(wanted_, bytes.size());
  const std::string_view here = bytes.substr(0, size);
  bytes.remove_prefix(size);
  wanted_ -= size;
  if (held_.empty() && wanted_ == 0) return here;
  held_.append(here);
  if (wanted_ != 0) return std::nullopt;
  return held_;
}

Result<std::optional<std::string_view>> FrameSplitter::next(std::string_view& bytes) {
  if (!size_) {
    const std::size_t taken = std::min(4 - head_.size(), bytes.size());
    head_.append(bytes.substr(0, taken));
    bytes.remove_prefix(taken);
    if (head_.size() < 4) return std::nullopt;
    std::size_t size = 0;
    for (const char byte : head_) size = size << 8 | static_cast<unsigned char>(byte);
    if (size > kMaxObject) return broken("a frame of the watch is over 64 MiB");
    head_.clear();
    size_ = size;
    frame_.begin(size);
  }
  const auto frame = frame_.take(bytes);
  if (frame) size_.reset();
  return frame;
}

Result<std::optional<std::string_view>> ProtobufItemSplitter::next(std::string_view& bytes) {
  while (true) {
    // A content of no bytes is whole before any byte came.
    if (bytes.empty() && (at_ == At::kMagic || at_ == At::kHead)) return std::nullopt;
    switch (at_) {
      case At::kMagic: NW_TRY(magic(bytes)); break;
      case At::kHead: NW_TRY(head(bytes)); break;
      default: {
        const At what = at_;
        const auto whole = content(bytes);
        if (!whole) return std::nullopt;
        if (what == At::kItem) return whole;
      }
    }
  }
}

Result<> ProtobufItemSplitter::magic(std::string_view& bytes) {
  head_ += bytes.front();
  bytes.remove_prefix(1);
  if (!protobuf::kMagic.starts_with(head_)) return broken("the answer is no Kubernetes list (it does not begin with k8s)");
  if (head_.size() == protobuf::kMagic.size()) head_.clear(), at_ = At::kHead;
  return {};
}

Result<> ProtobufItemSplitter::head(std::string_view& bytes) {
  if (in_list_ && left_ == 0) in_list_ = false;
  head_ += bytes.front();
  bytes.remove_prefix(1);
  if (in_list_ && head_.size() > left_) return broken("the list ends within a field");
  std::string_view rest = head_;
  protobuf::Head head;
  switch (protobuf::take_head(rest, head)) {
    case protobuf::Read::kShort: return {};
    case protobuf::Read::kBroken: return broken("the list holds a field that is no protobuf");
    case protobuf::Read::kDone: break;
  }
  if (in_list_) {
    left_ -= head_.size();
    if (head.size > left_) return broken("the list ends within a field");
    left_ -= head.size;
  }
  head_.clear();
  return enter(head);
}

Result<> ProtobufItemSplitter::enter(const protobuf::Head& head) {
  const protobuf::Field& field = head.field;
  if (!in_list_ && field.is(2)) {
    if (seen_list_) return broken("the answer holds two lists");
    in_list_ = seen_list_ = true;
    left_ = head.size;
    return {};
  }
  at_ = At::kSkipped;
  if (in_list_ && field.is(2)) at_ = At::kItem;
  if (field.is(1)) at_ = in_list_ ? At::kListMeta : At::kTypeMeta;
  if (at_ == At::kSkipped) {
    to_skip_ = head.size;
    return {};
  }
  if (head.size > kMaxObject) return broken("an object of the list is over 64 MiB");
  content_.begin(head.size);
  return {};
}

// An item; what is not for the caller is kept here and its content said to be whole all the same.
std::optional<std::string_view> ProtobufItemSplitter::content(std::string_view& bytes) {
  if (at_ == At::kSkipped) {
    const auto taken = static_cast<std::size_t>(std::min<std::uint64_t>(to_skip_, bytes.size()));
    bytes.remove_prefix(taken);
    to_skip_ -= taken;
    if (to_skip_ != 0) return std::nullopt;
    at_ = At::kHead;
    return std::string_view{};
  }
  const auto whole = content_.take(bytes);
  if (!whole) return std::nullopt;
  if (at_ == At::kListMeta) list_meta_ = *whole;
  if (at_ == At::kTypeMeta) type_meta_ = *whole;
  at_ = At::kHead;
  return whole;
}

Result<ListMeta> ProtobufItemSplitter::meta() const {
  std::string_view kind;
  ListMeta meta;
  bool sound = protobuf::each_field(type_meta_, [&](const protobuf::Field& field) {
    if (field.is(2)) kind = field.bytes;
    return true;
  });
  sound = sound && protobuf::each_field(list_meta_, [&](const protobuf::Field& field) {
            if (field.is(2)) meta.version = ResourceVersion{field.bytes};
            if (field.is(3)) meta.continue_token = field.bytes;
            return true;
          });
  if (!sound || !kind.ends_with("List") || list_meta_.empty())
    return broken("the answer is no Kubernetes list (by its kind or metadata)");
  return meta;
}

}  // namespace nodeward::kube
