#include "sim/certificate.h"

#include <fmt/format.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

#include <memory>

namespace nodeward::sim {
namespace {

template <class T, auto kFree>
struct Freed {
  void operator()(T* value) const { kFree(value); }
};
using Certificate = std::unique_ptr<X509, Freed<X509, X509_free>>;
using Key = std::unique_ptr<EVP_PKEY, Freed<EVP_PKEY, EVP_PKEY_free>>;
using Memory = std::unique_ptr<BIO, Freed<BIO, BIO_free_all>>;

constexpr long kLifetime = 365L * 24 * 3600;      // seconds
constexpr long kClockSkew = 3600;

template <class Write>
std::string pem(Write write) {
  const Memory out(BIO_new(BIO_s_mem()));
  if (write(out.get()) != 1) return "";
  char* data = nullptr;
  const long size = BIO_get_mem_data(out.get(), &data);
  return {data, static_cast<std::size_t>(size)};
}

bool extend(X509* certificate, int nid, const std::string& value) {
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, nullptr, nid, value.c_str());
  if (extension == nullptr) return false;
  const bool added = X509_add_ext(certificate, extension, -1) == 1;
  X509_EXTENSION_free(extension);
  return added;
}

bool fill(X509* certificate, EVP_PKEY* key, const std::string& address) {
  std::int64_t serial = 0;
  RAND_bytes(reinterpret_cast<unsigned char*>(&serial), sizeof serial);
  X509_NAME* const name = X509_get_subject_name(certificate);
  const auto* const common_name = reinterpret_cast<const unsigned char*>("nodeward-sim");
  return X509_set_version(certificate, X509_VERSION_3) == 1 &&
         ASN1_INTEGER_set_uint64(X509_get_serialNumber(certificate), static_cast<std::uint64_t>(serial) >> 1) == 1 &&
         X509_gmtime_adj(X509_getm_notBefore(certificate), -kClockSkew) != nullptr &&
         X509_gmtime_adj(X509_getm_notAfter(certificate), kLifetime) != nullptr &&
         X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, common_name, -1, -1, 0) == 1 &&
         X509_set_issuer_name(certificate, name) == 1 && X509_set_pubkey(certificate, key) == 1 &&
         extend(certificate, NID_basic_constraints, "critical,CA:TRUE") &&
         extend(certificate, NID_subject_alt_name, fmt::format("DNS:localhost,IP:127.0.0.1,IP:::1,IP:{}", address)) &&
         X509_sign(certificate, key, EVP_sha256()) > 0;
}

}  // namespace

Result<wire::Tls> make_certificate(const std::string& address) {
  const Key key(EVP_EC_gen("P-256"));
  const Certificate certificate(X509_new());
  if (key == nullptr || certificate == nullptr || !fill(certificate.get(), key.get(), address)) {
    return fail(ErrorCode::kInvalid, fmt::format("cannot make a certificate for \"{}\": an IP address is needed", address));
  }
  return wire::Tls{pem([&](BIO* out) { return PEM_write_bio_X509(out, certificate.get()); }), pem([&](BIO* out) {
                     return PEM_write_bio_PrivateKey(out, key.get(), nullptr, nullptr, 0, nullptr, nullptr);
                   })};
}

}  // namespace nodeward::sim
