#include "kube/decode.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>

#include "base/json.h"
#include "kube/answers.h"
#include "kube/protobuf_decode.h"

namespace nodeward::kube {
namespace {

namespace sj = simdjson;
using Value = sj::ondemand::value;
using Object = sj::ondemand::object;

template <class OnMember>
void members(Object object, OnMember&& on_member) {
  for (auto member : object) {
    const std::string_view key = member.unescaped_key().value();
    on_member(key, member.value().value());
  }
}
// null counts as an object without members (hand-made objects have such).
template <class OnMember>
void members(Value value, OnMember&& on_member) {
  if (!value.is_null()) members(value.get_object().value(), on_member);
}
template <class OnElement>
void elements(Value value, OnElement&& on_element) {
  if (value.is_null()) return;
  for (auto element : value.get_array()) on_element(element.value());
}
std::string_view text(Value value) { return value.is_null() ? std::string_view{} : value.get_string().value(); }

Taint read_taint(Value value) {
  Taint taint;
  Object object = value.get_object();
  taint.raw = std::string(object.raw_json().value());
  while (!taint.raw.empty() && (taint.raw.back() == ' ' || taint.raw.back() == '\n')) taint.raw.pop_back();
  object.reset();
  members(object, [&](std::string_view key, Value member) {
    if (key == "key") taint.key = text(member);
    if (key == "value") taint.value = text(member);
    if (key == "effect") taint.effect = text(member);
  });
  return taint;
}

// Each read_* overload fills a record from the members of one object; metadata goes through the same steps for all kinds.
struct NodeReader {
  NodeSelection selection;
  std::vector<SymbolMap::Entry> labels = {}, annotations = {};  // views into the object in hand

  Node read(Object object) {
    Node node;
    labels.clear();
    annotations.clear();
    members(object, [&](std::string_view key, Value value) {
      if (key == "metadata") read_metadata(value, node);
      if (key == "spec" && selection.spec) read_spec(value, node);
    });
    node.labels = SymbolMap(labels);
    node.annotations = SymbolMap(annotations);
    return node;
  }
  static void identify(std::string_view key, Value value, Node& node) {
    if (key == "name") node.name = NodeName{text(value)};
    if (key == "uid") node.uid = Uid::from(text(value));
  }
  Detail detail() const { return detail_of(selection); }
  static const ResourceVersion& version_of(const Node& node) { return node.version; }
  static bool named(const Node& node) { return !node.name.empty(); }

 private:
  void read_metadata(Value metadata, Node& node) {
    members(metadata, [&](std::string_view key, Value value) {
      if (key == "name") {
        node.name = NodeName{text(value)};
      } else if (key == "resourceVersion") {
        node.version = ResourceVersion{text(value)};
      } else if (key == "uid") {
        const std::string_view uid = text(value);
        node.uid = Uid::from(uid);
        if (selection.metadata_members.wants(key)) node.members.set("metadata.uid", json_quoted(uid));
      } else if (key == "labels") {
        members(value, [&](std::string_view label, Value v) {
          node.labelled = true;
          if (selection.labels.wants(label)) labels.emplace_back(label, text(v));
        });
      } else if (key == "annotations") {
        members(value, [&](std::string_view name, Value v) {
          const std::string_view content = text(v);
          node.annotation_bytes += static_cast<std::uint32_t>(name.size() + content.size());
          if (selection.annotations.wants(name)) annotations.emplace_back(name, content);
        });
      } else if (selection.metadata_members.wants(key)) {
        keep_member("metadata", key, value, node);
      }
    });
  }
  void read_spec(Value spec, Node& node) const {
    members(spec, [&](std::string_view key, Value value) {
      if (key == "unschedulable") {
        node.unschedulable = !value.is_null() && value.get_bool().value();
      } else if (key == "taints") {
        elements(value, [&](Value taint) { node.taints.push_back(read_taint(taint)); });
      } else if (selection.spec_members.wants(key)) {
        keep_member("spec", key, value, node);
      }
    });
  }
  static void keep_member(std::string_view section, std::string_view key, Value value, Node& node) {
    if (!value.is_null()) node.members.set(fmt::format("{}.{}", section, key), sj::to_json_string(value).value());
  }
};

struct PodReader {
  ResourceVersion version;

