// HTTP as this product uses it: whole answers for small requests, streams for lists and watches. Transport is the one thing
// that tests replace (see scripted_transport.h); CurlTransport is the real one. Everything blocks and ends on a stop.
#pragma once

#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/error.h"

namespace nodeward::net {

struct Header {
  std::string name;    // any case when sent; lower case when received
  std::string value;
};

struct Request {
  std::string method = "GET";
  std::string path;                    // absolute path with query, below the transport's origin: "/api/v1/nodes?limit=500"
  std::vector<Header> headers = {};
  std::string body = {};
  Duration timeout = 30s;              // the whole request for send(); up to the answer's headers for open()
  Duration connect = 10s;              // of it, until there is a connection, TLS included
  Duration first_byte = 30s;           // of it, until the answer's headers are there
  // For open(): asked for, with the same headers, on the stream's own connection when the stream has been silent for long; no
  // answer of any kind means that the connection is dead. Empty, or a connection that is HTTP/1.1: TCP alone tells.
  std::string probe = {};
};

struct Response {
  int status = 0;
  std::vector<Header> headers = {};
  std::string body = {};

  std::optional<std::string_view> header(std::string_view lower_case_name) const;
};

// The body of one answer, read as it comes. One thread. Dropping it ends the request.
class Stream {
 public:
  virtual ~Stream() = default;
  virtual int status() const = 0;
  virtual std::optional<std::string_view> header(std::string_view lower_case_name) const = 0;
  // The next bytes, as they came (never empty); nullopt at the orderly end. At most `patience` without a byte, else kTimeout.
  virtual Result<std::optional<std::string>> read(Duration patience, const std::stop_token& stop) = 0;
};

// Any thread. Errors: kUnreachable (no connection, or the server refused to look at the request: nothing was done), kUnavailable
// (broken off: whether it was done is unknown), kTimeout (unknown, too), kCancelled, kInvalid (TLS: the certificate is not the
// one that was promised; nothing was done). A request that is no GET is never sent a second time when the first may have been done.
// An HTTP status is never an Error here.
class Transport {
 public:
  virtual ~Transport() = default;
  virtual Result<Response> send(const Request& request, const std::stop_token& stop) = 0;
  virtual Result<std::unique_ptr<Stream>> open(const Request& request, const std::stop_token& stop) = 0;
};

// How a connection that died without a word is found (docs/adr/0009). The defaults find it within 45 s of the last byte.
struct Liveness {
  std::chrono::seconds idle{15};  // TCP keep-alive: silence before the first probe,
  std::chrono::seconds interval{5};  // between probes,
  int probes = 4;  // and how many of them may be lost
  std::chrono::milliseconds unacknowledged{30'000};  // TCP_USER_TIMEOUT: bytes sent that nobody acknowledges
  Duration silence = 30s;  // of a stream, before Request::probe is asked for,
  Duration answer = 10s;  // and until it must be answered

  bool operator==(const Liveness&) const = default;
};

// Where a transport connects to, and how it knows that it got there. Secrets stay in here: no message ever shows them.
struct Endpoint {
  std::string origin;  // "https://10.0.0.1:6443", no path; "http://..." = HTTP/1.1 in clear text
  std::string ca_pem = {};  // empty: the system's trust store
  std::string client_cert_pem = {};
  std::string client_key_pem = {};
  std::string tls_server_name = {};  // empty: the host of `origin`
  bool insecure = false;  // do not verify the server
  bool gzip = false;  // ask for compressed answers; on loopback never: it costs both ends CPU for nothing
  Liveness liveness = {};
  // "http://user:password@host:3128", "https://..." or "socks5h://..."; empty: none, whatever the environment says. An https
  // proxy is verified by the system's trust store and by ca_pem.
  std::string proxy = {};

  bool operator==(const Endpoint&) const = default;
};

}  // namespace nodeward::net
