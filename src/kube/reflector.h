// Reads one resource for ever: what there is (a streaming list, or a list in pages where the server has none), then a watch from
// there; what it reads goes into a Sink. A broken stream is resumed from the last whole event, 410 Gone leads to a new list, an
// unreachable server is asked again with back-off. The states are values with a pure step (a table of them: README.md); the
// loop around it does the I/O. run() blocks: give it a thread of its own.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <stop_token>
#include <string>
#include <unordered_set>
#include <variant>
#include <vector>

#include "base/backoff.h"
#include "base/clock.h"
#include "base/guarded.h"
#include "kube/client.h"
#include "kube/decode.h"
#include "kube/protobuf_splitters.h"
#include "kube/sink.h"

namespace nodeward::kube {

struct Resource {
  std::string name;                    // in messages: "nodes", "pods app in (...)"
  std::string path;                    // "/api/v1/nodes"
  std::string label_selector = {};
};

// ---- the states ------------------------------------------------------------------------------------------------------
struct StreamingList {                 // a watch that first sends all there is, and says when that was all
  int cuts = 0;                        // streams in a row that broke before they said so
  friend bool operator==(const StreamingList&, const StreamingList&) = default;
};
struct PagedList {
  friend bool operator==(const PagedList&, const PagedList&) = default;
};
struct Watching {
  ResourceVersion from;                // everything up to here is in the sink
  bool doubted = false;                // taken up again after a break: the server may have lost what is behind `from`
  friend bool operator==(const Watching&, const Watching&) = default;
};
using Phase = std::variant<StreamingList, PagedList, Watching>;

// ---- what can happen in a state, beside a failure ----------------------------------------------------------------------
struct Complete {                      // all there is, is in the sink
  ResourceVersion version;
};
struct Ended {};                       // the stream ended in order
struct Ignored {};                     // the server took a streaming list for a plain watch
using Happened = std::variant<Complete, Ended, Ignored, Error>;

struct Next {
  Phase phase;
  bool streaming = true;               // whether this server is to be asked for a streaming list again
  bool at_once = false;                // without a back-off
  friend bool operator==(const Next&, const Next&) = default;
};
// The pure step. `streaming` as the Next before said, at first ReflectorOptions::streaming.
Next after(const Phase& at, const Happened& what, bool streaming);
Phase first_phase(bool streaming);

// Path and query of what is asked for. resourceVersion stays unset on lists: never 0, which may be stale.
std::string streaming_list_path(const Resource& resource, int seconds);
std::string list_path(const Resource& resource, int page_size, const std::string& continue_token);
std::string watch_path(const Resource& resource, const ResourceVersion& from, int seconds);
// One object, from a server that knows this version; another answers kGone.
std::string version_known_path(const Resource& resource, const ResourceVersion& from);

// Ends a list whose pages never do: one that comes twice, or a hundred in a row without an object. One list each. Pure.
class PageCheck {
 public:
  // `first`: who the first object of the page is; empty: the page had none.
  Result<> add(const std::string& asked_token, const std::string& next_token, std::string first);

 private:
  std::unordered_set<std::string> firsts_;
  int empty_ = 0;                      // pages in a row
};

struct ReflectorOptions {
  bool streaming = true;               // try a streaming list first
  int page_size = 500;
  // Each watch lasts a random time between the two, so that those of a fleet do not all end together; then it is resumed.
  std::chrono::minutes watch_least{30};
  std::chrono::minutes watch_most{60};
  Duration silence = 30s;              // of a list, or beyond a watch's time, without a byte: the stream is given up
  Duration silence_in_doubt = 90s;     // a watch that was taken up again and brings nothing; bookmarks come each minute
  Duration sound_watch = 5s;           // a watch that lasted this long and brought something ends a row of failures
  BackoffShape backoff{.first = 200ms, .most = 10s, .factor = 2.0, .jitter = 0.2};
  // Lists are the dearest requests there are; a server that answers 410 each time gets no more than two a minute.
  int lists_per_minute = 2;
  Duration settling = 1s;              // of a watch that was taken up again: by then what was missed has come
  // Both on the reflector's thread.
  std::function<void()> on_list = [] {};     // after each whole list; synced() holds by then
  std::function<void()> on_sight = [] {};    // in_sight() has come true
};

template <class T>
class Reflector {
 public:
  // With a decoder of `protobuf` that encoding is asked for first, and what a server answers in JSON is read all the same.
  Reflector(Client& client, Resource resource, std::unique_ptr<Decoder<T>> json, Sink<T>& sink, Clock& clock,
            ReflectorOptions options = {}, std::unique_ptr<Decoder<T>> protobuf = {});

