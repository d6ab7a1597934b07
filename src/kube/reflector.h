// Reads one resource for ever: a list in pages, then a watch from its version; what it reads goes into a Sink. A broken stream
// is resumed from the last whole event, 410 Gone leads to a new list, an unreachable server is asked again with back-off.
// The states are values with a pure step; the loop around it does the I/O. run() blocks: give it a thread of its own.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <variant>
#include <vector>

#include "base/backoff.h"
#include "base/clock.h"
#include "base/guarded.h"
#include "kube/client.h"
#include "kube/decode.h"
#include "kube/sink.h"

namespace nodeward::kube {

struct Resource {
  std::string name;                    // in messages: "nodes", "pods app in (...)"
  std::string path;                    // "/api/v1/nodes"
  std::string label_selector = {};
};

// ---- the states ------------------------------------------------------------------------------------------------------
struct Listing {
  friend bool operator==(const Listing&, const Listing&) = default;
};
struct Watching {
  ResourceVersion from;                // everything up to here is in the sink
  friend bool operator==(const Watching&, const Watching&) = default;
};
using Phase = std::variant<Listing, Watching>;

// Our version was compacted: start over. Else the same place again: nothing is missed.
Phase after_failure(const Phase& at, const Error& error);

// Path and query of the next page, or of the watch. resourceVersion stays unset on lists: never 0, which may be stale.
std::string list_path(const Resource& resource, int page_size, const std::string& continue_token);
std::string watch_path(const Resource& resource, const ResourceVersion& from, int seconds);

struct ReflectorOptions {
  int page_size = 500;
  int watch_seconds = 300;             // then the server ends the watch in order and it is resumed
  Duration silence = 30s;              // beyond watch_seconds without a byte: the stream is given up
  Duration sound_watch = 5s;           // a watch that lasted this long and brought something ends a row of failures
  BackoffShape backoff{.first = 200ms, .most = 10s, .factor = 2.0, .jitter = 0.2};
  // Lists are the dearest requests there are; a server that answers 410 each time gets no more than two a minute.
  int lists_per_minute = 2;
  std::function<void()> on_list = [] {};   // after each whole list, on the reflector's thread; synced() holds by then
};

template <class T>
class Reflector {
 public:
  Reflector(Client& client, Resource resource, std::unique_ptr<Decoder<T>> decoder, Sink<T>& sink, Clock& clock, ReflectorOptions options = {});

  void run(const std::stop_token& stop);

  // Any thread. One whole list has been in the sink.
  bool synced() const { return synced_; }
  const Resource& resource() const { return resource_; }
  // Why it cannot read just now; empty while all is well.
  std::string trouble() const {
    return trouble_.with([](const std::string& text) { return text; });
  }

 private:
  Result<Phase> step(const Listing& at, const std::stop_token& stop);
  Result<Phase> step(Watching& at, const std::stop_token& stop);
  Result<ListMeta> read_page(const std::string& continue_token, const std::stop_token& stop);
  Result<> take(Watching& at, std::string_view line);
  void settle_in(const std::string& trouble);
  void report_odd(std::string_view what, const std::string& why);
  Duration list_wait();

  Client& client_;
  const Resource resource_;
  const std::unique_ptr<Decoder<T>> decoder_;
  Sink<T>& sink_;
  Clock& clock_;
  const ReflectorOptions options_;
  std::vector<MonoTime> lists_;        // when the last whole lists ended, at most lists_per_minute of them
  bool heard_ = false;                 // the watch in hand has brought something
  std::optional<MonoTime> odd_again_;  // when the next odd object may have a line of the log
  std::uint64_t odd_unsaid_ = 0;
  std::atomic<bool> synced_ = false;
  Guarded<std::string> trouble_;
};

extern template class Reflector<Node>;
extern template class Reflector<Pod>;

}  // namespace nodeward::kube
