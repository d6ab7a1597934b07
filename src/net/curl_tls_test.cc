#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nghttp2/nghttp2.h>

#include <cstring>

#include "net/curl_transport.h"
#include "net/test_certificates.h"
#include "net/test_h2_server.h"
#include "net/test_server.h"
#include "net/test_tls_server.h"

namespace nodeward::net {
namespace {

using testing::AllOf;
using testing::HasSubstr;

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
}

TEST(CurlTls, TrustsEachOfSeveralCasAndPassesOverTheTextAround) {
  const TestCertificate other = make_certificate("other CA");
  TlsServer of_one(make_certificate("server", "IP:127.0.0.1", &ca())),
      of_other(make_certificate("server", "IP:127.0.0.1", &other));
  const std::string both = "# comment before\n" + ca().certificate_pem() + "and between\n" + other.certificate_pem() + "after";
  for (const auto* server : {&of_one, &of_other}) {
    const auto answer = ask({.origin = server->origin(), .ca_pem = both});
    EXPECT_TRUE(answer) << answer.error().message;
  }
}

TEST(CurlTls, TrustsAnyCertificateWhenItIsToldTo) {
  TlsServer server(make_certificate("server", "DNS:another.name", nullptr, -3600));
  EXPECT_TRUE(ask({.origin = server.origin(), .insecure = true}));
  EXPECT_TRUE(ask({.origin = server.origin(), .tls_server_name = "api.test", .insecure = true}));
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
  EXPECT_EQ(good->header("x-server-name"), "api.test");
  const auto bad = ask({.origin = server.origin(), .ca_pem = ca().certificate_pem(), .tls_server_name = "else.test"});
  EXPECT_EQ(bad.error().code, ErrorCode::kInvalid);
}

// The first headers of a connection, "name: value" each on a line.
std::string headers_of(std::string_view block) {
  nghttp2_hd_inflater* inflater = nullptr;
  nghttp2_hd_inflate_new(&inflater);
  std::string text;
  while (!block.empty()) {
    nghttp2_nv header{};
    int what = 0;
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(block.data());
    const auto used = nghttp2_hd_inflate_hd2(inflater, &header, &what, bytes, block.size(), 1);
    if (used < 0) break;
    block.remove_prefix(static_cast<std::size_t>(used));
    if ((what & NGHTTP2_HD_INFLATE_EMIT) == 0) continue;
    text += std::string(reinterpret_cast<const char*>(header.name), header.namelen) + ": " +
            std::string(reinterpret_cast<const char*>(header.value), header.valuelen) + "\n";
  }
  nghttp2_hd_inflate_del(inflater);
  return text;
}

TEST(CurlTls, R31TheNameForTlsIsNoAuthorityOverHttp2Either) {
  TestH2Server server(
      [](H2Connection& connection) {
        while (const std::uint32_t stream = connection.request()) connection.answer(stream, headers_of(connection.block()));
      },
      "DNS:api.test");
  Endpoint endpoint = server.endpoint();
  endpoint.tls_server_name = "api.test";
  const auto answer = ask(endpoint);
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_THAT(answer->body, HasSubstr("\n:authority: " + endpoint.origin.substr(std::strlen("https://")) + "\n"));
  EXPECT_THAT(answer->body, testing::Not(HasSubstr("api.test")));
}

TEST(CurlTls, ReachesAnIpv6AddressAlsoWithAZone) {
  TlsServer server(make_certificate("server", "IP:::1", &ca()), nullptr, "::1");
  const auto good = ask({.origin = server.origin(), .ca_pem = ca().certificate_pem()});
  ASSERT_TRUE(good) << good.error().message;
  EXPECT_EQ(good->body, server.host());
  EXPECT_EQ(good->header("x-server-name"), "none");  // an address is no server name (RFC 6066)
  const std::string port = server.origin().substr(server.origin().rfind(':'));
  const auto zoned = ask({.origin = "https://[::1%25lo]" + port, .ca_pem = ca().certificate_pem()});
  ASSERT_TRUE(zoned) << zoned.error().message;
  EXPECT_EQ(zoned->body, server.host());  // a zone means something on this machine only (RFC 6874)
  TlsServer other(make_certificate("server", "IP:::2", &ca()), nullptr, "::1");
  EXPECT_THAT(ask({.origin = other.origin(), .ca_pem = ca().certificate_pem()}).error().message,
              HasSubstr("is for another name"));
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

// As a program that runs on while the cluster's CA and its own certificate are replaced.
TEST(CurlTls, TakesANewCaAndCertificateForNewConnections) {
  const TestCertificate old_ca = make_certificate("old CA"), new_ca = make_certificate("new CA");
  const TestCertificate own = make_certificate("controller", {}, &ca());
  auto endpoint = std::make_shared<Endpoint>();
  const auto transport = make_curl_transport(EndpointSource([&] { return endpoint; }));
  const auto ask_again = [&] { return transport->send({.path = "/", .timeout = 10s}, {}); };
  const auto change = [&](auto edit) {
    endpoint = std::make_shared<Endpoint>(*endpoint);
    edit(*endpoint);
  };
  TlsServer before(make_certificate("server", "IP:127.0.0.1", &old_ca));
  change([&](Endpoint& to) { to = {.origin = before.origin(), .ca_pem = old_ca.certificate_pem()}; });
  ASSERT_TRUE(ask_again());

  TlsServer after(make_certificate("server", "IP:127.0.0.1", &new_ca));
  change([&](Endpoint& to) { to.origin = after.origin(); });
  EXPECT_EQ(ask_again().error().code, ErrorCode::kInvalid);
  change([&](Endpoint& to) { to.ca_pem = new_ca.certificate_pem(); });
  EXPECT_EQ(ask_again()->body, after.host());
  change([&](Endpoint& to) { to.ca_pem = old_ca.certificate_pem(); });  // an open connection is not taken on trust
  EXPECT_EQ(ask_again().error().code, ErrorCode::kInvalid);

  TlsServer asking(make_certificate("server", "IP:127.0.0.1", &old_ca), &ca());
  change([&](Endpoint& to) {
    to.origin = asking.origin();
    to.client_cert_pem = own.certificate_pem();
    to.client_key_pem = own.key_pem();
  });
  EXPECT_EQ(ask_again()->body, asking.host() + " with certificate");
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
