// TLS between two buffers: bytes off the network in, clear text out, and the other way round; it knows no socket. TLS 1.2 or
// newer, ALPN h2 before http/1.1. Private to sim/wire.
#pragma once

#include <openssl/ssl.h>

#include <memory>
#include <string>
#include <string_view>

#include "base/error.h"
#include "sim/wire/server.h"

namespace nodeward::sim::wire {

struct FreeTls {
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
  void operator()(SSL* session) const { SSL_free(session); }
};
using TlsContext = std::unique_ptr<SSL_CTX, FreeTls>;

// An Error says which of the two texts is of no use; the key is never shown.
Result<TlsContext> make_tls_context(const Tls& tls);

class TlsSession {
 public:
  explicit TlsSession(SSL_CTX& context);

  // Appends the clear text to `clear` and what is to be sent (a handshake, an alert) to `out`. False: nothing more will come.
  bool receive(std::string_view bytes, std::string& clear, std::string& out);
  void seal(std::string_view clear, std::string& out);
  void close(std::string& out);  // the orderly end
  bool http2() const;            // what ALPN agreed on

 private:
  void take_output(std::string& out);

  std::unique_ptr<SSL, FreeTls> ssl_;
  BIO* in_;   // the session's
  BIO* out_;
};

}  // namespace nodeward::sim::wire
