#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <httplib.h>

#include <thread>

#include "net/curl_transport.h"
#include "net/test_certificates.h"
#include "net/test_server.h"

namespace nodeward::net {
namespace {

using testing::AllOf;
using testing::HasSubstr;

const TestCertificate& ca() {
  static const TestCertificate made = make_certificate("test CA");
  return made;
}

class TlsServer {
 public:
  explicit TlsServer(const TestCertificate& own, const TestCertificate* client_ca = nullptr)
      : own_(own), server_(own_.certificate.get(), own_.key.get(), store_of(client_ca)) {
    server_.Get("/", [](const httplib::Request& request, httplib::Response& answer) {
      X509* const client = SSL_get_peer_certificate(request.ssl);
      answer.set_content(request.get_header_value("Host") + (client != nullptr ? " with certificate" : ""), "text/plain");
      X509_free(client);
    });
    server_.set_keep_alive_timeout(1);
    port_ = server_.bind_to_any_port("127.0.0.1");
    thread_ = std::jthread([this] { server_.listen_after_bind(); });
    while (!server_.is_running()) std::this_thread::yield();
  }
  ~TlsServer() { server_.stop(); }
  std::string origin() const { return "https://127.0.0.1:" + std::to_string(port_); }
  std::string host() const { return "127.0.0.1:" + std::to_string(port_); }

 private:
  static X509_STORE* store_of(const TestCertificate* client_ca) {
    if (client_ca == nullptr) return nullptr;
    X509_STORE* store = X509_STORE_new();  // the server's SSL_CTX takes it over
    X509_STORE_add_cert(store, client_ca->certificate.get());
    return store;
  }

  TestCertificate own_;
  httplib::SSLServer server_;
  int port_ = 0;
  std::jthread thread_;
};

Result<Response> ask(Endpoint endpoint) {
  return make_curl_transport(std::move(endpoint))->send({.path = "/", .timeout = 10s}, {});
}

TEST(CurlTls, TrustsTheCaGivenAndNoOther) {
  TlsServer server(make_certificate("server", "IP:127.0.0.1", &ca()));
  const auto good = ask({.origin = server.origin(), .ca_pem = ca().certificate_pem()});
  ASSERT_TRUE(good) << good.error().message;
  EXPECT_EQ(good->body, server.host());

  const std::string other_ca = make_certificate("other CA").certificate_pem();
  const auto bad = ask({.origin = server.origin(), .ca_pem = other_ca});
  EXPECT_EQ(bad.error().code, ErrorCode::kInvalid);
  EXPECT_THAT(bad.error().message, HasSubstr(server.host() + ": TLS: the server's certificate is not signed by the CA given ("));
  const auto unknown = ask({.origin = server.origin()});
  EXPECT_EQ(unknown.error().code, ErrorCode::kInvalid);
  EXPECT_THAT(unknown.error().message, HasSubstr("not signed by a CA that this system trusts"));
  EXPECT_TRUE(ask({.origin = server.origin(), .ca_pem = other_ca, .insecure = true}));
}

// The kubeconfig of a cluster that was made anew.
TEST(CurlTls, TellsACaOfTheSameNameFromTheOneGiven) {
  TlsServer server(make_certificate("server", "IP:127.0.0.1", &ca()));
  const auto bad = ask({.origin = server.origin(), .ca_pem = make_certificate("test CA").certificate_pem()});
  EXPECT_EQ(bad.error().code, ErrorCode::kInvalid);
  EXPECT_THAT(bad.error().message, HasSubstr("not signed by the CA given, but by another of the same name"));
}

TEST(CurlTls, SaysWhatIsWrongWithTheCertificate) {
  TlsServer expired(make_certificate("server", "IP:127.0.0.1", &ca(), -3600));
  EXPECT_THAT(ask({.origin = expired.origin(), .ca_pem = ca().certificate_pem()}).error().message, HasSubstr("has expired"));
  TlsServer named(make_certificate("server", "DNS:api.test", &ca()));
  const auto other_name = ask({.origin = named.origin(), .ca_pem = ca().certificate_pem()});
  EXPECT_EQ(other_name.error().code, ErrorCode::kInvalid);
  EXPECT_THAT(other_name.error().message, HasSubstr("is for another name"));
  EXPECT_THAT(ask({.origin = named.origin(), .ca_pem = "no PEM"}).error().message,
              HasSubstr("the CA given is no PEM certificate"));
}

TEST(CurlTls, VerifiesTheNameItWasTold) {
  TlsServer server(make_certificate("server", "DNS:api.test", &ca()));
  const auto good = ask({.origin = server.origin(), .ca_pem = ca().certificate_pem(), .tls_server_name = "api.test"});
  ASSERT_TRUE(good) << good.error().message;
  EXPECT_EQ(good->body, server.host());  // the name is for TLS only
  const auto bad = ask({.origin = server.origin(), .ca_pem = ca().certificate_pem(), .tls_server_name = "else.test"});
  EXPECT_EQ(bad.error().code, ErrorCode::kInvalid);
}

TEST(CurlTls, ShowsItsOwnCertificate) {
  TlsServer server(make_certificate("server", "IP:127.0.0.1", &ca()), &ca());
  const TestCertificate own = make_certificate("controller", {}, &ca());
  const auto good = ask({.origin = server.origin(),
                         .ca_pem = ca().certificate_pem(),
                         .client_cert_pem = own.certificate_pem(),
                         .client_key_pem = own.key_pem()});
  ASSERT_TRUE(good) << good.error().message;
  EXPECT_EQ(good->body, server.host() + " with certificate");

  const auto garbled = ask({.origin = server.origin(),
                            .ca_pem = ca().certificate_pem(),
                            .client_cert_pem = own.certificate_pem(),
                            .client_key_pem = "SECRET"});
  EXPECT_EQ(garbled.error().code, ErrorCode::kInvalid);
  EXPECT_THAT(garbled.error().message, AllOf(HasSubstr("client certificate"), testing::Not(HasSubstr("SECRET"))));
}

TEST(CurlTls, SaysThatTheServerWantsACertificate) {
  const TestCertificate own = make_certificate("server", "IP:127.0.0.1", &ca());
  const std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context(SSL_CTX_new(TLS_server_method()), &SSL_CTX_free);
  SSL_CTX_use_certificate(context.get(), own.certificate.get());
  SSL_CTX_use_PrivateKey(context.get(), own.key.get());
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  TestServer server([&](Connection& connection) {
    const std::unique_ptr<SSL, decltype(&SSL_free)> tls(SSL_new(context.get()), &SSL_free);
    SSL_set_fd(tls.get(), connection.fd());
    SSL_accept(tls.get());                // sends the alert
    while (!connection.read().empty()) {  // a close with bytes unread would overtake it
    }
  });
  const auto answer = ask({.origin = "https://127.0.0.1:" + std::to_string(server.port()), .ca_pem = ca().certificate_pem()});
  EXPECT_EQ(answer.error().code, ErrorCode::kInvalid);
  EXPECT_THAT(answer.error().message, HasSubstr("the server does not accept our certificate"));
}

}  // namespace
}  // namespace nodeward::net