  Pod read(Object object) {
    Pod pod;
    version = {};
    members(object, [&](std::string_view key, Value value) {
      if (key == "metadata") read_metadata(value, pod);
      if (key == "spec") read_spec(value, pod);
      if (key == "status") read_status(value, pod);
    });
    return pod;
  }
  static void identify(std::string_view key, Value value, Pod& pod) {
    if (key == "name") pod.name = text(value);
    if (key == "namespace") pod.name_space = text(value);
    if (key == "uid") pod.uid = Uid::from(text(value));
  }
  static Detail detail() { return Detail::kWhole; }
  const ResourceVersion& version_of(const Pod&) const { return version; }
  static bool named(const Pod& pod) { return !pod.uid.empty(); }

 private:
  void read_metadata(Value metadata, Pod& pod) {
    members(metadata, [&](std::string_view key, Value value) {
      identify(key, value, pod);
      if (key == "resourceVersion") version = ResourceVersion{text(value)};
      if (key == "labels") {
        members(value, [&](std::string_view label, Value v) { pod.labels.emplace_back(label, text(v)); });
      }
    });
  }
  static void read_spec(Value spec, Pod& pod) {
    members(spec, [&](std::string_view key, Value value) {
      if (key == "nodeName") pod.node = text(value);
      if (key == "containers") {
        elements(value, [&](Value container) {
          pod.images.emplace_back();
          members(container, [&](std::string_view name, Value v) {
            if (name == "image") pod.images.back() = text(v);
          });
        });
      }
    });
  }
  static void read_status(Value status, Pod& pod) {
    bool seen = false;
    members(status, [&](std::string_view key, Value value) {
      if (key != "conditions") return;
      elements(value, [&](Value condition) {
        std::string type, state;
        members(condition, [&](std::string_view name, Value v) {
          if (name == "type") type = text(v);
          if (name == "status") state = text(v);
        });
        if (type != "Ready" || seen) return;
        seen = true;
        pod.ready = state == "True";
      });
    });
  }
};

Status read_status(const Json& json) {
  Status status;
  if (const auto code = json.find("code"); code != json.end() && code->is_number_integer()) status.code = code->get<int>();
  status.reason = text_at(json, "reason");
  status.message = text_at(json, "message");
  if (status.code == 0 && (status.reason == "Expired" || status.reason == "Gone")) status.code = 410;
  return status;
}

Result<Bookmark> read_bookmark(std::string_view json) {
  NW_TRY_ASSIGN(const Json object, parse_json(json));
  const auto metadata = object.find("metadata");
  if (metadata == object.end()) return Bookmark{};
  Bookmark mark{.version = ResourceVersion{text_at(*metadata, "resourceVersion")}};
  if (metadata->is_object()) {
    const auto annotations = metadata->find("annotations");
    mark.initial_end = annotations != metadata->end() && text_at(*annotations, "k8s.io/initial-events-end") == "true";
  }
  return mark;
}

template <class T, class Reader>
class JsonDecoder final : public Decoder<T> {
 public:
  explicit JsonDecoder(Reader reader) : reader_(std::move(reader)) {}

  Detail detail() const override { return reader_.detail(); }

  Result<T> object(std::string_view json) override {
    return guarded([&]() -> Result<T> {
      auto document = parser_.iterate(padded(json));
      return checked(reader_.read(document.get_object().value()));
    });
  }

  Result<WatchEvent<T>> event(std::string_view line) override {
    return guarded([&]() -> Result<WatchEvent<T>> {
      auto document = parser_.iterate(padded(line));
      // The server writes "type" first; a line in another order is read by looking the two up.
      const std::string type(document["type"].get_string().value());
      Object object = document["object"].get_object().value();
      if (type == "ADDED" || type == "MODIFIED") {
        NW_TRY_ASSIGN(T one, checked(reader_.read(object)));
        const ResourceVersion version = reader_.version_of(one);
        return WatchEvent<T>{Applied<T>{std::move(one)}, version};
      }
      if (type == "DELETED") {
        NW_TRY_ASSIGN(T one, checked(reader_.read(object)));
        const ResourceVersion version = reader_.version_of(one);
        return WatchEvent<T>{Deleted<T>{std::move(one)}, version};
      }
      if (type == "BOOKMARK") {
        NW_TRY_ASSIGN(Bookmark mark, read_bookmark(sj::to_json_string(object).value()));
        ResourceVersion version = mark.version;
        return WatchEvent<T>{std::move(mark), std::move(version)};
      }
      if (type == "ERROR") {
        NW_TRY_ASSIGN(const Json said, parse_json(sj::to_json_string(object).value()));
        const Status status = read_status(said);
        return WatchEvent<T>{WatchFailed{error_of(status, status.code)}, {}};
      }
      return WatchEvent<T>{UnknownEvent{type}, {}};
    });
  }

