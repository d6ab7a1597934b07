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

// Any thread. Errors: kUnavailable (no connection, reset: for a request that was under way the outcome is unknown),
// kTimeout (outcome unknown), kCancelled, kInvalid (TLS: the certificate is not the one that was promised).
// An HTTP status is never an Error here.
class Transport {
 public:
  virtual ~Transport() = default;
  virtual Result<Response> send(const Request& request, const std::stop_token& stop) = 0;
  virtual Result<std::unique_ptr<Stream>> open(const Request& request, const std::stop_token& stop) = 0;
};

// Where a transport connects to, and how it knows that it got there. Secrets stay in here: no message ever shows them.
struct Endpoint {
  std::string origin;                      // "https://10.0.0.1:6443", no path; "http://..." = HTTP/1.1 in clear text
  std::string ca_pem = {};                 // empty: the system's trust store
  std::string client_cert_pem = {};
  std::string client_key_pem = {};
  std::string tls_server_name = {};        // empty: the host of `origin`
  bool insecure = false;                   // do not verify the server
  // "http://user:password@host:3128", "https://..." or "socks5h://..."; empty: none, whatever the environment says. An https
  // proxy is verified by the system's trust store and by ca_pem.
  std::string proxy = {};
};

}  // namespace nodeward::net
