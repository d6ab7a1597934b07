// Load for the simulated server, from the caller's thread, with as little work as possible at this end. Certificates are not
// verified. Each throws std::runtime_error when the server does anything but answer 200.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace nodeward::bench {

inline constexpr char kWhole[] = "application/json";
inline constexpr char kMetadata[] = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";

struct PatchLoad {
  int port = 0;
  bool tls = false;             // HTTP/2 only
  std::string accept = kWhole;
  int count = 0;
  int in_flight = 64;           // streams of one connection, or connections
  std::function<std::string(int)> node = {};      // the name of the node for a request
};

// Merge patches as the labeler sends them: two labels and an annotation, and the annotation is new each time.
void patch_over_http2(const PatchLoad& load);
void patch_over_http1(const PatchLoad& load);

// Watches of all nodes, a connection each.
class Watchers {
 public:
  // Returns when each has been told of the `nodes` that there are.
  Watchers(int port, int count, const std::string& accept, int nodes);
  ~Watchers();
  void read_until(std::size_t events);                          // until each has had so many since then

 private:
  class One;
  const std::size_t before_;
  std::vector<std::unique_ptr<One>> all_;
};

}  // namespace nodeward::bench
