// The thread that moves the bytes of all transfers of one transport. Private to net. All libcurl handles are touched by that
// thread only: the others leave a command and wake it. It sleeps in epoll_wait until a socket, a timer of libcurl, a command or a
// silent stream that is to be probed (after 30 s) wakes it, so an idle transport costs nothing. It waits for nothing else: no file,
// no lock that is held for long.
#pragma once

#include <curl/curl.h>

#include <cstdint>
#include <list>
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
  void drop(std::shared_ptr<Transfer> transfer);  // nobody waits for it any more
  void give_up(std::shared_ptr<Transfer> transfer);  // the same, since no answer came: its connection gets no other transfer
  void move(std::shared_ptr<const Target> target);  // as a start of a request with it would: what is older ends
  // The owner: ends the thread and, as cancelled, every transfer. Callers may still hold this object.
  void shut_down();

 private:
  struct Command {
    enum class Kind { kStart, kResume, kDrop, kGiveUp, kMove } kind;
    std::shared_ptr<Transfer> transfer;  // null: of a move
    std::shared_ptr<const Target> target = {};  // of a start and a move
  };
  struct Inbox {
    std::vector<Command> commands;
    bool closed = false;
  };
  // A multi handle and its own connections. All whole answers share one lane; each stream has one of its own, so a paused or
  // flooded stream holds up nothing else, and leaves it (with its connection) to the next stream. A lane whose connection may be
  // dead is retired: it takes no new transfer and goes with its last one.
  struct Lane {
    Loop* loop = nullptr;
    std::uint32_t id = 0;
    Transfer::Kind kind = Transfer::Kind::kWhole;
    CURLM* handle = nullptr;
    std::optional<MonoTime> due;  // when libcurl wants to be called although no socket moved
    int transfers = 0;
    bool retired = false;
    int generation = 0;  // of the target that its connections were made for
    bool http2 = false;  // the last answer came over HTTP/2
    // Of a stream: whether its connection lives (Request::probe).
    Transfer* stream = nullptr;
    std::shared_ptr<const Target> target = {};  // where it goes
    std::shared_ptr<Transfer> probe;  // under way
    MonoTime probe_sent = {};
    MonoTime alive = {};  // when a probe was last answered
    bool probing = true;
  };
  struct Active {
    Lane* lane;
    std::unique_ptr<Easy> easy;
  };

  static int on_socket(CURL*, curl_socket_t fd, int what, void* lane, void*);
  static int on_timer(CURLM*, long after_ms, void* lane);

  void post(Command command);
  void wake() const;

  // The loop thread.
  void run(const std::stop_token& stop);
  void obey_commands();
  void obey(Command command);
  void launch(std::shared_ptr<Transfer> transfer, std::shared_ptr<const Target> target);  // in a lane that fits
  void launch(std::shared_ptr<Transfer> transfer, std::shared_ptr<const Target> target, Lane& lane);
  void fire_timers();
  void collect_finished();
  void move_to(const Target& target);
  void sweep_lanes();
  void wait_for_sockets();
  int patience_ms() const;
  Lane& lane_for(Transfer::Kind kind, int generation);
  Lane& new_lane(Transfer::Kind kind, int generation);
  Lane* find_lane(std::uint32_t id);
  std::optional<MonoTime> look_due(const Lane& lane) const;
  void look_after(Lane& lane);
  void send_probe(Lane& lane);
  void probe_answered(Lane& lane, const Easy& probe, CURLcode code);
  std::optional<Active> take_out(Transfer* transfer);  // nullopt when it is not under way any more
  void cancel_all();

  const int epoll_;
  const int wakeup_;  // an eventfd
  Guarded<Inbox> inbox_;
  std::list<Lane> lanes_;
  std::uint32_t lanes_made_ = 0;
  std::unordered_map<Transfer*, Active> active_;
  int generation_ = 0;  // of the newest target seen
  std::jthread thread_;
};

}  // namespace nodeward::net
