#include "kube/config/in_cluster.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "base/text.h"
#include "kube/config/temp_folder.h"

namespace nodeward::kube {
namespace {

using testing::HasSubstr;

class InCluster : public testing::Test {
 protected:
  InCluster() {
    folder_.write("token", "pod-token\n");
    folder_.write("ca.crt", ca_);
  }
  Result<ClusterConfig> load() const {
    return load_in_cluster(folder_.path(), [this](const char* name) {
      const auto found = env_.find(name);
      return found == env_.end() ? nullptr : found->second.c_str();
    });
  }

  const std::string ca_ = read_file(std::string(NW_SOURCE_DIR) + "/tests/data/kubeconfigs/certs/ca.crt").value();
  std::map<std::string, std::string> env_ = {{"KUBERNETES_SERVICE_HOST", "10.0.0.1"}, {"KUBERNETES_SERVICE_PORT", "443"}};
  TempFolder folder_;
};

TEST_F(InCluster, ComesFromTheServiceAccountsFolder) {
  const auto config = load();
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->endpoint.origin, "https://10.0.0.1:443");
  EXPECT_EQ(config->endpoint.ca_pem, ca_);
  EXPECT_EQ(config->token, "pod-token");
  EXPECT_EQ(config->token_file, folder_.path() / "token");
  EXPECT_EQ(config->source, "in-cluster");
}

TEST_F(InCluster, PutsAnIpv6HostInBrackets) {
  env_["KUBERNETES_SERVICE_HOST"] = "fd00:10:96::1";
  EXPECT_EQ(load()->endpoint.origin, "https://[fd00:10:96::1]:443");
}

TEST_F(InCluster, GoesThroughTheEnvironmentsProxyUnlessNoProxyNamesTheServer) {
  env_["HTTPS_PROXY"] = "http://proxy:3128";
  EXPECT_EQ(load()->endpoint.proxy, "http://proxy:3128");
  env_["NO_PROXY"] = "10.0.0.0/16";
  EXPECT_EQ(load()->endpoint.proxy, "");
}

TEST_F(InCluster, SaysWhatToDoOutsideACluster) {
  env_.erase("KUBERNETES_SERVICE_PORT");
  const auto config = load();
  ASSERT_FALSE(config);
  EXPECT_EQ(config.error().code, ErrorCode::kNotFound);
  EXPECT_THAT(config.error().message, HasSubstr("give a kubeconfig file"));
}

TEST_F(InCluster, RefusesFilesThatAreMissingOrWrongAndNamesThem) {
  folder_.write("token", " \n");
  EXPECT_THAT(load().error().message, HasSubstr("token: is empty"));
  std::filesystem::remove(folder_.path() / "token");
  EXPECT_THAT(load().error().message, HasSubstr("token: cannot be read: No such file"));
  folder_.write("ca.crt", "hello");
  EXPECT_THAT(load().error().message, HasSubstr("ca.crt: holds no certificate"));
  std::filesystem::remove(folder_.path() / "ca.crt");
  EXPECT_THAT(load().error().message, HasSubstr("ca.crt: cannot be read: No such file"));
  env_["KUBERNETES_SERVICE_PORT"] = "tcp://10.0.0.1:443";
  EXPECT_THAT(load().error().message, HasSubstr("KUBERNETES_SERVICE_HOST with _PORT: has no valid port"));
}

}  // namespace
}  // namespace nodeward::kube