  // Names are ASCII, so bytes that are no UTF-8, the commonest reason, are covered first; what was read before the next one stays.
  T who(std::string_view json) override {
    std::string plain(json);
    std::replace_if(
        plain.begin(), plain.end(), [](unsigned char c) { return c >= 0x80; }, '?');
    T known;
    try {
      auto document = parser_.iterate(padded(plain));
      identify(document.get_object().value(), known);
    } catch (const sj::simdjson_error&) {
      return known;
    }
    return known;
  }

 private:
  static void identify(Object object, T& known) {
    members(object, [&](std::string_view key, Value value) {
      if (key == "metadata") members(value, [&](std::string_view name, Value v) { Reader::identify(name, v, known); });
      if (key == "object") identify(value.get_object().value(), known);
    });
  }
  // simdjson reads a little past the end of what it is given, so the text goes into a buffer with room to spare.
  sj::padded_string_view padded(std::string_view json) {
    const std::size_t needed = json.size() + sj::SIMDJSON_PADDING;
    if (buffer_.size() < needed) buffer_.resize(needed + needed / 4);
    std::copy(json.begin(), json.end(), buffer_.begin());
    return sj::padded_string_view(buffer_.data(), json.size(), buffer_.size());
  }
  template <class F>
  static auto guarded(F&& read) -> decltype(read()) {
    try {
      return read();
    } catch (const sj::simdjson_error& error) {
      return fail(ErrorCode::kInvalid, fmt::format("not the JSON of a Kubernetes object: {}", error.what()));
    }
  }
  static Result<T> checked(T one) {
    if (!Reader::named(one)) return fail(ErrorCode::kInvalid, "an object without metadata.name or metadata.uid");
    return one;
  }

  Reader reader_;
  sj::ondemand::parser parser_;
  std::string buffer_;
};

std::string accept(Detail detail, Encoding first, std::string_view metadata_kind) {
  const std::string as = fmt::format(";as={};g=meta.k8s.io;v=v1", metadata_kind);
  std::string types;
  if (first == Encoding::kProtobuf) types = fmt::format("{}{},", kProtobufType, detail == Detail::kMetadata ? as : "");
  if (detail == Detail::kMetadata) types += fmt::format("application/json{},", as);
  return types + "application/json";
}

}  // namespace

Encoding encoding_of(std::optional<std::string_view> content_type) {
  return content_type && content_type->starts_with(kProtobufType) ? Encoding::kProtobuf : Encoding::kJson;
}
std::string accept_object(Detail detail, Encoding first) { return accept(detail, first, "PartialObjectMetadata"); }
std::string accept_list(Detail detail, Encoding first) { return accept(detail, first, "PartialObjectMetadataList"); }

Detail detail_of(const NodeSelection& selection) { return selection.spec ? Detail::kWhole : Detail::kMetadata; }
std::unique_ptr<Decoder<Node>> make_node_decoder(NodeSelection selection, Encoding encoding) {
  if (encoding == Encoding::kProtobuf) return make_protobuf_node_decoder(std::move(selection));
  return std::make_unique<JsonDecoder<Node, NodeReader>>(NodeReader{std::move(selection)});
}
std::unique_ptr<Decoder<Pod>> make_pod_decoder(Encoding encoding) {
  if (encoding == Encoding::kProtobuf) return make_protobuf_pod_decoder();
  return std::make_unique<JsonDecoder<Pod, PodReader>>(PodReader{});
}

Result<ListMeta> decode_list_meta(std::string_view envelope) {
  NW_TRY_ASSIGN(const Json list, parse_json(envelope));
  if (!list.is_object() || !list.contains("metadata") || !list["metadata"].is_object() || !list.contains("items")) {
    return fail(ErrorCode::kInvalid, "the answer is no Kubernetes list (no metadata or items)");
  }
  const Json& metadata = list["metadata"];
  return ListMeta{ResourceVersion{text_at(metadata, "resourceVersion")}, text_at(metadata, "continue")};
}

Status decode_status(std::string_view body) {
  if (auto status = decode_protobuf_status(body)) return *std::move(status);
  if (const auto json = parse_json(body); json && text_at(*json, "kind") == "Status") return read_status(*json);
  Status status;
  const std::string_view line = body.substr(0, std::min(body.find('\n'), body.size()));
  status.message = std::string(line.substr(0, 200));
  return status;
}

}  // namespace nodeward::kube
