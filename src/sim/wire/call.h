// Between a connection and the protocol that is spoken on it, and the one kind of Exchange there is. The loop thread.
// Private to sim/wire.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "sim/wire/server.h"

namespace nodeward::sim::wire {

class Call;

// What waits to be sent on one connection at most, but for what one frame or one fill() goes beyond it.
inline constexpr std::size_t kFull = 256UL << 10;
// Names and values of one request's head, as a Go server counts them.
inline constexpr std::size_t kMostHead = 64UL << 10;

// What a protocol asks of the connection that it is spoken on.
class Peer {
 public:
  virtual void soon() = 0;  // produce() is to be called at the end of this turn
  virtual void drop() = 0;  // the connection ends now, with a reset
  virtual void freeze() = 0;
  virtual void handle(std::shared_ptr<Exchange> exchange) = 0;

 protected:
  ~Peer() = default;
};

class Protocol {
 public:
  virtual ~Protocol() = default;

  virtual void receive(std::string_view bytes) = 0;
  virtual void end_of_input() = 0;          // the client will send no more
  // Puts what is to be sent into the connection's buffer until that is full. True: there may be more once that is sent.
  virtual bool produce() = 0;
  virtual bool wants_input() const = 0;     // false: what is in hand has to be answered first
  virtual bool half_read() const = 0;       // the client owes the rest of something
  virtual bool finished() const = 0;        // nothing will be sent any more
  virtual void abandon() = 0;               // the connection is gone: so is every exchange. Streams die with the protocol.

  // The exchange's own.
  virtual void answer(Call& call) = 0;      // with call.reply
  virtual void wake(Call& call) = 0;
  virtual void drop() = 0;
  virtual void freeze() = 0;
  virtual void goaway(Call& call, int minus) = 0;
};

class Call final : public Exchange, public std::enable_shared_from_this<Call> {
 public:
  Call(Protocol& protocol, std::int32_t stream_id) : id(stream_id), protocol_(&protocol) {}

  const Request& request() const override { return asked; }
  void answer(Reply with) override;
  void wake() override;
  void drop() override;
  void goaway(int minus) override;
  void freeze() override;
  bool gone() const override { return protocol_ == nullptr; }

  bool answered() const { return answered_; }
  void detach() { protocol_ = nullptr; }    // from here on it does nothing
  void end() {                              // the same, and the stream dies: not while it is being made
    detach();
    reply = {};
  }

  // For the protocol.
  const std::int32_t id;                    // HTTP/2: the stream's
  Request asked;
  Reply reply;
  std::size_t sent = 0;                     // of reply.body; HTTP/2 puts what a stream makes there too
  bool waiting = false;                     // the stream said kLater

 private:
  Protocol* protocol_;                      // null: gone
  bool answered_ = false;
};

// The v1 Status of a body that is too long, as a kube-apiserver gives it.
Reply too_large(std::size_t most_body);
// Answers without a body whatever they say: to HEAD, and of these statuses.
bool bodiless(std::string_view method, int status);

}  // namespace nodeward::sim::wire
