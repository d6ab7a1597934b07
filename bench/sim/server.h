// The simulated server in a process of its own, so that what it takes is counted alone. Made and used by a program's only thread
// (it forks). Throws std::runtime_error.
#pragma once

#include <sys/types.h>

#include <string>

#include "writes/process.h"

namespace nodeward::bench {

struct ServerPlan {
  bool tls = false;
  int templates = 16;           // nodes of 17 KB that share nothing; the others are copies of them
  int nodes = 1000;
  int pods_per_node = 0;
};

class ServerProcess {
 public:
  explicit ServerProcess(const ServerPlan& plan);      // returns once it listens
  ~ServerProcess();
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;

  int port() const { return started_.port; }
  double start_seconds() const { return started_.seconds; }      // from nothing to listening with all objects, wall time
  std::string node(int number) const;                            // a node's name, from 0
  int nodes() const { return plan_.nodes; }
  // So many nodes change as kubelets' reports change them, one after another; watches are told after that.
  void change(int count);
  double cpu() const;           // seconds so far, all threads
  Memory memory() const { return memory_of(pid_); }

 private:
  struct Started {
    int port = 0;
    double seconds = 0;
  };
  static void serve(const ServerPlan& plan, int orders);

  const ServerPlan plan_;
  pid_t pid_ = 0;
  int orders_ = -1;             // our end of the socket on which the child is told to change nodes
  Started started_;
};

}  // namespace nodeward::bench
