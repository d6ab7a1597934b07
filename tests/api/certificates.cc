#include "api/certificates.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

#include <array>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

namespace nodeward::api {
namespace {

template <auto Free>
struct FreeWith {
  template <class T>
  void operator()(T* object) const {
    Free(object);
  }
};
using Key = std::unique_ptr<EVP_PKEY, FreeWith<EVP_PKEY_free>>;
using Cert = std::unique_ptr<X509, FreeWith<X509_free>>;
using Memory = std::unique_ptr<BIO, FreeWith<BIO_free_all>>;
using Extension = std::unique_ptr<X509_EXTENSION, FreeWith<X509_EXTENSION_free>>;

void require(bool done, const char* what) {
  if (!done) throw std::runtime_error(std::string("test certificates: OpenSSL could not ") + what);
}

Key new_key() {
  Key key(EVP_EC_gen("P-256"));
  require(key != nullptr, "make a key");
  return key;
}

std::string text_of(const Memory& memory) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(memory.get(), &data);
  return {data, static_cast<std::size_t>(size)};
}

std::string pem(const Key& key) {
  const Memory out(BIO_new(BIO_s_mem()));
  require(PEM_write_bio_PKCS8PrivateKey(out.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr) == 1, "write a key");
  return text_of(out);
}

// The only form in which kube-apiserver finds the public half of an EC key.
std::string traditional_pem(const Key& key) {
  const Memory out(BIO_new(BIO_s_mem()));
  require(PEM_write_bio_PrivateKey_traditional(out.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr) == 1, "write a key");
  return text_of(out);
}

std::string pem(const Cert& cert) {
  const Memory out(BIO_new(BIO_s_mem()));
  require(PEM_write_bio_X509(out.get(), cert.get()) == 1, "write a certificate");
  return text_of(out);
}

struct Subject {
  const char* common_name;
  const char* organization = nullptr;
};
using Extensions = std::vector<std::pair<int, const char*>>;

void set_serial(X509* cert) {
  std::uint64_t serial = 0;
  require(RAND_bytes(reinterpret_cast<unsigned char*>(&serial), sizeof serial) == 1, "draw a serial number");
  ASN1_INTEGER_set_uint64(X509_get_serialNumber(cert), serial >> 1);
}

void set_subject(X509* cert, const Subject& subject) {
  X509_NAME* name = X509_get_subject_name(cert);
  const auto add = [&](const char* field, const char* value) {
    const auto* bytes = reinterpret_cast<const unsigned char*>(value);
    require(X509_NAME_add_entry_by_txt(name, field, MBSTRING_UTF8, bytes, -1, -1, 0) == 1, "name a certificate");
  };
  if (subject.organization != nullptr) add("O", subject.organization);
  add("CN", subject.common_name);
}

// `issuer` null: signed by its own key.
Cert sign(const Key& key, const Subject& subject, const Extensions& extensions, X509* issuer, const Key& issuer_key) {
  Cert cert(X509_new());
  X509_set_version(cert.get(), X509_VERSION_3);
  set_serial(cert.get());
  X509_gmtime_adj(X509_getm_notBefore(cert.get()), -60L * 60);  // an hour back: clocks differ
  X509_gmtime_adj(X509_getm_notAfter(cert.get()), 24L * 60 * 60);
  X509_set_pubkey(cert.get(), key.get());
  set_subject(cert.get(), subject);
  if (issuer == nullptr) issuer = cert.get();
  X509_set_issuer_name(cert.get(), X509_get_subject_name(issuer));
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, cert.get(), nullptr, nullptr, 0);
  for (const auto& [id, value] : extensions) {
    const Extension extension(X509V3_EXT_conf_nid(nullptr, &context, id, value));
    require(extension && X509_add_ext(cert.get(), extension.get(), -1) == 1, "add a certificate extension");
  }
  require(X509_sign(cert.get(), issuer_key.get(), EVP_sha256()) > 0, "sign a certificate");
  return cert;
}

}  // namespace

Certificates make_certificates() {
  const Key ca_key = new_key();
  const Key server_key = new_key();
  const Key client_key = new_key();
  const Cert ca = sign(ca_key, {.common_name = "nodeward-test-ca"},
                       {{NID_basic_constraints, "critical,CA:TRUE"}, {NID_key_usage, "critical,keyCertSign,cRLSign"}}, nullptr,
                       ca_key);
  const Cert server = sign(server_key, {.common_name = "kube-apiserver"},
                           {{NID_key_usage, "critical,digitalSignature"},
                            {NID_ext_key_usage, "serverAuth"},
                            {NID_subject_alt_name, "IP:127.0.0.1,DNS:localhost"}},
                           ca.get(), ca_key);
  const Cert client = sign(client_key, {.common_name = "admin", .organization = "system:masters"},
                           {{NID_key_usage, "critical,digitalSignature"}, {NID_ext_key_usage, "clientAuth"}}, ca.get(), ca_key);
  return {.ca_cert = pem(ca),
          .server_cert = pem(server),
          .server_key = pem(server_key),
          .client_cert = pem(client),
          .client_key = pem(client_key),
          .service_account_key = traditional_pem(new_key())};
}

}  // namespace nodeward::api
