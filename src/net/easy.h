// One libcurl easy handle: a transfer with the TLS and TCP options of its endpoint, and what a failure of it is called. Private
// to net; the loop thread only. Using a handle again for the next transfer was measured and saves nothing.
#pragma once

#include <curl/curl.h>

#include <array>
#include <memory>
#include <string>

#include "net/transfer.h"

namespace nodeward::net {

// An Endpoint as libcurl wants it said. The endpoint's texts are referred to, not copied.
struct Target {
  explicit Target(std::shared_ptr<const Endpoint> from);

  std::shared_ptr<const Endpoint> source;
  const Endpoint& endpoint;  // of `source`
  bool tls = false;
  std::string base;         // what a path is put behind: the origin, with the host that the certificate must name
  std::string connect_to;   // "name:port:host:port" when that host is not the one to connect to
  std::string host_header;  // "Host: ..." of the real origin then
  std::string where;        // "10.0.0.1:6443" or "10.0.0.1:6443 through the proxy p:3128", for messages
};

class Easy {
 public:
  Easy(std::shared_ptr<const Target> target, std::shared_ptr<Transfer> transfer);

  CURL* handle() const { return handle_.get(); }
  Transfer& transfer() const { return *transfer_; }

  void finish(CURLcode code);    // tells the transfer how it went

 private:
  struct Cleanup {
    void operator()(CURL* handle) const { curl_easy_cleanup(handle); }
    void operator()(curl_slist* list) const { curl_slist_free_all(list); }
  };

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
  std::unique_ptr<CURL, Cleanup> handle_;
  std::unique_ptr<curl_slist, Cleanup> headers_;
  std::unique_ptr<curl_slist, Cleanup> connect_to_;
  std::array<char, CURL_ERROR_SIZE> detail_{};
};

}  // namespace nodeward::net
