#include "kube/protobuf_decode.h"

#include "base/check.h"
#include "kube/answers.h"
#include "kube/protobuf_wire.h"

namespace nodeward::kube {
namespace {

using protobuf::each_field;
using protobuf::Field;

// An entry of a map<string, string>.
template <class OnEntry>
bool read_entry(std::string_view message, OnEntry&& on_entry) {
  std::string_view key;
  std::string_view value;
  const bool sound = each_field(message, [&](const Field& field) {
    if (field.is(1)) key = field.bytes;
    if (field.is(2)) value = field.bytes;
    return true;
  });
  if (sound) on_entry(key, value);
  return sound;
}

// Readers add what one message says to a record; false: it is broken. All objects have their ObjectMeta in field 1:
//   name = 1, namespace = 3, uid = 5, resourceVersion = 6, labels = 11, annotations = 12
struct NodeReader {
  NodeSelection selection;
  std::vector<SymbolMap::Entry> labels = {}, annotations = {};  // views into the object in hand

  bool read(std::string_view message, Node& node) {
    labels.clear();
    annotations.clear();
    const bool sound = each_field(message, [&](const Field& field) { return !field.is(1) || read_metadata(field.bytes, node); });
    node.labels = SymbolMap(labels);
    node.annotations = SymbolMap(annotations);
    return sound;
  }
  static void identify(const Field& field, Node& node) {
    if (field.is(1)) node.name = NodeName{field.bytes};
    if (field.is(5)) node.uid = Uid::from(field.bytes);
  }
  static constexpr Detail kDetail = Detail::kMetadata;
  static const ResourceVersion& version_of(const Node& node) { return node.version; }
  static bool named(const Node& node) { return !node.name.empty(); }

 private:
  bool read_metadata(std::string_view metadata, Node& node) {
    return each_field(metadata, [&](const Field& field) {
      identify(field, node);
      if (field.is(6)) node.version = ResourceVersion{field.bytes};
      if (field.is(11)) {
        node.labelled = true;
        return read_entry(field.bytes, [&](std::string_view key, std::string_view value) {
          if (selection.labels.wants(key)) labels.emplace_back(key, value);
        });
      }
      if (field.is(12)) {
        return read_entry(field.bytes, [&](std::string_view key, std::string_view value) {
          node.annotation_bytes += static_cast<std::uint32_t>(key.size() + value.size());
          if (selection.annotations.wants(key)) annotations.emplace_back(key, value);
        });
      }
      return true;
    });
  }
};

// Pod: metadata = 1, spec = 2, status = 3.
struct PodReader {
  ResourceVersion version;

  bool read(std::string_view message, Pod& pod) {
    version = {};
    return each_field(message, [&](const Field& field) {
      if (field.is(1)) return read_metadata(field.bytes, pod);
      if (field.is(2)) return read_spec(field.bytes, pod);
      return !field.is(3) || read_status(field.bytes, pod);
    });
  }
  static void identify(const Field& field, Pod& pod) {
    if (field.is(1)) pod.name = field.bytes;
    if (field.is(3)) pod.name_space = field.bytes;
    if (field.is(5)) pod.uid = Uid::from(field.bytes);
  }
  static constexpr Detail kDetail = Detail::kWhole;
  const ResourceVersion& version_of(const Pod&) const { return version; }
  static bool named(const Pod& pod) { return !pod.uid.empty(); }

 private:
  bool read_metadata(std::string_view metadata, Pod& pod) {
    return each_field(metadata, [&](const Field& field) {
      identify(field, pod);
      if (field.is(6)) version = ResourceVersion{field.bytes};
      if (!field.is(11)) return true;
      return read_entry(field.bytes, [&](std::string_view key, std::string_view value) { pod.labels.emplace_back(key, value); });
    });
  }
  // PodSpec: containers = 2 (Container: image = 2), nodeName = 10.
  static bool read_spec(std::string_view spec, Pod& pod) {
    return each_field(spec, [&](const Field& field) {
      if (field.is(10)) pod.node = field.bytes;
      if (!field.is(2)) return true;
      pod.images.emplace_back();
      return each_field(field.bytes, [&](const Field& of_container) {
        if (of_container.is(2)) pod.images.back() = of_container.bytes;
        return true;
      });
    });
  }
  // PodStatus: conditions = 2 (PodCondition: type = 1, status = 2).
  static bool read_status(std::string_view status, Pod& pod) {
    bool seen = false;
    return each_field(status, [&](const Field& field) {
      if (!field.is(2)) return true;
      return read_entry(field.bytes, [&](std::string_view type, std::string_view state) {
        if (type != "Ready" || seen) return;
        seen = true;
        pod.ready = state == "True";
      });
    });
  }
};

// Status: message = 3, reason = 4, code = 6.
std::optional<Status> read_api_status(std::string_view message) {
  Status status;
  const bool sound = each_field(message, [&](const Field& field) {
    if (field.is(3)) status.message = field.bytes;
    if (field.is(4)) status.reason = field.bytes;
    if (field.number == 6 && field.kind == protobuf::Kind::kVarint) status.code = static_cast<int>(field.value);
    return true;
  });
  if (!sound) return std::nullopt;
  if (status.code == 0 && (status.reason == "Expired" || status.reason == "Gone")) status.code = 410;
  return status;
}

// metav1.WatchEvent: type = 1, object = 2 (RawExtension: raw = 1), which is an enveloped object.
struct Frame {
  std::string_view type;
  std::string_view object;      // its message, out of the envelope
};
std::optional<Frame> read_frame(std::string_view bytes) {
  Frame frame;
  std::string_view envelope;
  const bool sound = each_field(bytes, [&](const Field& field) {
    if (field.is(1)) frame.type = field.bytes;
    if (!field.is(2)) return true;
    return each_field(field.bytes, [&](const Field& raw) {
      if (raw.is(1)) envelope = raw.bytes;
      return true;
    });
  });
  const auto object = protobuf::unwrapped(envelope);
  if (!sound || !object) return std::nullopt;
  frame.object = *object;
  return frame;
}

tl::unexpected<Error> broken() { return fail(ErrorCode::kInvalid, "not the protobuf of a Kubernetes object"); }

template <class T, class Reader>
class ProtobufDecoder final : public Decoder<T> {
 public:
  explicit ProtobufDecoder(Reader reader) : reader_(std::move(reader)) {}

