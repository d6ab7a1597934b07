#include "kube/config/pem.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace nodeward::kube {
namespace {

std::string certificate() { return read_file(std::string(NW_SOURCE_DIR) + "/tests/data/kubeconfigs/certs/ca.crt").value(); }

TEST(Pem, TakesCertificatesWithTextAroundThem) {
  EXPECT_TRUE(check_certificates(certificate()));
  EXPECT_TRUE(check_certificates("# ours\n" + certificate() + "between\n" + certificate() + "after"));
}

TEST(Pem, RefusesWhatHasNoCertificateOrABrokenOne) {
  const std::string good = certificate();
  EXPECT_FALSE(check_certificates(""));
  EXPECT_FALSE(check_certificates("hello"));
  EXPECT_FALSE(check_certificates(good.substr(0, good.size() / 2)));                                       // cut off
  EXPECT_FALSE(check_certificates("-----BEGIN CERTIFICATE-----\naGVsbG8=\n-----END CERTIFICATE-----\n"));  // no DER
  std::string shorter = good;
  shorter.erase(shorter.find('\n') + 1, 4);  // three bytes less than its header says
  EXPECT_FALSE(check_certificates(shorter));
  EXPECT_EQ(check_certificates(good + shorter).error().message, "certificate 2 in it is broken or cut off");
}

TEST(Pem, RefusesKeysThatNeedAPassphrase) {
  EXPECT_TRUE(check_private_key("-----BEGIN EC PRIVATE KEY-----\n"));
  EXPECT_FALSE(check_private_key("-----BEGIN ENCRYPTED PRIVATE KEY-----\n"));
  EXPECT_FALSE(check_private_key("-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n"));
  EXPECT_FALSE(check_private_key(certificate()));
}

}  // namespace
}  // namespace nodeward::kube
