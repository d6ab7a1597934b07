// The thread of a server: it sleeps in epoll_wait until a socket, a timer or a posted task wakes it, so an idle server costs
// nothing. Private to sim/wire.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <stop_token>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/guarded.h"

namespace nodeward::sim::wire {

class Loop {
 public:
  using Task = std::function<void()>;
  // Who is told about a socket. It must outlive the turn in which it stops being watched: its events may be in hand already.
  class Watcher {
   public:
    virtual void ready(std::uint32_t events) = 0;

   protected:
    ~Watcher() = default;
  };

  Loop();
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  // Any thread. Tasks that are left when the loop ends are dropped.
  void post(Task task);
  void after(Duration wait, Task task);

  // The loop thread.
  void watch(int fd, Watcher& watcher, std::uint32_t events);
  void rewatch(int fd, Watcher& watcher, std::uint32_t events);
  void unwatch(int fd);
  // Calls `settle` after what each turn brought; it says whether there is more to do at once.
  void run(const std::stop_token& stop, const std::function<bool()>& settle);

 private:
  struct Waiting {
    std::vector<Task> tasks;
    std::multimap<MonoTime, Task> timers;
  };

  void wake_from_elsewhere() const;
  int patience_ms() const;
  void run_due();

  const int epoll_;
  const int wakeup_;  // an eventfd
  std::atomic<std::thread::id> thread_{};
  Guarded<Waiting> waiting_;
};

}  // namespace nodeward::sim::wire
