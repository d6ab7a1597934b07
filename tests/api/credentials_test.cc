// Credentials that change while a controller runs, against the real API server.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "api/labeler_objects.h"
#include "api/labeler_process.h"
#include "api/real_cluster.h"
#include "base/text.h"
#include "net/test_server.h"

namespace nodeward::api {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

class CredentialsApi : public ClusterTest {
 protected:
  CredentialsApi() { fs::create_directory_symlink("nowhere", folder() / "data"); }

  fs::path folder() const { return folder_.path(); }
  fs::path write(const std::string& name, const std::string& text) const {
    fs::create_directories((folder() / name).parent_path());
    std::ofstream(folder() / name, std::ios::binary) << text;
    return folder() / name;
  }
  void lead_to(const std::string& target) const {
    fs::create_directory_symlink(target, folder() / "next");
    fs::rename(folder() / "next", folder() / "data");
  }
  // Both fields as in a kubeconfig, paths relative to the folder.
  fs::path kubeconfig(const std::string& ca, const std::string& user) {
    return write("kubeconfig", fmt::format(R"(clusters: [{{name: c, cluster: {{server: "{}", certificate-authority: {}}}}}]
contexts: [{{name: x, context: {{cluster: c, user: u}}}}]
current-context: x
users: [{{name: u, user: {}}}]
)",
                                           cluster().origin(), ca, user));
  }
  // Client certificates: only a real server looks at them.
  const Certificates& certificates() { return dynamic_cast<RealCluster&>(cluster()).certificates(); }
  fs::path write_ca() { return write("ca.crt", certificates().ca_cert); }
  void await_trouble(LabelerProcess& labeler, const std::string& what) {
    labeler.await(what, [&] {
      for (const Json& line : labeler.log_of("cannot read from the API server, trying again")) {
        if (to_text(line).find(what) != std::string::npos) return true;
      }
      return false;
    });
  }

  TempFolder folder_;
};

TEST_F(CredentialsApi, R32ATokenThatIsSwappedIsUsedAtA401) {
  write_ca();
  write("one/token", "a-token-of-yesterday\n");
  write("two/token", cluster().token() + "\n");
  lead_to("one");
  LabelerProcess labeler(folder(), {"--kubeconfig", kubeconfig("ca.crt", "{tokenFile: data/token}")});
  await_trouble(labeler, "401");
  lead_to("two");
  labeler.await_ready();
  EXPECT_EQ(labeler.stop(), 0);
  EXPECT_THAT(labeler.output(), Not(HasSubstr(cluster().token())));
  EXPECT_THAT(labeler.output(), Not(HasSubstr("yesterday")));
}

TEST_F(CredentialsApi, R32ACaThatIsSwappedIsUsedWithoutARestart) {
  write("one/ca.crt", make_certificates().ca_cert);
  write("two/ca.crt", certificates().ca_cert);
  lead_to("one");
  LabelerProcess labeler(folder(), {"--kubeconfig", kubeconfig("data/ca.crt", fmt::format("{{token: {}}}", cluster().token()))});
  await_trouble(labeler, "the server's certificate is not signed by the CA given");
  lead_to("two");
  labeler.await_ready();
  EXPECT_EQ(labeler.stop(), 0);
}

TEST_F(CredentialsApi, R31APluginsCertificateAndKubeconfigsInTwoFiles) {
  write_ca();
  const Json credential = {{"apiVersion", "client.authentication.k8s.io/v1"},
                           {"kind", "ExecCredential"},
                           {"status",
                            {{"clientCertificateData", certificates().client_cert},
                             {"clientKeyData", certificates().client_key},
                             {"expirationTimestamp", "2199-01-01T00:00:00Z"}}}};
  write("credential.json", to_text(credential));
  const fs::path script = write("plugin.sh",
                                fmt::format("#!/bin/sh\necho run >> '{0}/runs'\ncat '{0}/credential.json'\n", folder().string()));
  fs::permissions(script, fs::perms::owner_all);
  const fs::path config = kubeconfig(
      "ca.crt", "{exec: {apiVersion: client.authentication.k8s.io/v1, command: ./plugin.sh, interactiveMode: Never}}");
  const fs::path other = write("other/config", "contexts: [{name: y, context: {cluster: c, user: u}}]\ncurrent-context: none\n");
  LabelerProcess labeler(folder(), {"--context", "y"}, {fmt::format("KUBECONFIG={}:{}", other.string(), config.string())});
  labeler.await_ready();
  EXPECT_EQ(labeler.stop(), 0);
  EXPECT_EQ(fs::file_size(folder() / "runs"), 4u) << "more than one run";
}

