#include "sim/wire/tls.h"

#include <openssl/err.h>
#include <openssl/pem.h>

#include <algorithm>
#include <array>

namespace nodeward::sim::wire {
namespace {

using namespace std::string_view_literals;

constexpr std::string_view kProtocols = "\x02h2\x08http/1.1"sv;

int choose_protocol(SSL*, const unsigned char** chosen, unsigned char* size, const unsigned char* offered, unsigned int count,
                    void*) {
  unsigned char* found = nullptr;
  const int outcome = SSL_select_next_proto(&found, size, reinterpret_cast<const unsigned char*>(kProtocols.data()),
                                            static_cast<unsigned int>(kProtocols.size()), offered, count);
  *chosen = found;
  return outcome == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_NOACK;
}

using Bio = std::unique_ptr<BIO, decltype(&BIO_free)>;

Bio text_bio(const std::string& text) { return {BIO_new_mem_buf(text.data(), static_cast<int>(text.size())), &BIO_free}; }

// An encrypted key must not make the library ask for a password on the terminal.
int no_password(char*, int, int, void*) { return -1; }

// The first certificate is the server's own, those after it lead to the CA.
bool use_certificates(SSL_CTX& context, const std::string& pem) {
  const Bio in = text_bio(pem);
  bool any = false;
  while (X509* const certificate = PEM_read_bio_X509(in.get(), nullptr, &no_password, nullptr)) {
    const bool taken = any ? SSL_CTX_add1_chain_cert(&context, certificate) == 1
                           : SSL_CTX_use_certificate(&context, certificate) == 1;
    X509_free(certificate);
    if (!taken) return false;
    any = true;
  }
  return any;
}

bool use_key(SSL_CTX& context, const std::string& pem) {
  const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(
      PEM_read_bio_PrivateKey(text_bio(pem).get(), nullptr, &no_password, nullptr), &EVP_PKEY_free);
  return key != nullptr && SSL_CTX_use_PrivateKey(&context, key.get()) == 1 && SSL_CTX_check_private_key(&context) == 1;
}

}  // namespace

Result<TlsContext> make_tls_context(const Tls& tls) {
  TlsContext context(SSL_CTX_new(TLS_server_method()));
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  SSL_CTX_set_options(context.get(), SSL_OP_NO_RENEGOTIATION);
  SSL_CTX_set_alpn_select_cb(context.get(), &choose_protocol, nullptr);
  const bool certificate = use_certificates(*context, tls.certificate_pem);
  const bool key = certificate && use_key(*context, tls.key_pem);
  ERR_clear_error();
  if (!certificate) return fail(ErrorCode::kInvalid, "TLS: the certificate is not one in PEM form");
  if (!key) return fail(ErrorCode::kInvalid, "TLS: the key is not the certificate's, or not one in PEM form without a password");
  return context;
}

TlsSession::TlsSession(SSL_CTX& context) : ssl_(SSL_new(&context)), in_(BIO_new(BIO_s_mem())), out_(BIO_new(BIO_s_mem())) {
  SSL_set_bio(ssl_.get(), in_, out_);
  SSL_set_accept_state(ssl_.get());
}

bool TlsSession::receive(std::string_view bytes, std::string& clear, std::string& out) {
  BIO_write(in_, bytes.data(), static_cast<int>(bytes.size()));
  std::array<char, 16384> record;  // the most that one holds
  int count = 0;
  while ((count = SSL_read(ssl_.get(), record.data(), record.size())) > 0)
    clear.append(record.data(), static_cast<std::size_t>(count));
  const bool open = SSL_get_error(ssl_.get(), count) == SSL_ERROR_WANT_READ;
  ERR_clear_error();
  take_output(out);
  return open;
}

void TlsSession::seal(std::string_view clear, std::string& out) {
  while (!clear.empty()) {
    const int count = SSL_write(ssl_.get(), clear.data(), static_cast<int>(std::min<std::size_t>(clear.size(), 1U << 30)));
    if (count <= 0) break;  // ended by an alert: the socket will tell
    clear.remove_prefix(static_cast<std::size_t>(count));
  }
  ERR_clear_error();
  take_output(out);
}

void TlsSession::close(std::string& out) {
  SSL_shutdown(ssl_.get());
  ERR_clear_error();
  take_output(out);
}

bool TlsSession::http2() const {
  const unsigned char* name = nullptr;
  unsigned int size = 0;
  SSL_get0_alpn_selected(ssl_.get(), &name, &size);
  return std::string_view(reinterpret_cast<const char*>(name), size) == "h2";
}

void TlsSession::take_output(std::string& out) {
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(out_, &bytes);
  if (size <= 0) return;
  out.append(bytes, static_cast<std::size_t>(size));
  BIO_reset(out_);
}

}  // namespace nodeward::sim::wire
