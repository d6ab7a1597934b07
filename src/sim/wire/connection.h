// One client's connection: its socket, TLS if there is any, and the protocol that the client turns out to speak. What waits to
// be sent stays below a bound: the protocol is asked for more only when most of it is gone. Private to sim/wire.
#pragma once

#include <openssl/ssl.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/wire/call.h"
#include "sim/wire/loop.h"
#include "sim/wire/server.h"
#include "sim/wire/tls.h"

namespace nodeward::sim::wire {

class Connection;

// What the connections of one server share. The loop thread.
struct Shared {
  Loop& loop;
  const ServerOptions& options;
  const Server::Handler& handler;
  SSL_CTX* tls;                         // null: clear text
  std::vector<Connection*> due = {};    // settle() them at the end of this turn
  std::vector<char> input = std::vector<char>(256UL << 10);
  std::vector<std::string> spares = {}; // buffers with memory, so that an idle connection needs none
};

class Connection final : public Loop::Watcher, public Peer, public std::enable_shared_from_this<Connection> {
 public:
  Connection(Shared& shared, int fd);  // takes the socket over
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void start();                        // once it is owned by a shared_ptr
  void settle();                       // the end of a turn: sends, asks for more, closes
  void die();                          // ends at once; the owner destroys it after the next settle()
  bool dead() const { return dead_; }

  void ready(std::uint32_t events) override;
  void soon() override;
  void drop() override;
  void freeze() override;
  void handle(std::shared_ptr<Exchange> exchange) override { shared_.handler(std::move(exchange)); }

 private:
  void read_socket();
  void take(std::string_view bytes);
  void take_clear(std::string_view bytes);
  void speak(std::unique_ptr<Protocol> protocol);
  void fill_out();
  void seal();
  void write_socket();
  void borrow(std::string& buffer);     // gives it memory
  void give_back(std::string& buffer);
  bool finished() const { return cut_short_ || (protocol_ != nullptr && protocol_->finished()); }
  void say_goodbye();
  void set_interest();
  void set_deadline();
  void watch_deadline(Duration wait);
  std::size_t backlog() const { return out_.size() - sent_; }
  std::string& clear_out() { return tls_ ? clear_ : out_; }

  Shared& shared_;
  const int fd_;
  std::unique_ptr<TlsSession> tls_;
  std::string out_;                     // for the socket; `sent_` of it have gone
  std::size_t sent_ = 0;
  std::string clear_;                   // with TLS: what the protocol has put, to be sealed
  std::string first_;                   // too few bytes to tell the protocol by
  std::unique_ptr<Protocol> protocol_;  // refers to out_ or clear_
  std::uint32_t interest_ = 0;          // what epoll watches for
  std::optional<MonoTime> deadline_;    // the client has until then to send what it owes
  bool deadline_watched_ = false;
  bool blocked_ = false;                // the socket took no more
  bool due_ = false;
  bool more_ = false;                   // the protocol may have more once `out_` is sent
  bool cut_short_ = false;              // TLS has ended: send what there is and close
  bool frozen_ = false;                 // neither reads nor writes, until the client gives it up
  bool leaving_ = false;                // our side is closed: what still comes is read and forgotten
  bool dead_ = false;
};

}  // namespace nodeward::sim::wire
