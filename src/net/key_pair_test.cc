#include "net/key_pair.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/err.h>

#include "net/test_certificates.h"

namespace nodeward::net {
namespace {

std::string verdict(const std::string& certificate, const std::string& key) {
  const auto good = check_key_pair(certificate, key);
  EXPECT_EQ(ERR_peek_error(), 0u) << "TLS on this thread would take it for its own";
  return good ? "a pair" : good.error().message;
}

TEST(KeyPair, IsACertificateAndTheKeyItWasMadeFor) {
  const TestCertificate one = make_certificate("one"), two = make_certificate("two");
  EXPECT_EQ(verdict(one.certificate_pem(), one.key_pem()), "a pair");
  EXPECT_EQ(verdict("# mine\n" + one.certificate_pem() + two.certificate_pem(), "# mine\n" + one.key_pem()), "a pair");
  EXPECT_EQ(verdict(one.certificate_pem(), two.key_pem()), "are no pair: the private key is of another certificate");
  EXPECT_EQ(verdict(two.certificate_pem() + one.certificate_pem(), one.key_pem()),
            "are no pair: the private key is of another certificate");
}

TEST(KeyPair, IsNothingThatCannotBeRead) {
  const TestCertificate one = make_certificate("one");
  EXPECT_EQ(verdict("", one.key_pem()), "are no pair: the certificate cannot be read");
  EXPECT_EQ(verdict(one.certificate_pem(), ""), "are no pair: the private key cannot be read");
  EXPECT_EQ(verdict(one.certificate_pem(), "-----BEGIN EC PRIVATE KEY-----\nTUs=\n-----END EC PRIVATE KEY-----\n"),
            "are no pair: the private key cannot be read");
}

TEST(KeyPair, NobodyIsAskedForAPassphrase) {
  const TestCertificate one = make_certificate("one");
  const std::unique_ptr<BIO, decltype(&BIO_free)> out(BIO_new(BIO_s_mem()), &BIO_free);
  const unsigned char word[] = "hunter2";
  PEM_write_bio_PrivateKey(out.get(), one.key.get(), EVP_aes_128_cbc(), word, 7, nullptr, nullptr);
  char* data = nullptr;
  const long size = BIO_get_mem_data(out.get(), &data);
  EXPECT_EQ(verdict(one.certificate_pem(), {data, static_cast<std::size_t>(size)}),
            "are no pair: the private key cannot be read");
}

}  // namespace
}  // namespace nodeward::net