  Detail detail() const override { return Reader::kDetail; }

  // The items of a list are bare; everything else comes in an envelope, with which no bare object can begin.
  Result<T> object(std::string_view bytes) override {
    if (!bytes.starts_with(protobuf::kMagic)) return message(bytes);
    const auto raw = protobuf::unwrapped(bytes);
    return raw ? message(*raw) : broken();
  }

  Result<WatchEvent<T>> event(std::string_view bytes) override {
    const auto frame = read_frame(bytes);
    if (!frame) return broken();
    if (frame->type == "ADDED" || frame->type == "MODIFIED") {
      NW_TRY_ASSIGN(T one, message(frame->object));
      const ResourceVersion version = reader_.version_of(one);
      return WatchEvent<T>{Applied<T>{std::move(one)}, version};
    }
    if (frame->type == "DELETED") {
      NW_TRY_ASSIGN(T one, message(frame->object));
      const ResourceVersion version = reader_.version_of(one);
      return WatchEvent<T>{Deleted<T>{std::move(one)}, version};
    }
    if (frame->type == "BOOKMARK") return bookmark(frame->object);
    if (frame->type == "ERROR") {
      const auto status = read_api_status(frame->object);
      if (!status) return broken();
      return WatchEvent<T>{WatchFailed{error_of(*status, status->code)}, {}};
    }
    return WatchEvent<T>{UnknownEvent{std::string(frame->type)}, {}};
  }

  T who(std::string_view bytes) override {
    T known;
    const auto frame = read_frame(bytes);
    each_field(frame ? frame->object : bytes, [&](const Field& field) {
      return !field.is(1) || each_field(field.bytes, [&](const Field& of_metadata) {
        Reader::identify(of_metadata, known);
        return true;
      });
    });
    return known;
  }

 private:
  Result<T> message(std::string_view bytes) {
    T one;
    if (!reader_.read(bytes, one)) return broken();
    if (!Reader::named(one)) return fail(ErrorCode::kInvalid, "an object without metadata.name or metadata.uid");
    return one;
  }
  // An object of the watched kind that has a version, and an annotation when it is the mark.
  static Result<WatchEvent<T>> bookmark(std::string_view object) {
    Bookmark mark;
    const bool sound = each_field(object, [&](const Field& field) {
      return !field.is(1) || each_field(field.bytes, [&](const Field& of_metadata) {
        if (of_metadata.is(6)) mark.version = ResourceVersion{of_metadata.bytes};
        if (!of_metadata.is(12)) return true;
        return read_entry(of_metadata.bytes, [&](std::string_view key, std::string_view value) {
          if (key == "k8s.io/initial-events-end") mark.initial_end = value == "true";
        });
      });
    });
    if (!sound) return broken();
    ResourceVersion version = mark.version;
    return WatchEvent<T>{std::move(mark), std::move(version)};
  }

  Reader reader_;
};

bool is_expressible(const NodeSelection& selection) {
  const auto none = [](const KeySet& keys) { return !keys.all && keys.keys.empty(); };
  return detail_of(selection) == Detail::kMetadata && none(selection.metadata_members) && none(selection.spec_members);
}

}  // namespace

std::unique_ptr<Decoder<Node>> make_protobuf_node_decoder(NodeSelection selection) {
  NW_CHECK(is_expressible(selection), "members of a node other than labels and annotations are kept as JSON");
  return std::make_unique<ProtobufDecoder<Node, NodeReader>>(NodeReader{std::move(selection)});
}
std::unique_ptr<Decoder<Pod>> make_protobuf_pod_decoder() {
  return std::make_unique<ProtobufDecoder<Pod, PodReader>>(PodReader{});
}

std::optional<Status> decode_protobuf_status(std::string_view body) {
  const auto raw = protobuf::unwrapped(body);
  return raw ? read_api_status(*raw) : std::nullopt;
}

}  // namespace nodeward::kube
