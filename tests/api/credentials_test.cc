// Credentials that change while a controller runs, against the real API server.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "api/labeler_process.h"
#include "api/real_cluster.h"

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

TEST_F(CredentialsApi, ImpersonationIsWhatTheServerSees) {
  write_ca();
  LabelerProcess labeler(folder(),
                         {"--kubeconfig", kubeconfig("ca.crt", fmt::format("{{token: {}, as: jane}}", cluster().token()))});
  await_trouble(labeler, "User \\\"jane\\\" cannot watch");  // a streaming list
  labeler.stop();
}

}  // namespace
}  // namespace nodeward::api
