// An HTTPS server on loopback that answers each GET with the Host header it saw and whether the client showed a certificate (and, in
// X-Server-Name and X-Path, the SNI and the path), and a CA for it. For tests only.
#pragma once

#include <httplib.h>

#include <string>
#include <thread>

#include "net/test_certificates.h"

namespace nodeward::net {

inline const TestCertificate& ca() {
  static const TestCertificate made = make_certificate("test CA");
  return made;
}

class TlsServer {
 public:
  explicit TlsServer(const TestCertificate& own, const TestCertificate* client_ca = nullptr, std::string address = "127.0.0.1")
      : address_(std::move(address)), own_(own), server_(own_.certificate.get(), own_.key.get(), store_of(client_ca)) {
    server_.Get(".*", [](const httplib::Request& request, httplib::Response& answer) {
      X509* const client = SSL_get_peer_certificate(request.ssl);
      answer.set_content(request.get_header_value("Host") + (client != nullptr ? " with certificate" : ""), "text/plain");
      X509_free(client);
      const char* name = SSL_get_servername(request.ssl, TLSEXT_NAMETYPE_host_name);
      answer.set_header("X-Server-Name", name == nullptr ? "none" : name);
      answer.set_header("X-Path", request.path);
    });
    server_.set_keep_alive_timeout(1);
    port_ = server_.bind_to_any_port(address_);
    thread_ = std::jthread([this] { server_.listen_after_bind(); });
    while (!server_.is_running()) std::this_thread::yield();
  }
  ~TlsServer() { server_.stop(); }
  std::string origin() const { return "https://" + host(); }
  int port() const { return port_; }
  std::string host() const {
    return (address_.find(':') == address_.npos ? address_ : "[" + address_ + "]") + ":" + std::to_string(port_);
  }

 private:
  static X509_STORE* store_of(const TestCertificate* client_ca) {
    if (client_ca == nullptr) return nullptr;
    X509_STORE* store = X509_STORE_new();  // the server's SSL_CTX takes it over
    X509_STORE_add_cert(store, client_ca->certificate.get());
    return store;
  }

  std::string address_;
  TestCertificate own_;
  httplib::SSLServer server_;
  int port_ = 0;
  std::jthread thread_;
};

}  // namespace nodeward::net
