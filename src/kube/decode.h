// One object, in JSON or protobuf, into the small record that is kept of it. simdjson stays behind this header.
// A decoder belongs to one thread; its records to whoever takes them. Errors: kInvalid with what is wrong, never the content.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "base/error.h"
#include "kube/objects.h"

namespace nodeward::kube {

// One line of a watch.
template <class T>
struct Applied {
  T object;
};                                      // ADDED or MODIFIED
template <class T>
struct Deleted {
  T last;
};
struct Bookmark {
  ResourceVersion version;
  bool initial_end = false;             // of a streaming list: what was there has all been sent
};                      // moves the version, is no object
struct WatchFailed {
  Error error;
};                               // the server's ERROR event; 410 is kGone
struct UnknownEvent {
  std::string type;
};                         // ignored and counted
template <class T>
struct WatchEvent {
  std::variant<Applied<T>, Deleted<T>, Bookmark, WatchFailed, UnknownEvent> what;
  ResourceVersion version;                                         // of the object; empty where there is none
};

// How much of each object a decoder reads. Where the metadata is enough the server is asked for no more, and whole objects are
// the second choice, for a server that has no such answer.
enum class Detail { kMetadata, kWhole };
// What the bytes of an answer are. Protobuf is asked for first and JSON besides, which every server has; the answer's Content-Type
// tells which of the two it is (docs/adr/0012).
enum class Encoding { kJson, kProtobuf };
Encoding encoding_of(std::optional<std::string_view> content_type);

// Values of the Accept header: of a GET, a PATCH and a watch; of a list.
std::string accept_object(Detail detail, Encoding first = Encoding::kJson);
std::string accept_list(Detail detail, Encoding first = Encoding::kJson);

// Of one encoding.
template <class T>
class Decoder {
 public:
  virtual ~Decoder() = default;
  virtual Detail detail() const = 0;
  virtual Result<T> object(std::string_view bytes) = 0;  // an item of a list, or the answer to a GET or a PATCH
  virtual Result<WatchEvent<T>> event(std::string_view bytes) = 0;  // a line of a watch; a frame of one in protobuf
  // Who an object is that object() or event() cannot read: its name and uid as far as they can be told, nothing else.
  virtual T who(std::string_view bytes) = 0;
};

Detail detail_of(const NodeSelection& selection);
// Protobuf only where nothing but labels and annotations is selected: what else there is, is kept as JSON.
std::unique_ptr<Decoder<Node>> make_node_decoder(NodeSelection selection, Encoding encoding = Encoding::kJson);
std::unique_ptr<Decoder<Pod>> make_pod_decoder(Encoding encoding = Encoding::kJson);

// metadata of a list, from the envelope that ItemSplitter leaves.
struct ListMeta {
  ResourceVersion version;
  std::string continue_token;
};
Result<ListMeta> decode_list_meta(std::string_view envelope);

// A v1.Status in either encoding, as the API server answers failures; anything else (a proxy's page, plain text) is shortened to
// one line.
struct Status {
  int code = 0;
  std::string reason;
  std::string message;
};
Status decode_status(std::string_view body);

}  // namespace nodeward::kube
