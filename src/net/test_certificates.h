// Certificates for tests, made on the spot: a CA, and certificates that it signs. For tests only.
#pragma once

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <memory>
#include <string>

namespace nodeward::net {

struct TestCertificate {
  std::shared_ptr<X509> certificate;
  std::shared_ptr<EVP_PKEY> key;

  std::string certificate_pem() const {
    return pem([this](BIO* out) { PEM_write_bio_X509(out, certificate.get()); });
  }
  std::string key_pem() const {
    return pem([this](BIO* out) { PEM_write_bio_PrivateKey(out, key.get(), nullptr, nullptr, 0, nullptr, nullptr); });
  }

 private:
  template <class Write>
  static std::string pem(Write write) {
    const std::unique_ptr<BIO, decltype(&BIO_free)> out(BIO_new(BIO_s_mem()), &BIO_free);
    write(out.get());
    char* data = nullptr;
    const long size = BIO_get_mem_data(out.get(), &data);
    return {data, static_cast<std::size_t>(size)};
  }
};

// `names` as in openssl.cnf: "DNS:api.test,IP:127.0.0.1". Without an issuer: a CA that signs itself.
inline TestCertificate make_certificate(const std::string& common_name, const std::string& names = {},
                                        const TestCertificate* issuer = nullptr, long lifetime_s = 3600) {
  static long serial = 0;
  TestCertificate made{{X509_new(), &X509_free}, {EVP_EC_gen("P-256"), &EVP_PKEY_free}};
  X509* const x509 = made.certificate.get();
  const TestCertificate& signer = issuer != nullptr ? *issuer : made;
  X509_set_version(x509, X509_VERSION_3);
  ASN1_INTEGER_set(X509_get_serialNumber(x509), ++serial);
  X509_gmtime_adj(X509_getm_notBefore(x509), -7200);
  X509_gmtime_adj(X509_getm_notAfter(x509), lifetime_s);
  X509_NAME_add_entry_by_txt(X509_get_subject_name(x509), "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>(common_name.c_str()), -1, -1, 0);
  X509_set_issuer_name(x509, X509_get_subject_name(signer.certificate.get()));
  X509_set_pubkey(x509, made.key.get());
  const auto extend = [&](int nid, const char* value) {
    X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, nullptr, nid, value);
    X509_add_ext(x509, extension, -1);
    X509_EXTENSION_free(extension);
  };
  if (issuer == nullptr) extend(NID_basic_constraints, "critical,CA:TRUE");
  if (!names.empty()) extend(NID_subject_alt_name, names.c_str());
  X509_sign(x509, signer.key.get(), EVP_sha256());
  return made;
}

}  // namespace nodeward::net
