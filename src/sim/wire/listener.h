// The listening socket of a server. When the process has no file descriptor left it waits, and so do the clients. The loop
// thread, but for open(). Private to sim/wire.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/error.h"
#include "sim/wire/loop.h"

namespace nodeward::sim::wire {

class Listener final : public Loop::Watcher {
 public:
  using Accepted = std::function<void(int fd)>;
  // Port 0 takes a free one. An Error names what is in the way.
  static Result<std::unique_ptr<Listener>> open(Loop& loop, const std::string& address, int port, Accepted accepted);
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  int port() const { return port_; }
  void close();                        // refuses from now on; the object is destroyed in a later turn
  void ready(std::uint32_t events) override;

 private:
  Listener(Loop& loop, int fd, int port, Accepted accepted);
  void pause();

  Loop& loop_;
  int fd_;                             // -1: closed
  const int port_;
  const Accepted accepted_;
  std::shared_ptr<Listener*> self_;    // for the timer: null inside once this is gone
};

}  // namespace nodeward::sim::wire
