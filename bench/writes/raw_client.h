// The yardstick: a client that does nothing but send one PATCH a node, so many in flight, over one HTTP/2 connection, and throw
// the answers away. Plain libcurl, nothing of Nodeward's. One thread.
#pragma once

#include <string>
#include <vector>

#include "api/real_cluster.h"

namespace nodeward::bench {

struct RawOptions {
  std::string body;
  int in_flight = 16;
  std::string accept = "application/json";
};

struct RawRun {
  double per_second = 0;    // from the first answer to the last
  double answer_kb = 0;     // mean size
};

// Throws std::runtime_error when an answer is not 200.
RawRun patch_nodes(const api::RealCluster& cluster, const std::vector<std::string>& names, const RawOptions& options);

}  // namespace nodeward::bench