  void run(const std::stop_token& stop);

  // Any thread. One whole list has been in the sink.
  bool synced() const { return synced_; }
  const Resource& resource() const { return resource_; }
  // Why it cannot read just now; empty while all is well.
  std::string trouble() const {
    return trouble_.with([](const std::string& text) { return text; });
  }
  // What is in the sink is how things are, but for the way of the news. Not from the end of a watch, in order or not, until the
  // next one stands and what was missed has had time to come. Who acts on what is *not* there, or lets something be, asks first.
  bool in_sight() const { return in_sight_; }

 private:
  struct Feed {  // the stream of a streaming list or a watch
    std::unique_ptr<net::Stream> stream;
    EventSplitter events;
  };
  struct Page {
    ListMeta meta;
    std::string first;  // who its first object is
  };

  Happened step(StreamingList& at, const std::stop_token& stop);
  Happened step(PagedList& at, const std::stop_token& stop);
  Happened step(Watching& at, const std::stop_token& stop);
  void note(const Happened& what, const Next& before, const Next& next);

  struct Opened {
    std::unique_ptr<net::Stream> stream;
    Encoding encoding;
  };
  using Accept = std::string(Detail, Encoding);
  Result<Opened> open(const std::string& path, Accept accept, const std::stop_token& stop);
  Result<> open_feed(const std::string& path, const std::stop_token& stop);
  Result<> watch_chunk(Watching& at, std::string_view chunk);
  Result<> watch_silence(Watching& at, const std::stop_token& stop);
  Result<> ask_for_version(Watching& at, const std::stop_token& stop);
  void see(bool in_sight);
  void draw_watch_time();
  Result<ResourceVersion> read_pages(const std::stop_token& stop);
  Result<Page> read_page(const std::string& continue_token, const std::stop_token& stop);
  void list_item(std::string_view json, std::string& first);
  Result<> initial_line(std::string_view line, std::optional<ResourceVersion>& complete);
  Result<> watch_line(std::string_view line, ResourceVersion& from);
  Result<std::optional<WatchEvent<T>>> read_event(std::string_view line);
  void put(WatchEvent<T> event);
  void end_list(const ResourceVersion& version);
  void settle_in(const std::string& trouble);
  void report_odd(std::string_view what, const std::string& why);
  Duration list_wait();

  Client& client_;
  const Resource resource_;
  const std::unique_ptr<Decoder<T>> json_;
  const std::unique_ptr<Decoder<T>> protobuf_;  // null: never asked for
  Sink<T>& sink_;
  Clock& clock_;
  const ReflectorOptions options_;
  std::minstd_rand random_{std::random_device{}()};
  int watch_seconds_ = 0;  // drawn anew after each stream; a failure that repeats itself reads the same
  Encoding ask_for_;
  Decoder<T>* decoder_;  // of the answer in hand
  std::optional<Feed> feed_;  // kept from a streaming list to the watch that goes on in it
  std::vector<MonoTime> lists_;  // when the last whole lists ended, at most lists_per_minute of them
  struct Turn {  // the watch in hand
    MonoTime opened{};
    MonoTime heard{};  // its last byte
    MonoTime ask{};  // when the server is asked about a version in doubt
    bool brought = false;  // a whole event
  };
  Turn turn_;
  std::optional<MonoTime> odd_again_;  // when the next odd object may have a line of the log
  std::uint64_t odd_unsaid_ = 0;
  std::atomic<bool> synced_ = false;
  Guarded<std::string> trouble_;
  std::atomic<bool> in_sight_ = false;
};

extern template class Reflector<Node>;
extern template class Reflector<Pod>;

}  // namespace nodeward::kube
