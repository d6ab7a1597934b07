#include "kube/config/endpoint_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "kube/config/temp_folder.h"
#include "net/test_certificates.h"

namespace nodeward::kube {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

std::string certificate(const std::string& comment) {
  return "# " + comment + "\n" + read_file(std::string(NW_SOURCE_DIR) + "/tests/data/kubeconfigs/certs/ca.crt").value();
}

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

class ClientCertificateInFiles : public EndpointInFiles {
 protected:
  ClientCertificateInFiles() {
    write_certificate(one_);
    write_key(one_);
    config_.client_cert_file = folder_.path() / "cert.pem";
    config_.client_key_file = folder_.path() / "key.pem";
    config_.endpoint.client_cert_pem = one_.certificate_pem();
    config_.endpoint.client_key_pem = one_.key_pem();
  }
  // Each file is newer than the one before, however fast the test is.
  void write(const std::string& name, const std::string& text) {
    std::filesystem::last_write_time(folder_.write(name, text), start_ + ++writes_ * 1s);
  }
  void write_certificate(const net::TestCertificate& of) { write("cert.pem", of.certificate_pem()); }
  void write_key(const net::TestCertificate& of) { write("key.pem", of.key_pem()); }
  static void expect_pair(const net::Endpoint& endpoint, const net::TestCertificate& of) {
    EXPECT_EQ(endpoint.client_cert_pem, of.certificate_pem());
    EXPECT_EQ(endpoint.client_key_pem, of.key_pem());
  }

  const std::filesystem::file_time_type start_ = std::filesystem::file_time_type::clock::now();
  int writes_ = 0;
  const net::TestCertificate one_ = net::make_certificate("one"), two_ = net::make_certificate("two");
};

TEST_F(ClientCertificateInFiles, IsTakenWithItsKey) {
  EndpointFiles files(config_);
  write_certificate(two_);
  write_key(two_);
  expect_pair(*files.endpoint(), two_);
}

TEST_F(ClientCertificateInFiles, R31HalfARenewedPairIsNotTakenAndWarnedOfOnce) {
  for (const bool key_first : {false, true}) {
    write_certificate(one_);
    write_key(one_);
    EndpointFiles files(config_);
    const auto first = files.endpoint();
    testing::internal::CaptureStderr();
    key_first ? write_key(two_) : write_certificate(two_);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(files.endpoint(), first);
    const std::string log = testing::internal::GetCapturedStderr();
    EXPECT_THAT(log, AllOf(HasSubstr("what it said before stays in use"), HasSubstr("client certificate and key"),
                           HasSubstr("are no pair: the private key is of another certificate"), Not(HasSubstr("BEGIN"))));
    EXPECT_EQ(std::count(log.begin(), log.end(), '\n'), 1) << log;

    key_first ? write_certificate(two_) : write_key(two_);
    expect_pair(*files.endpoint(), two_);
  }
}

TEST_F(ClientCertificateInFiles, APairThatIsPutBackIsWhatItWas) {
  EndpointFiles files(config_);
  const auto first = files.endpoint();
  testing::internal::CaptureStderr();
  for (int i = 0; i < 2; ++i) {
    write_certificate(two_);
    EXPECT_EQ(files.endpoint(), first);
    write_certificate(one_);
    EXPECT_EQ(files.endpoint(), first);
  }
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_EQ(std::count(log.begin(), log.end(), '\n'), 2) << log;  // once each time
}

TEST_F(ClientCertificateInFiles, ANewCaIsTakenWhileTheyAreNoPair) {
  EndpointFiles files(config_);
  testing::internal::CaptureStderr();
  write_key(two_);
  lead_to("two");
  const auto next = files.endpoint();
  testing::internal::GetCapturedStderr();
  EXPECT_EQ(next->ca_pem, certificate("two"));
  EXPECT_EQ(next->client_key_pem, one_.key_pem());
}

TEST_F(ClientCertificateInFiles, AFileFitsWhatCameAsData) {
  config_.client_cert_file.clear();
  EndpointFiles files(config_);
  const auto first = files.endpoint();
  testing::internal::CaptureStderr();
  write_key(two_);
  EXPECT_EQ(files.endpoint(), first);
  testing::internal::GetCapturedStderr();
}

}  // namespace
}  // namespace nodeward::kube
