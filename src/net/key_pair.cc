#include "net/key_pair.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <memory>

namespace nodeward::net {
namespace {

using Bio = std::unique_ptr<BIO, decltype(&BIO_free)>;

Bio reader_of(std::string_view text) { return {BIO_new_mem_buf(text.data(), static_cast<int>(text.size())), &BIO_free}; }

int no_passphrase(char*, int, int, void*) { return -1; }  // else OpenSSL would ask at the terminal

}  // namespace

Result<> check_key_pair(std::string_view certificate_pem, std::string_view key_pem) {
  ERR_set_mark();  // what fails here is no news for TLS on this thread
  const std::unique_ptr<X509, decltype(&X509_free)> certificate(
      PEM_read_bio_X509_AUX(reader_of(certificate_pem).get(), nullptr, no_passphrase, nullptr), &X509_free);
  const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(
      PEM_read_bio_PrivateKey(reader_of(key_pem).get(), nullptr, no_passphrase, nullptr), &EVP_PKEY_free);
  const bool fits = certificate && key && X509_check_private_key(certificate.get(), key.get()) == 1;
  ERR_pop_to_mark();
  if (fits) return {};
  return fail(ErrorCode::kInvalid, !certificate ? "are no pair: the certificate cannot be read"
                                   : !key       ? "are no pair: the private key cannot be read"
                                                : "are no pair: the private key is of another certificate");
}

}  // namespace nodeward::net
