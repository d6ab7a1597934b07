// A client's HTTP/2 connection for load: requests out, and a word about each answer. Blocks while it reads. One thread; throws
// std::runtime_error.
#pragma once

#include <nghttp2/nghttp2.h>
#include <openssl/ssl.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "sim/client.h"

namespace nodeward::bench {

int connect_to(int port);                 // on this machine

class Http2Session {
 public:
  struct Told {                           // neither throws: nghttp2 is in between
    std::function<void()> answered;                       // a stream has ended well
    std::function<void(std::string_view)> data = {};      // of any stream
  };
  Http2Session(int port, bool tls, Told told);
  ~Http2Session();
  Http2Session(const Http2Session&) = delete;
  Http2Session& operator=(const Http2Session&) = delete;

  struct Ask {
    std::string_view method, path, accept;
    std::string body = {};
  };
  void ask(Ask ask);
  void flush();                           // sends what is due
  void read();                            // waits for some bytes and takes them
  int fd() const { return fd_; }

 private:
  struct Callbacks;
  struct Upload {
    std::string body;
    std::size_t sent = 0;
  };
  std::size_t receive();

  const Told told_;
  const int fd_;
  std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context_;
  std::unique_ptr<SSL, decltype(&SSL_free)> ssl_;
  nghttp2_session* session_ = nullptr;
  std::unordered_map<std::int32_t, Upload> uploads_;
  std::vector<char> input_ = std::vector<char>(1UL << 20);
  std::string output_;
};

}  // namespace nodeward::bench
