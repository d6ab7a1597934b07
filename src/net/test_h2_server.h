// An HTTP/2 server over TLS for tests that decides about every frame: each connection gets a thread that runs `talk` on it. It
// knows as much of RFC 9113 and 7541 as libcurl needs to be answered. For tests only.
#pragma once

#include <fcntl.h>
#include <openssl/ssl.h>

#include <csignal>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "net/test_certificates.h"
#include "net/test_server.h"

namespace nodeward::net {

struct Frame {
  enum Type : std::uint8_t { kData = 0, kHeaders = 1, kReset = 3, kSettings = 4, kPing = 6, kGoAway = 7, kWindowUpdate = 8 };
  std::uint8_t type = 0;
  std::uint8_t flags = 0;
  std::uint32_t stream = 0;
  std::string payload = {};
};
inline constexpr std::uint8_t kEndStream = 1;
inline constexpr std::uint8_t kAck = 1;
inline constexpr std::uint8_t kEndHeaders = 4;
inline constexpr std::uint8_t kPriority = 32;
inline constexpr std::uint32_t kRefusedStream = 7;
inline constexpr std::uint32_t kInternalError = 2;

inline std::string big_endian(std::uint32_t number) {
  return {static_cast<char>(number >> 24), static_cast<char>(number >> 16), static_cast<char>(number >> 8),
          static_cast<char>(number)};
}

// One thread.
class H2Connection {
 public:
  H2Connection(SSL_CTX* context, int fd) : ssl_(SSL_new(context), &SSL_free), fd_(fd) {
    SSL_set_fd(ssl_.get(), fd);
    if (SSL_accept(ssl_.get()) != 1 || read(24).size() != 24) return;     // 24: the client's preface
    send({Frame::kSettings});
  }

  // The number of the next stream whose request is whole, 0 when the client has gone. What it asks has no meaning here.
  std::uint32_t request() {
    while (true) {
      const std::string head = read(9);
      if (head.size() < 9) return 0;
      const auto byte = [&](std::size_t at) { return static_cast<std::uint32_t>(static_cast<unsigned char>(head[at])); };
      const std::uint32_t size = byte(0) << 16 | byte(1) << 8 | byte(2);
      const std::uint32_t stream = byte(5) << 24 | byte(6) << 16 | byte(7) << 8 | byte(8);
      const std::string payload = read(size);
      if (byte(3) == Frame::kHeaders) block_ = payload.substr((byte(4) & kPriority) != 0 ? 5 : 0);
      if (byte(3) == Frame::kSettings && (byte(4) & kAck) == 0) send({Frame::kSettings, kAck});
      if (byte(3) == Frame::kPing && (byte(4) & kAck) == 0) send({Frame::kPing, kAck, 0, payload});
      if (byte(3) <= Frame::kHeaders && (byte(4) & kEndStream) != 0) return stream;
    }
  }
  // The headers of the last request, as HPACK has them.
  const std::string& block() const { return block_; }
  // The common name in the client's certificate; "none" without one.
  std::string client() const {
    const std::unique_ptr<X509, decltype(&X509_free)> shown(SSL_get1_peer_certificate(ssl_.get()), &X509_free);
    char name[64] = "none";
    if (shown) X509_NAME_get_text_by_NID(X509_get_subject_name(shown.get()), NID_commonName, name, sizeof name);
    return name;
  }
  // Whether frames wait to be read.
  bool waits() const {
    pollfd socket{.fd = fd_, .events = POLLIN, .revents = 0};
    return SSL_pending(ssl_.get()) > 0 || poll(&socket, 1, 0) > 0;
  }
  bool send(const Frame& frame) {
    std::string bytes = big_endian(static_cast<std::uint32_t>(frame.payload.size())).substr(1);
    bytes += static_cast<char>(frame.type);
    bytes += static_cast<char>(frame.flags);
    bytes += big_endian(frame.stream) + frame.payload;
    return SSL_write(ssl_.get(), bytes.data(), static_cast<int>(bytes.size())) > 0;
  }
  bool begin(std::uint32_t stream) { return send({Frame::kHeaders, kEndHeaders, stream, "\x88"}); }   // :status 200
  bool data(std::uint32_t stream, std::string text) { return send({Frame::kData, 0, stream, std::move(text)}); }
  bool answer(std::uint32_t stream, std::string text) {
    return begin(stream) && send({Frame::kData, kEndStream, stream, std::move(text)});
  }
  bool reset(std::uint32_t stream, std::uint32_t code) { return send({Frame::kReset, 0, stream, big_endian(code)}); }
  bool go_away(std::uint32_t last) { return send({Frame::kGoAway, 0, 0, big_endian(last) + big_endian(0)}); }
  // The client gets a reset.
  void abort() {
    const linger now{.l_onoff = 1, .l_linger = 0};
    setsockopt(fd_, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    dup2(nothing, fd_);                  // closes the socket, and the number stays the test server's
    close(nothing);
  }

 private:
  std::string read(std::size_t size) {
    std::string bytes(size, '\0');
    std::size_t got = 0;
    while (got < size) {
      const int count = SSL_read(ssl_.get(), bytes.data() + got, static_cast<int>(size - got));
      if (count <= 0) return {};
      got += static_cast<std::size_t>(count);
    }
    return bytes;
  }

  std::unique_ptr<SSL, decltype(&SSL_free)> ssl_;
  const int fd_;
  std::string block_;
};

class TestH2Server {
 public:
  using Talk = std::function<void(H2Connection&)>;
  // `names`: in its certificate.
  explicit TestH2Server(Talk talk, const std::string& names = "IP:127.0.0.1")
      : ca_(make_certificate("test CA")),
        own_(make_certificate("server", names, &ca_)),
        context_(SSL_CTX_new(TLS_server_method()), &SSL_CTX_free),
        server_([this, talk = std::move(talk)](Connection& plain) {
          H2Connection connection(context_.get(), plain.fd());
          talk(connection);
        }) {
    std::signal(SIGPIPE, SIG_IGN);       // OpenSSL writes to connections that the client has closed
    SSL_CTX_use_certificate(context_.get(), own_.certificate.get());
    SSL_CTX_use_PrivateKey(context_.get(), own_.key.get());
    SSL_CTX_set_alpn_select_cb(context_.get(), &choose_h2, nullptr);
    // Asks for a client's certificate and takes any, also none.
    SSL_CTX_set_verify(context_.get(), SSL_VERIFY_PEER, [](int, X509_STORE_CTX*) { return 1; });
    SSL_CTX_set_session_id_context(context_.get(), reinterpret_cast<const unsigned char*>("test"), 4);
  }
  Endpoint endpoint(Liveness liveness = {}) const {
    return {
        .origin = "https://127.0.0.1:" + std::to_string(server_.port()), .ca_pem = ca_.certificate_pem(), .liveness = liveness};
  }
  std::size_t connections() const { return server_.connections(); }

 private:
  static int choose_h2(SSL*, const unsigned char** out, unsigned char* size, const unsigned char*, unsigned, void*) {
    *out = reinterpret_cast<const unsigned char*>("h2");
    *size = 2;
    return SSL_TLSEXT_ERR_OK;
  }

  const TestCertificate ca_;
  const TestCertificate own_;
  const std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context_;
  TestServer server_;
};

}  // namespace nodeward::net
