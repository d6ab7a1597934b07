// The thread that moves the bytes of all transfers of one transport. Private to net. All libcurl handles are touched by that
// thread only: the others leave a command and wake it. It sleeps in epoll_wait until a socket, a timer of libcurl or a command
// wakes it, so an idle transport costs nothing.
#pragma once

#include <curl/curl.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <thread>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "base/guarded.h"
#include "net/easy.h"
#include "net/transfer.h"

namespace nodeward::net {

class Loop {
 public:
  Loop();
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  // Any thread. After shut_down() a transfer that is started ends at once as cancelled.
  void start(std::shared_ptr<Transfer> transfer, std::shared_ptr<const Target> target);
  void resume(std::shared_ptr<Transfer> transfer);  // its buffer has room again
  void drop(std::shared_ptr<Transfer> transfer);    // nobody waits for it any more
  // The owner: ends the thread and, as cancelled, every transfer. Callers may still hold this object.
  void shut_down();

 private:
  struct Command {
    enum class Kind { kStart, kResume, kDrop } kind;
    std::shared_ptr<Transfer> transfer;
    std::shared_ptr<const Target> target = {};  // of a start
  };
  struct Inbox {
    std::vector<Command> commands;
    bool closed = false;
  };
  // One multi handle has its own connections: a paused or flooded stream cannot hold up a write.
  struct Multi {
    Loop* loop = nullptr;
    std::uint32_t index = 0;
    CURLM* handle = nullptr;
    std::optional<MonoTime> due;  // when libcurl wants to be called although no socket moved
  };

  static int on_socket(CURL*, curl_socket_t fd, int what, void* multi, void*);
  static int on_timer(CURLM*, long after_ms, void* multi);

  void post(Command command);
  void wake() const;

  // The loop thread.
  void run(const std::stop_token& stop);
  void obey_commands();
  void obey(Command command);
  void fire_timers();
  void collect_finished();
  void wait_for_sockets();
  int patience_ms() const;
  Multi& multi_of(const Transfer& transfer) { return multis_[transfer.kind() == Transfer::Kind::kStream ? 1 : 0]; }
  std::unique_ptr<Easy> take_out(Transfer* transfer);    // null when it is not under way any more
  void cancel_all();

  const int epoll_;
  const int wakeup_;  // an eventfd
  Guarded<Inbox> inbox_;
  std::array<Multi, 2> multis_;  // whole answers, streams
  std::unordered_map<Transfer*, std::unique_ptr<Easy>> active_;
  std::jthread thread_;
};

}  // namespace nodeward::net
