// One libcurl easy handle: a transfer with the TLS and TCP options of its endpoint, and what a failure of it is called. Private
// to net; the loop thread only. Using a handle again for the next transfer was measured and saves nothing.
#pragma once

#include <curl/curl.h>

#include <array>
#include <memory>
#include <optional>
#include <string>

#include "net/transfer.h"

namespace nodeward::net {

// An Endpoint as libcurl wants it said. The endpoint's texts are referred to, not copied.
struct Target {
  Target(std::shared_ptr<const Endpoint> from, int generation);

  std::shared_ptr<const Endpoint> source;
  int generation = 0;        // one more with each other endpoint
  const Endpoint& endpoint;  // of `source`
  bool tls = false;
  bool loopback = false;    // never asked to compress
  std::string base;         // what a path is put behind: the origin, with the host that the certificate must name
  std::string connect_to;   // "name:port:host:port" when that host is not the one to connect to
  std::string host_header;  // "Host: ..." of the real origin then
  std::string where;        // "10.0.0.1:6443" or "10.0.0.1:6443 through the proxy p:3128", for messages
};

class Easy {
 public:
  // `http2`: what is known of the connections it may use: the last answer on one of them came over HTTP/2.
  Easy(std::shared_ptr<const Target> target, std::shared_ptr<Transfer> transfer, const bool& http2);

  CURL* handle() const { return handle_.get(); }
  const std::shared_ptr<Transfer>& transfer() const { return transfer_; }
  const std::shared_ptr<const Target>& target() const { return held_; }

  void finish(CURLcode code);    // tells the transfer how it went
  bool refused(CURLcode code) const;                // the server did not look at the request: the same may be sent again
  std::optional<bool> answered_over_http2() const;  // nullopt: no answer
  bool used_a_new_connection() const;

 private:
  struct Cleanup {
    void operator()(CURL* handle) const { curl_easy_cleanup(handle); }
    void operator()(curl_slist* list) const { curl_slist_free_all(list); }
  };

  bool holds_back();
  static curl_socket_t before_connecting(void* easy, curlsocktype, curl_sockaddr* address);
  static int before_sending(void* easy, char*, char*, int, int);

  template <class T>
  void set(CURLoption option, T value) {
    curl_easy_setopt(handle_.get(), option, value);
  }
  void set_up_connection();
  void set_up_tls();
  void set_method(const Request& request);
  void set_headers(const Request& request);
  Error error(CURLcode code) const;
  std::string reason(CURLcode code) const;

  const std::shared_ptr<const Target> held_;
  const Target& target_;  // of `held_`
  const std::shared_ptr<Transfer> transfer_;
  const bool& http2_;
  int sent_ = 0;            // times that libcurl began to send the request
  bool held_back_ = false;  // a write, from being sent again
  bool refused_ = false;    // and it was refused the first time
  std::unique_ptr<CURL, Cleanup> handle_;
  std::unique_ptr<curl_slist, Cleanup> headers_;
  std::unique_ptr<curl_slist, Cleanup> connect_to_;
  std::array<char, CURL_ERROR_SIZE> detail_{};
};

}  // namespace nodeward::net
