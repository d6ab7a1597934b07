// No message and no log line shows a secret: everything that can go wrong with credentials goes wrong here, with a marker as
// the secret, and what was said is searched for it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "base/fake_clock.h"
#include "kube/client.h"
#include "kube/config/credentials.h"
#include "kube/config/exec_plugin.h"
#include "kube/config/in_cluster.h"
#include "kube/config/kubeconfig.h"
#include "kube/config/temp_folder.h"
#include "net/curl_transport.h"
#include "net/test_server.h"
#include "net/test_tls_server.h"

namespace nodeward::kube {
namespace {

constexpr char kMarker[] = "hunter2-marker-4711";

class Secrets : public testing::Test {
 protected:
  void note(const auto& result) {
    ++failures_;
    said_ += result ? "accepted\n" : result.error().message + "\n";
  }
  auto load(const std::string& cluster, const std::string& user) {
    return load_kubeconfig(
        folder_.write("config", "clusters: [{name: c, cluster: " + cluster + "}]\nusers: [{name: u, user: " + user +
                                    "}]\ncontexts: [{name: x, context: {cluster: c, user: u}}]\n" + "current-context: x\n"));
  }

  const std::string marker_ = kMarker;
  TempFolder folder_;
  FakeClock clock_;
  std::string said_;
  int failures_ = 0;
};

TEST_F(Secrets, AreInNoMessageAndNoLogLine) {
  testing::internal::CaptureStderr();
  const std::string good = "{server: a}";
  for (const char* field : {"proxy-url", "insecure-skip-tls-verify", "certificate-authority-data", "certificate-authority"})
    note(load("{server: a, " + std::string(field) + ": '" + marker_ + "'}", "{token: t}"));
  note(load("{server: 'https://u:" + marker_ + "@h'}", "{}"));
  for (const char* field : {"token", "tokenFile", "client-certificate", "client-key", "client-certificate-data",
                            "client-key-data", "password", "username", "auth-provider", "exec", "as-groups"})
    note(load(good, "{as: x, " + std::string(field) + ": '" + marker_ + " x'}"));
  for (const char* field : {"interactiveMode", "args", "env", "provideClusterInfo"})
    note(load(good, "{exec: {apiVersion: client.authentication.k8s.io/v1, command: c, " + std::string(field) + ": '" + marker_ +
                        "'}}"));
  note(load(good, "{exec: {apiVersion: " + marker_ + ", command: c}}"));
  note(load(good, "{token: '" + marker_));  // a quote that is never closed
  const EnvLookup env = [&](const char* name) -> const char* {
    static const std::string proxy = std::string("ftp://u:") + kMarker + "@p";
    return std::string(name) == "HTTPS_PROXY" ? proxy.c_str() : nullptr;
  };
  note(load_kubeconfig(folder_.write("proxied",
                                     "clusters: [{name: c, cluster: {server: a}}]\nusers: [{name: u}]\n"
                                     "contexts: [{name: x, context: {cluster: c, user: u}}]\ncurrent-context: x\n"),
                       {.env = env}));
  const std::vector<std::string> scripts = {
      "echo " + marker_,
      "echo " + marker_ + "; exit 1",
      "echo x >&2; echo " + marker_ + " >&2; exit 1",
      "echo 'password: " + marker_ + "' >&2; exit 1",
      "echo \"bad $SECRET\" >&2; exit 1",
      R"(echo '{"kind":"ExecCredential","apiVersion":")" + marker_ + R"("}')",
      R"(echo '{"kind":"ExecCredential","apiVersion":"v","status":{"token":")" + marker_ + R"( x"}}')",
      R"(echo '{"kind":"ExecCredential","apiVersion":"v","status":{"token":"t","expirationTimestamp":")" + marker_ + R"("}}')"};
  const std::vector<std::string> arguments[] = {
      {"--client-secret", marker_}, {"--client-secret=" + marker_}, {"API_KEY=" + marker_}};
  for (const auto& secret : arguments) {
    ExecPlugin plugin{.api_version = "v", .command = "sh", .args = {"-c", "echo \"login failed for ${1-${0#*=}}\" >&2; exit 1"}};
    plugin.args.insert(plugin.args.end(), secret.begin(), secret.end());
    note(run_plugin(plugin, {}, {}));
  }
  for (const std::string& script : scripts) {
    note(run_plugin({.api_version = "v", .command = "sh", .args = {"-c", script}, .env = {{"SECRET", marker_}}}, {}, {}));
  }
  // What is said when all is well but the plugin talks of its token.
  const std::string talks = "echo 'have " + marker_ +
                            "' >&2; echo '{\"kind\":\"ExecCredential\",\"apiVersion\":\"v\",\"status\":" + "{\"token\":\"" +
                            marker_ + "\"}}'";
  EXPECT_TRUE(run_plugin({.api_version = "v", .command = "sh", .args = {"-c", talks}}, {}, {}));
  ClusterConfig config{.endpoint = {.origin = "https://a", .ca_pem = marker_}, .token = marker_, .source = "a test"};
  config.ca_file = config.token_file = folder_.write("both", marker_ + " x");
  Credentials credentials(config, clock_);
  EXPECT_EQ(credentials.endpoint()->ca_pem, marker_);
  EXPECT_FALSE(credentials.reload(Authorization("Bearer " + marker_), {}));

  said_ += testing::internal::GetCapturedStderr();
  EXPECT_EQ(said_.find(marker_), said_.npos) << said_;
  EXPECT_EQ(said_.find("accepted"), said_.npos) << said_;
  EXPECT_THAT(said_, testing::HasSubstr("have ***"));
  EXPECT_GT(failures_, 30);
}

// Whatever becomes of a request that carries a token, over connections that have a key and a proxy's password.
TEST_F(Secrets, AreInNoMessageOfARequestThatFails) {
  net::TlsServer tls(net::make_certificate("server", "IP:127.0.0.1", &net::ca()));
  net::TestServer breaks([](net::Connection& connection) { connection.request(); });
  net::TestServer refuses([](net::Connection& connection) {
    connection.request();
    connection.answer("who are you?", "401 Unauthorized");
  });
  net::TestServer garbles([](net::Connection& connection) {
    connection.request();
    connection.write("no HTTP\r\n\r\n");
  });
  const std::string user = "u:" + marker_ + "@";
  const net::Endpoint endpoints[] = {
      {.origin = "http://127.0.0.1:1"},
      {.origin = breaks.origin()},
      {.origin = refuses.origin()},
      {.origin = garbles.origin()},
      {.origin = tls.origin()},
      {.origin = tls.origin(), .ca_pem = marker_},
      {.origin = tls.origin(), .client_cert_pem = marker_, .client_key_pem = marker_, .insecure = true},
      {.origin = tls.origin(), .client_cert_pem = net::ca().certificate_pem(), .client_key_pem = marker_, .insecure = true},
      {.origin = tls.origin(), .proxy = "http://" + user + "127.0.0.1:1"},
      {.origin = tls.origin(), .proxy = "socks5h://" + user + breaks.origin().substr(std::strlen("http://"))},
      {.origin = tls.origin(), .proxy = "https://" + user + garbles.origin().substr(std::strlen("http://"))},
      {.origin = "http://a.test", .proxy = "http://" + user + refuses.origin().substr(std::strlen("http://"))},
      {.origin = "nonsense://" + user},
  };
  testing::internal::CaptureStderr();
  for (const net::Endpoint& endpoint : endpoints) {
    const auto transport = net::make_curl_transport(endpoint);
    Client client(*transport, {.authorization = [this](const auto&) { return "Bearer " + marker_; }}, clock_);
    note(client.send({.method = "PATCH", .path = "/api/v1/nodes/a", .body = "{}", .connect = 100ms}, {}));
    note(client.open({.path = "/api/v1/nodes?watch=true", .connect = 100ms}, {}));
  }
  said_ += testing::internal::GetCapturedStderr();
  EXPECT_EQ(said_.find(marker_), said_.npos) << said_;
  EXPECT_EQ(said_.find("accepted"), said_.npos) << said_;
}

}  // namespace
}  // namespace nodeward::kube
