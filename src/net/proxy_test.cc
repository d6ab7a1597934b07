// Requests through proxies that stand on loopback and lead every name to loopback, so that a name which no resolver knows shows
// that the proxy resolved it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <vector>

#include "base/text.h"
#include "net/curl_transport.h"
#include "net/test_proxy.h"
#include "net/test_server.h"
#include "net/test_tls_server.h"

namespace nodeward::net {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

void tunnel(Connection& connection, const std::string& asked) {
  const std::string target = asked.substr(0, asked.find(" HTTP/"));
  connection.write("HTTP/1.1 200 Connection established\r\n\r\n");
  relay(connection, std::atoi(target.substr(target.rfind(':') + 1).c_str()));
}

std::string port_of(const std::string& origin) { return origin.substr(origin.rfind(':')); }

Result<Response> ask(Endpoint endpoint) {
  const Request request{.path = "/", .headers = {{"Authorization", "Bearer hunter2"}}, .timeout = 10s};
  return make_curl_transport(std::move(endpoint))->send(request, {});
}

TEST(Proxy, TunnelsTlsAndSeesNoneOfOurHeaders) {
  TlsServer server(make_certificate("server", "DNS:api.test", &ca()));
  Proxy proxy(tunnel);
  const std::string host = "api.test" + port_of(server.origin());
  const auto answer = ask({.origin = "https://" + host, .ca_pem = ca().certificate_pem(), .proxy = proxy.url("user:pa%20ss@")});
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->body, host);
  ASSERT_EQ(proxy.asked().size(), 1u);
  EXPECT_THAT(proxy.asked()[0], AllOf(testing::StartsWith("CONNECT " + host + " HTTP/1.1\r\n"),
                                      HasSubstr("Proxy-Authorization: Basic dXNlcjpwYSBzcw==\r\n"), Not(HasSubstr("hunter2"))));
}

TEST(Proxy, LeadsToTheServerAlsoWhenItsCertificateHasAnotherName) {
  TlsServer server(make_certificate("server", "DNS:api.internal", &ca()));
  Proxy proxy(tunnel);
  const std::string host = "api.test" + port_of(server.origin());
  const auto answer = ask(
      {.origin = "https://" + host, .ca_pem = ca().certificate_pem(), .tls_server_name = "api.internal", .proxy = proxy.url()});
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->body, host);
  EXPECT_THAT(proxy.asked(), ElementsAre(testing::StartsWith("CONNECT " + host + " ")));
}

TEST(Proxy, IsAskedForTheWholeUrlWithoutTls) {
  Proxy proxy([](Connection& connection, const std::string&) { connection.answer("from the proxy"); });
  EXPECT_EQ(ask({.origin = "http://api.test:8001", .proxy = proxy.url()})->body, "from the proxy");
  EXPECT_THAT(proxy.asked(), ElementsAre(testing::StartsWith("GET http://api.test:8001/ HTTP/1.1\r\n")));
}

TEST(Proxy, SocksResolvesTheName) {
  TestServer server([](Connection& connection) {
    connection.request();
    connection.answer("behind socks");
  });
  TestServer proxy([&](Connection& connection) {  // RFC 1928: greeting, no authentication; CONNECT to a name
    connection.read();
    connection.write(std::string("\x05\x00", 2));
    const std::string asked = connection.read();
    EXPECT_EQ(asked.substr(0, 5 + 8), std::string("\x05\x01\x00\x03\x08", 5) + "api.test");
    connection.write(std::string("\x05\x00\x00\x01\x00\x00\x00\x00\x00\x00", 10));
    relay(connection, server.port());
  });
  const auto answer = ask({.origin = "http://api.test:8001", .proxy = "socks5h://127.0.0.1:" + std::to_string(proxy.port())});
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->body, "behind socks");
}

TEST(Proxy, MessagesNameItWithoutUserAndPassword) {
  Proxy refuses([](Connection& connection, const std::string&) { connection.answer("", "407 Proxy Authentication Required"); });
  const auto refused = ask({.origin = "https://api.test:6443", .proxy = refuses.url("marker-user:marker-word@")});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kUnreachable);
  EXPECT_THAT(refused.error().message, AllOf(HasSubstr("api.test:6443 through the proxy " + refuses.address()), HasSubstr("407"),
                                             Not(HasSubstr("marker"))));
  for (const char* bad : {"http://marker-user:marker-word@127.0.0.1:1", "http://marker-user:marker-word@no.such.invalid:1",
                          "nonsense://marker-user:marker-word@x", "http://marker-user:marker word@:0", "https://marker:w@[::1"}) {
    const auto answer = ask({.origin = "https://api.test:6443", .proxy = bad});
    ASSERT_FALSE(answer) << bad;
    EXPECT_THAT(answer.error().message, Not(HasSubstr("marker"))) << bad;
  }
}

TEST(Proxy, IsNotTakenFromTheEnvironmentHere) {
  TestServer server([](Connection& connection) {
    connection.request();
    connection.answer("direct");
  });
  Proxy proxy([](Connection& connection, const std::string&) { connection.answer("proxy"); });
  setenv("http_proxy", proxy.url().c_str(), 1);
  const auto direct = ask({.origin = server.origin()});
  setenv("no_proxy", "*", 1);
  const auto through = ask({.origin = server.origin(), .proxy = proxy.url()});
  unsetenv("http_proxy");
  unsetenv("no_proxy");
  EXPECT_EQ(direct->body, "direct");
  EXPECT_EQ(through->body, "proxy");
}

}  // namespace
}  // namespace nodeward::net
