#include "kube/config/endpoint_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "kube/config/temp_folder.h"

namespace nodeward::kube {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

std::string certificate(const std::string& comment) {
  return "# " + comment + "\n" + read_file(std::string(NW_SOURCE_DIR) + "/tests/data/kubeconfigs/certs/ca.crt").value();
}

constexpr char kKey[] = "-----BEGIN EC PRIVATE KEY-----\nTUs=\n-----END EC PRIVATE KEY-----\n";

class EndpointInFiles : public testing::Test {
 protected:
  EndpointInFiles() {
    // As a projected volume is: ca.crt -> data/ca.crt, data -> one; the swap of `data` is the change.
    std::filesystem::create_directory(folder_.path() / "one");
    std::filesystem::create_directory(folder_.path() / "two");
    folder_.write("one/ca.crt", certificate("one"));
    folder_.write("two/ca.crt", certificate("two"));
    lead_to("one");
    std::filesystem::create_symlink("data/ca.crt", folder_.path() / "ca.crt");
    config_ = {.endpoint = {.origin = "https://a", .ca_pem = certificate("one")},
               .ca_file = folder_.path() / "ca.crt",
               .source = "a test"};
  }
  void lead_to(const std::string& target) {
    std::filesystem::create_directory_symlink(target, folder_.path() / "next");
    std::filesystem::rename(folder_.path() / "next", folder_.path() / "data");
  }

  TempFolder folder_;
  ClusterConfig config_;
};

TEST_F(EndpointInFiles, IsTheSameWhileTheFilesAre) {
  EndpointFiles files(config_);
  const auto first = files.endpoint();
  EXPECT_EQ(first->origin, "https://a");
  EXPECT_EQ(files.endpoint(), first);
  folder_.write("one/ca.crt", certificate("one"));  // written again, nothing new
  EXPECT_EQ(files.endpoint(), first);
}

TEST_F(EndpointInFiles, FollowsASwapOfTheFolder) {
  EndpointFiles files(config_);
  const auto first = files.endpoint();
  lead_to("two");
  const auto second = files.endpoint();
  EXPECT_EQ(second->ca_pem, certificate("two"));
  EXPECT_EQ(first->ca_pem, certificate("one"));
  EXPECT_EQ(files.endpoint(), second);
}

TEST_F(EndpointInFiles, KeepsWhatItHasWhileAFileIsGoneOrBrokenAndWarnsOnce) {
  EndpointFiles files(config_);
  const auto first = files.endpoint();
  testing::internal::CaptureStderr();
  std::filesystem::remove(folder_.path() / "data");
  for (int i = 0; i < 3; ++i) EXPECT_EQ(files.endpoint(), first);
  lead_to("two");
  for (const char* broken : {"", "SECRET", "-----BEGIN CERTIFICATE-----\nTUs=\n"}) {
    folder_.write("two/ca.crt", broken);
    EXPECT_EQ(files.endpoint(), first);
  }
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_THAT(log, AllOf(HasSubstr("what it said before stays in use"), HasSubstr("a test"), Not(HasSubstr("SECRET"))));
  EXPECT_EQ(std::count(log.begin(), log.end(), '\n'), 1) << log;

  folder_.write("two/ca.crt", certificate("two"));
  EXPECT_EQ(files.endpoint()->ca_pem, certificate("two"));
}

TEST_F(EndpointInFiles, TakesANewClientCertificateAndKey) {
  config_.client_cert_file = folder_.write("cert.pem", certificate("mine"));
  config_.client_key_file = folder_.write("key.pem", kKey);
  config_.endpoint.client_cert_pem = certificate("mine");
  config_.endpoint.client_key_pem = kKey;
  EndpointFiles files(config_);
  folder_.write("cert.pem", certificate("mine, renewed"));
  folder_.write("key.pem", std::string("# new\n") + kKey);
  EXPECT_EQ(files.endpoint()->client_cert_pem, certificate("mine, renewed"));
  EXPECT_EQ(files.endpoint()->client_key_pem, std::string("# new\n") + kKey);
}

}  // namespace
}  // namespace nodeward::kube