TEST_F(CredentialsApi, R31WatchesMoveWhenTheClientCertificateIsReplaced) {
  write_ca();
  write("client.key", certificates().client_key);
  write("one/client.crt", certificates().client_cert);
  write("two/client.crt", "# renewed\n" + certificates().client_cert);
  lead_to("one");
  LabelerProcess labeler(folder(),
                         {"--kubeconfig", kubeconfig("ca.crt", "{client-certificate: data/client.crt, client-key: client.key}")});
  labeler.await_ready();
  const Counters before = admin().counters();
  const auto await_label = [&](const std::string& node) {
    admin().create_node(node_in_state(node, ""));
    labeler.await(node, [&] { return state_of(admin().node(node)) == "K=false"; });
  };
  await_label("n1");
  EXPECT_EQ(labeler.log_of("cannot read from the API server, trying again").size(), 0u);
  lead_to("two");
  await_label("n2");  // by a request that sees the new certificate
  await_trouble(labeler, "the connection is replaced");
  labeler.await("the end of both watches", [&] {
    const Counters since = admin().counters() - before;
    return since.count("WATCH", "nodes") > 0 && since.count("WATCH", "pods") > 0;
  });
  await_label("n3");
  labeler.await("both watches again", [&] { return labeler.log_of("reading from the API server again").size() == 2; });
  EXPECT_EQ(labeler.stop(), 0);
}

TEST_F(CredentialsApi, R31APluginThatIsNotInstalledEndsTheStartWithItsNameAndTheHint) {
  const fs::path file = fs::path(NW_SOURCE_DIR) / "tests/data/kubeconfigs/exec-v1-cluster-info.yaml";
  LabelerProcess labeler(folder(), {"--kubeconfig", file});
  EXPECT_EQ(labeler.wait_for_exit(), 1);
  EXPECT_THAT(labeler.output(), HasSubstr("credential-helper-not-installed"));
  EXPECT_THAT(labeler.output(), HasSubstr("was not found: install the helper from your provider"));
}

TEST_F(CredentialsApi, ImpersonationIsWhatTheServerSees) {
  write_ca();
  LabelerProcess labeler(folder(),
                         {"--kubeconfig", kubeconfig("ca.crt", fmt::format("{{token: {}, as: jane}}", cluster().token()))});
  await_trouble(labeler, "User \\\"jane\\\" cannot watch");  // a streaming list
  labeler.stop();
}

// An address of this machine that is not known for loopback.
TEST_F(CredentialsApi, GzipIsAskedForByAFlagUnlessTheKubeconfigSaysNo) {
  // {"kind":"Status","code":403,"reason":"Forbidden","message":"said in gzip"}
  const std::string gzip(
      "\037\213\010\000\000\000\000\000\002\003\253\126\312\316\314\113\121\262\122\012\056\111\054\051\055\126\322\121\112\316"
      "\117\111\125\262\062\061\060\326\121\052\112\115\054\316\317\003\112\272\345\027\045\145\246\244\244\346\001\345\163\123"
      "\213\213\023\323\201\112\224\212\023\063\123\024\062\363\024\322\253\062\013\224\152\001\217\027\121\326\112\000\000\000",
      90);
  const std::string plain = R"({"kind":"Status","code":403,"reason":"Forbidden","message":"said in plain"})";
  net::TestServer server([&](net::Connection& connection) {
    const bool asked = lowered(connection.request()).find("\r\naccept-encoding: gzip\r\n") != std::string::npos;
    const std::string& body = asked ? gzip : plain;
    connection.write(fmt::format("HTTP/1.1 403 Forbidden\r\n{}Content-Length: {}\r\n\r\n{}",
                                 asked ? "Content-Encoding: gzip\r\n" : "", body.size(), body));
  });
  const auto says = [&](const std::string& what, const std::string& more, const std::vector<std::string>& flag = {}) {
    const std::string cluster = fmt::format("{{server: 'http://0.0.0.0:{}'{}}}", server.port(), more);
    std::vector<std::string> flags = {"--kubeconfig",
                                      write("gzip", "clusters: [{name: c, cluster: " + cluster +
                                                        "}]\nusers: [{name: u}]\ncurrent-context: x\n"
                                                        "contexts: [{name: x, context: {cluster: c, user: u}}]\n")};
    flags.insert(flags.end(), flag.begin(), flag.end());
    LabelerProcess labeler(folder(), flags);
    await_trouble(labeler, what);
    EXPECT_EQ(labeler.stop(), 0);
  };
  says("said in gzip", "", {"--kube-api-gzip"});
  says("said in plain", ", disable-compression: true", {"--kube-api-gzip"});
  says("said in plain", "");
}

}  // namespace
}  // namespace nodeward::api
