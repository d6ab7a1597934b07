// One request under way: what the caller that waits for it and the loop thread that moves its bytes share. Private to net.
// Each method says whose it is; a caller that has given up simply lets go, the loop holds its own reference.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/error.h"
#include "net/http.h"

namespace nodeward::net {

class Transfer {
 public:
  enum class Kind { kWhole, kStream };

  // A stream holds at most this much unread; it goes on when the reader has taken half of it.
  static constexpr std::size_t kMostBuffered = 8 * 1024 * 1024;
  // A whole answer is one object (etcd refuses values over 1.5 MiB) or an error; one that never ends must not fill the memory.
  static constexpr std::size_t kMostWhole = 64 * 1024 * 1024;

  Transfer(Kind kind, Request request) : kind_(kind), request_(std::move(request)) {}

  Kind kind() const { return kind_; }
  const Request& request() const { return request_; }

  // The caller. Both wait until request.timeout after the call at the latest.
  Result<Response> wait_for_answer(const std::stop_token& stop);
  Result<> wait_for_head(const std::stop_token& stop);
  // The caller, after wait_for_head() was good: the status and the headers stay as they are from then on.
  const Response& head() const { return answer_; }

  struct Read {
    std::optional<std::string> bytes;  // nullopt: the orderly end
    bool resume = false;               // there is room again: tell the loop
  };
  Result<Read> read(Duration patience, const std::stop_token& stop);  // the caller

  // The loop thread.
  enum class Taken { kAll, kNothingYet, kTooMuch };  // kNothingYet: no room; pause. kTooMuch: end the request
  void on_header_line(std::string_view line);  // libcurl bounds the headers of an answer
  Taken on_body(std::string_view bytes);
  void finish(std::optional<Error> error);
  MonoTime heard() const { return heard_; }    // when the last bytes of the head or the body came
  bool has_head() const { return head_done_; }
  bool waits_for_reader();
  bool may_start_again() { return ++starts_ < kMostStarts; }

 private:
  static constexpr int kMostStarts = 5;
  Result<> wait_until(MonoTime deadline, const std::stop_token& stop, const bool& done, std::unique_lock<std::mutex>& lock);
  static tl::unexpected<Error> unanswered(Duration patience, const std::stop_token& stop);
  void wake();

  const Kind kind_;
  const Request request_;
  MonoTime heard_ = {};
  int starts_ = 0;
  Response answer_;  // the loop's until head_done_ (a stream) or finished_ (a whole answer), then the caller's

  std::mutex mutex_;  // guards what follows
  // Notified without the lock, and not a condition_variable_any, which has a second one inside: whoever is woken goes on at once
  // instead of going to sleep again on a lock. A stop wakes through a callback of each wait.
  std::condition_variable changed_;
  bool head_done_ = false;
  bool finished_ = false;
  bool paused_ = false;
  std::optional<Error> error_;
  std::deque<std::string> chunks_;
  std::size_t buffered_ = 0;  // bytes in chunks_
};

}  // namespace nodeward::net
