// What a server sees of us for the kubeconfigs of requirement R31 whose server field is odd: through a proxy that leads every name
// and address to one server on loopback, which has to be trusted whatever its certificate says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/fake_clock.h"
#include "kube/client.h"
#include "kube/config/kubeconfig.h"
#include "net/curl_transport.h"
#include "net/test_proxy.h"
#include "net/test_tls_server.h"

namespace nodeward::kube {
namespace {

using testing::ElementsAre;
using testing::StartsWith;

struct Seen {
  const char* file;
  const char* connected_to;
  const char* server_name;  // SNI; an address is none
  const char* host;
  const char* path;
};

constexpr Seen kSeen[] = {
    {"tls-server-name-ip.yaml", "192.0.2.10:6443", "api.train.internal", "192.0.2.10:6443", "/api/v1/nodes"},
    {"ipv6.yaml", "[2001:db8::10]:6443", "none", "[2001:db8::10]:6443", "/api/v1/nodes"},
    // A zone means something on this machine only.
    {"ipv6-zone.yaml", "[fe80::1]:6443", "none", "[fe80::1]:6443", "/api/v1/nodes"},
    {"ipv6-no-port.yaml", "[2001:db8::10]:443", "none", "[2001:db8::10]", "/api/v1/nodes"},
    {"path-prefix.yaml", "proxy.example.net:443", "proxy.example.net", "proxy.example.net",
     "/k8s/clusters/c-m-1a2b3c4d/api/v1/nodes"},
    {"trailing-slash.yaml", "k8s.example.net:6443", "k8s.example.net", "k8s.example.net:6443", "/api/v1/nodes"},
    {"no-scheme.yaml", "k8s.example.net:6443", "k8s.example.net", "k8s.example.net:6443", "/api/v1/nodes"},
    {"insecure.yaml", "192.0.2.10:6443", "none", "192.0.2.10:6443", "/api/v1/nodes"},
};

Result<net::Response> ask(const char* file, const std::string& proxy) {
  const std::filesystem::path folder = std::filesystem::path(NW_SOURCE_DIR) / "tests/data/kubeconfigs";
  NW_TRY_ASSIGN(ClusterConfig config, parse_kubeconfig(read_file(folder / file).value(), folder / file));
  config.endpoint.proxy = proxy;
  config.endpoint.ca_pem.clear();
  config.endpoint.insecure = true;
  const auto transport = net::make_curl_transport(config.endpoint);
  FakeClock clock;
  return Client(*transport, {.path_prefix = config.path_prefix}, clock).send({.path = "/api/v1/nodes"}, {});
}

TEST(R31OnTheWire, TheServerSeesWhatTheFileSays) {
  net::TlsServer server(net::make_certificate("any"));
  for (const Seen& seen : kSeen) {
    net::Proxy proxy([&](net::Connection& connection, const std::string&) {
      connection.write("HTTP/1.1 200 Connection established\r\n\r\n");
      net::relay(connection, server.port());
    });
    const auto answer = ask(seen.file, proxy.url());
    ASSERT_TRUE(answer) << seen.file << ": " << answer.error().message;
    EXPECT_THAT(proxy.asked(), ElementsAre(StartsWith(std::string("CONNECT ") + seen.connected_to + " HTTP/1.1\r\n")));
    EXPECT_EQ(answer->header("x-server-name"), seen.server_name) << seen.file;
    EXPECT_EQ(answer->body, seen.host) << seen.file;
    EXPECT_EQ(answer->header("x-path"), seen.path) << seen.file;
  }
}

TEST(R31OnTheWire, PlainHttpIsHttp1WithoutTls) {
  net::Proxy proxy([](net::Connection& connection, const std::string&) { connection.answer("{}"); });
  ASSERT_TRUE(ask("plain-http.yaml", proxy.url()));
  EXPECT_THAT(proxy.asked(), ElementsAre(StartsWith("GET http://127.0.0.1:8001/api/v1/nodes HTTP/1.1\r\n")));
}

}  // namespace
}  // namespace nodeward::kube
