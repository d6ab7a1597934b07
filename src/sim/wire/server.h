// The HTTP server under the simulated API server: HTTP/2 and HTTP/1.1, in clear text (HTTP/2 there by prior knowledge, RFC 9113,
// section 3.3) or over TLS (ALPN). One thread, the loop, moves all bytes and calls the handler, so what the handler owns needs no
// lock; it must not block. Besides answering it can do what a failing server does: drop a connection, say GOAWAY, stay silent.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "net/http.h"

namespace nodeward::sim::wire {

struct Request {
  std::string method;
  std::string target;  // path and query, as sent: "/api/v1/nodes?limit=500"
  std::vector<net::Header> headers;  // names in lower case
  std::string body;

  std::string_view header(std::string_view lower_case_name) const;  // empty: absent
};

// A body that is made while it is sent: a long list, a watch. The loop thread.
class Body {
 public:
  enum class More { kYes, kLater, kEnd };
  virtual ~Body() = default;
  // Appends about `room` bytes. kYes: there is more (and some was appended). kLater: nothing more for now; whoever makes more
  // calls wake() on the exchange. It may call drop() and goaway() of its own exchange.
  virtual More fill(std::string& out, std::size_t room) = 0;
};

struct Reply {
  int status = 200;
  std::vector<net::Header> headers = {};  // Content-Length is ours to say
  std::string body = {};
  std::unique_ptr<Body> stream = {};  // instead of `body`: chunked over HTTP/1.1
};

// One request that waits for its answer; kept as long as wanted: never answered is a silent server. The loop thread. Each of the
// ends below comes once; after the client has gone they do nothing.
class Exchange {
 public:
  virtual ~Exchange() = default;
  virtual const Request& request() const = 0;
  virtual void answer(Reply reply) = 0;
  virtual void wake() = 0;  // a stream that said kLater has more, or has come to its end
  virtual void drop() = 0;  // closes the connection, with whatever else is under way on it
  // Says GOAWAY: of the streams of this connection those up to the one `minus` before this will be answered and no others (ids
  // of a client's streams are odd, so the last id is this one's less 2 * minus; a script's `goaway: 4` is minus = 4, as counted
  // in ids an odd number would mean no stream). Closes when those have ended. This one is still to be answered when minus is 0.
  // HTTP/1.1: the connection closes after this answer, and without it when minus is more.
  virtual void goaway(int minus) = 0;
  // From here on nothing passes on the connection in either direction, and it stays open: a path that died without a word.
  virtual void freeze() = 0;
  virtual bool gone() const = 0;  // the client has given up, or the connection is closed
};

struct Tls {  // empty texts: clear text
  std::string certificate_pem;
  std::string key_pem;
};

struct ServerOptions {
  std::string address = "127.0.0.1";
  int port = 0;  // 0: a free one
  Tls tls = {};
  std::size_t most_body = 3UL << 20;  // a longer one is answered 413, as a kube-apiserver does
  Duration patience = 60s;  // for the rest of a request, a TLS handshake, a first byte
};

// Made, asked and destroyed by its owner; post() from any thread.
class Server {
 public:
  using Handler = std::function<void(std::shared_ptr<Exchange>)>;
  // Listens before it returns: a port in use or an unusable certificate is an Error that names it.
  static Result<std::unique_ptr<Server>> listen(ServerOptions options, Handler handler);
  virtual ~Server() = default;  // closes every connection and ends the loop

  virtual int port() const = 0;
  virtual void post(std::function<void()> task) = 0;  // runs it on the loop thread
  virtual void after(Duration wait, std::function<void()> task) = 0;  // the same, later; dropped when the server ends
  // The loop thread. Closes every connection and refuses new ones until open_again().
  virtual void shut() = 0;
  virtual Result<> open_again() = 0;  // on the same port
};

}  // namespace nodeward::sim::wire
