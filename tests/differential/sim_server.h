// The simulated API server on a free port of 127.0.0.1, over TLS, empty but for the namespaces that a cluster is born with.
#pragma once

#include <memory>

#include "differential/player.h"

namespace nodeward::differential {

class SimServer {
 public:
  SimServer();                                    // throws std::runtime_error
  ~SimServer();
  SimServer(const SimServer&) = delete;
  SimServer& operator=(const SimServer&) = delete;

  const Origin& origin() const { return origin_; }

 private:
  struct Impl;
  void populate();
  std::unique_ptr<Impl> impl_;
  Origin origin_;
};

}  // namespace nodeward::differential
