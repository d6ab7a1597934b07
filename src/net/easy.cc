#include "net/easy.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/x509_vfy.h>
#include <sys/socket.h>

#include <cstring>
#include <system_error>

#include "base/check.h"

namespace nodeward::net {
namespace {

std::string url_part(CURLU* url, CURLUPart part, unsigned flags = 0) {
  char* text = nullptr;
  if (curl_url_get(url, part, &text, flags) != CURLUE_OK) return {};
  std::string copy(text);
  curl_free(text);
  return copy;
}

std::unique_ptr<CURLU, decltype(&curl_url_cleanup)> parsed_url(const std::string& text) {
  std::unique_ptr<CURLU, decltype(&curl_url_cleanup)> url(curl_url(), &curl_url_cleanup);
  if (curl_url_set(url.get(), CURLUPART_URL, text.c_str(), CURLU_NON_SUPPORT_SCHEME) != CURLUE_OK) url.reset();
  return url;
}

std::size_t on_header(char* data, std::size_t, std::size_t size, void* transfer) {
  static_cast<Transfer*>(transfer)->on_header_line({data, size});
  return size;
}

std::size_t on_body(char* data, std::size_t, std::size_t size, void* transfer) {
  switch (static_cast<Transfer*>(transfer)->on_body({data, size})) {
    case Transfer::Taken::kAll: return size;
    case Transfer::Taken::kNothingYet: return CURL_WRITEFUNC_PAUSE;
    case Transfer::Taken::kTooMuch: break;
  }
  return 0;  // fewer bytes than given: CURLE_WRITE_ERROR
}

// What TCP itself can notice of a peer that went away without a word.
int on_socket(void* endpoint, curl_socket_t fd, curlsocktype) {
  const Liveness& liveness = static_cast<const Endpoint*>(endpoint)->liveness;
  const auto set = [fd](int level, int option, auto value) {
    const int number = static_cast<int>(value);
    setsockopt(fd, level, option, &number, sizeof number);
  };
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, liveness.idle.count());
  set(IPPROTO_TCP, TCP_KEEPINTVL, liveness.interval.count());
  set(IPPROTO_TCP, TCP_KEEPCNT, liveness.probes);
  set(IPPROTO_TCP, TCP_USER_TIMEOUT, liveness.unacknowledged.count());
  return CURL_SOCKOPT_OK;
}

long milliseconds(Duration duration) { return static_cast<long>(std::chrono::ceil<std::chrono::milliseconds>(duration).count()); }

std::string certificate_fault(long verify_result, std::string_view trusted) {
  switch (verify_result) {
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_CERT_SIGNATURE_FAILURE:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN: return fmt::format("the server's certificate is not signed by {}", trusted);
    case X509_V_ERR_CERT_HAS_EXPIRED: return "the server's certificate has expired";
    case X509_V_ERR_CERT_NOT_YET_VALID: return "the server's certificate is not valid yet";
    case X509_V_OK:
    case X509_V_ERR_UNSPECIFIED: return "the server's certificate is for another name";  // libcurl looks at names first
    default: return "the server's certificate cannot be verified";
  }
}

// A TLS alert about our certificate comes during the handshake, or (TLS 1.3) with the first read after it.
bool refuses_our_certificate(std::string_view detail) {
  return detail.find("alert") != detail.npos &&
         (detail.find("certificate") != detail.npos || detail.find("unknown ca") != detail.npos);
}

// A CA of the right name with another key, as when a cluster was made anew: the signature does not fit, and OpenSSL's first word
// comes from the arithmetic below X.509, which libcurl does not take for a failed verification.
bool is_of_a_namesake(std::string_view detail) {
  return detail.find("asn1 encoding routines") != detail.npos || detail.find("rsa routines") != detail.npos;
}

}  // namespace

Target::Target(std::shared_ptr<const Endpoint> from, int number)
    : source(std::move(from)), generation(number), endpoint(*source), base(endpoint.origin), where(endpoint.origin) {
  const auto url = parsed_url(endpoint.origin);
  if (!url) return;  // each request will say so
  const std::string host = url_part(url.get(), CURLUPART_HOST);
  const std::string port = url_part(url.get(), CURLUPART_PORT, CURLU_DEFAULT_PORT);
  tls = url_part(url.get(), CURLUPART_SCHEME) == "https";
  where = host + ":" + port;
  loopback = host == "localhost" || host == "[::1]" || host.starts_with("127.");
  if (const auto proxy = parsed_url(endpoint.proxy)) {  // without user and password
    where += fmt::format(" through the proxy {}:{}", url_part(proxy.get(), CURLUPART_HOST),
                         url_part(proxy.get(), CURLUPART_PORT));
  }
  while (base.ends_with('/')) base.pop_back();
  if (!tls || endpoint.tls_server_name.empty() || endpoint.tls_server_name == host) return;
  host_header = "Host: " + base.substr(base.find("://") + 3);
  base = fmt::format("https://{}:{}", endpoint.tls_server_name, port);
  connect_to = fmt::format("{}:{}:{}:{}", endpoint.tls_server_name, port, host, port);
}

Easy::Easy(std::shared_ptr<const Target> target, std::shared_ptr<Transfer> transfer, const bool& http2)
    : held_(std::move(target)), target_(*held_), transfer_(std::move(transfer)), http2_(http2), handle_(curl_easy_init()) {
  NW_CHECK(handle_ != nullptr, "libcurl has memory for a handle");
  const Request& request = transfer_->request();
  set(CURLOPT_PRIVATE, this);
  set(CURLOPT_ERRORBUFFER, detail_.data());
  set(CURLOPT_URL, (target_.base + request.path).c_str());
  set(CURLOPT_HEADERFUNCTION, &on_header);
  set(CURLOPT_HEADERDATA, transfer_.get());
  set(CURLOPT_WRITEFUNCTION, &on_body);
  set(CURLOPT_WRITEDATA, transfer_.get());
  set(CURLOPT_OPENSOCKETFUNCTION, &Easy::before_connecting);
  set(CURLOPT_OPENSOCKETDATA, this);
  set(CURLOPT_PREREQFUNCTION, &Easy::before_sending);
  set(CURLOPT_PREREQDATA, this);
  set_method(request);
  set_headers(request);
  set_up_connection();
}

void Easy::set_up_connection() {
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_PROTOCOLS_STR, "http,https");
  set(CURLOPT_PATH_AS_IS, 1L);
  set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
  set(CURLOPT_CONNECTTIMEOUT_MS, milliseconds(transfer_->request().connect));
  set(CURLOPT_SOCKOPTFUNCTION, &on_socket);
  set(CURLOPT_SOCKOPTDATA, const_cast<Endpoint*>(&target_.endpoint));
  if (target_.endpoint.gzip && !target_.loopback) set(CURLOPT_ACCEPT_ENCODING, "gzip");
  set(CURLOPT_PROXY, target_.endpoint.proxy.c_str());
  set(CURLOPT_NOPROXY, "");  // who made the endpoint has asked the environment
  if (target_.tls) {
    set_up_tls();
  } else {
    set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  }
}

void Easy::set_up_tls() {
  const auto blob = [this](CURLoption option, const std::string& pem) {
    if (pem.empty()) return;
    curl_blob view{const_cast<char*>(pem.data()), pem.size(), CURL_BLOB_NOCOPY};
    set(option, &view);
  };
  set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_2TLS));
  set(CURLOPT_PIPEWAIT, 1L);  // requests share a connection, also while it is being made
  if (!target_.endpoint.ca_pem.empty()) {
    set(CURLOPT_CAPATH, static_cast<char*>(nullptr));  // else the system's folder would be trusted besides
    blob(CURLOPT_CAINFO_BLOB, target_.endpoint.ca_pem);
    blob(CURLOPT_PROXY_CAINFO_BLOB, target_.endpoint.ca_pem);  // besides the system's folder
  }
  blob(CURLOPT_SSLCERT_BLOB, target_.endpoint.client_cert_pem);
  blob(CURLOPT_SSLKEY_BLOB, target_.endpoint.client_key_pem);
  if (target_.endpoint.insecure) {
    set(CURLOPT_SSL_VERIFYPEER, 0L);
    set(CURLOPT_SSL_VERIFYHOST, 0L);
  }
  if (!target_.connect_to.empty()) {
    connect_to_.reset(curl_slist_append(nullptr, target_.connect_to.c_str()));
    set(CURLOPT_CONNECT_TO, connect_to_.get());
  }
}

void Easy::set_method(const Request& request) {
  const bool has_body = !request.body.empty() || request.method == "POST" || request.method == "PUT" || request.method == "PATCH";
  if (request.method == "HEAD") set(CURLOPT_NOBODY, 1L);
  if (has_body) {
    set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
    set(CURLOPT_POSTFIELDS, request.body.c_str());    // referred to, not copied
  }
  set(CURLOPT_CUSTOMREQUEST, request.method.c_str());
}

void Easy::set_headers(const Request& request) {
  curl_slist* list = curl_slist_append(nullptr, "Expect:");
  bool has_type = false;
  for (const Header& header : request.headers) {
    has_type = has_type || curl_strequal(header.name.c_str(), "content-type");
    const std::string line = header.value.empty() ? header.name + ';' : header.name + ": " + header.value;
    list = curl_slist_append(list, line.c_str());
  }
  if (!has_type) list = curl_slist_append(list, "Content-Type:");  // libcurl would call every body a form
  if (!target_.host_header.empty()) list = curl_slist_append(list, target_.host_header.c_str());
  set(CURLOPT_HTTPHEADER, list);
  headers_.reset(list);
}

// libcurl sends a request again when a kept connection broke before any byte of the answer (then it has said what happened), and
// when the server refused to look at it (RST_STREAM with REFUSED_STREAM, or a GOAWAY that names an earlier stream; then it has
// said nothing). After the former a write may have been done, so it is held back here, before there is a connection for it or, at
// the latest, before it is sent on another one. HTTP/1.1 knows no refusal.
bool Easy::holds_back() {
  if (sent_ == 0 || transfer_->request().method == "GET") return false;
  if (!held_back_) refused_ = http2_ && detail_[0] == '\0';
  return held_back_ = true;
}

curl_socket_t Easy::before_connecting(void* user, curlsocktype, curl_sockaddr* address) {
  if (static_cast<Easy*>(user)->holds_back()) return CURL_SOCKET_BAD;
  return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

int Easy::before_sending(void* user, char*, char*, int, int) {
  Easy& easy = *static_cast<Easy*>(user);
  if (easy.holds_back()) return CURL_PREREQFUNC_ABORT;
  ++easy.sent_;
  return CURL_PREREQFUNC_OK;
}

// A GOAWAY that leaves no other stream open comes as CURLE_HTTP2, with nothing said.
bool Easy::refused(CURLcode code) const {
  return refused_ || (code == CURLE_HTTP2 && !transfer_->has_head() && detail_[0] == '\0');
}

std::optional<bool> Easy::answered_over_http2() const {
  long version = CURL_HTTP_VERSION_NONE;
  curl_easy_getinfo(handle_.get(), CURLINFO_HTTP_VERSION, &version);
  if (version == CURL_HTTP_VERSION_NONE) return std::nullopt;
  return version >= CURL_HTTP_VERSION_2_0;
}

bool Easy::used_a_new_connection() const {
  long made = 0;
  curl_easy_getinfo(handle_.get(), CURLINFO_NUM_CONNECTS, &made);
  return made > 0;
}

void Easy::finish(CURLcode code) { transfer_->finish(code == CURLE_OK ? std::nullopt : std::optional(error(code))); }

Error Easy::error(CURLcode code) const {
  const std::string why = reason(code);
  const ErrorCode failed = sent_ == 0 || refused(code) ? ErrorCode::kUnreachable : ErrorCode::kUnavailable;
  const auto tls = [&](std::string_view what) {
    return Error{ErrorCode::kInvalid, fmt::format("{}: TLS: {} ({})", target_.where, what, why)};
  };
  if (held_back_) return Error{failed, fmt::format("{}: the connection broke before the answer came", target_.where)};
  if (sent_ == 0 && (code == CURLE_URL_MALFORMAT || code == CURLE_UNSUPPORTED_PROTOCOL))
    return Error{ErrorCode::kInvalid, "the endpoint's origin is none like https://host:port"};
  switch (code) {
    case CURLE_PEER_FAILED_VERIFICATION: {
      long verify_result = X509_V_OK;
      curl_easy_getinfo(handle_.get(), CURLINFO_SSL_VERIFYRESULT, &verify_result);
      return tls(
          certificate_fault(verify_result, target_.endpoint.ca_pem.empty() ? "a CA that this system trusts" : "the CA given"));
    }
    case CURLE_SSL_CACERT_BADFILE: return tls("the CA given is no PEM certificate");
    case CURLE_SSL_CERTPROBLEM: return tls("the client certificate or its key cannot be used");
    case CURLE_WRITE_ERROR:
      return Error{ErrorCode::kUnavailable,
                   fmt::format("{}: the answer is larger than {} MiB", target_.where, Transfer::kMostWhole >> 20)};
    case CURLE_OPERATION_TIMEDOUT:
      return Error{failed, fmt::format("{}: no connection within {} s", target_.where,
                                       std::chrono::duration<double>(transfer_->request().connect).count())};
    default:
      if (target_.tls && code == CURLE_SSL_CONNECT_ERROR && is_of_a_namesake(detail_.data())) {
        return tls("the server's certificate is not signed by the CA given, but by another of the same name");
      }
      if (target_.tls && refuses_our_certificate(detail_.data())) return tls("the server does not accept our certificate");
      return Error{failed, fmt::format("{}: {}", target_.where, why)};
  }
}

std::string Easy::reason(CURLcode code) const {
  long os_errno = 0;
  curl_easy_getinfo(handle_.get(), CURLINFO_OS_ERRNO, &os_errno);
  if (code == CURLE_COULDNT_CONNECT && os_errno != 0) return std::system_category().message(static_cast<int>(os_errno));
  const bool shows_proxy = !target_.endpoint.proxy.empty() &&
                           std::strstr(detail_.data(), target_.endpoint.proxy.c_str()) != nullptr;
  return detail_[0] != '\0' && !shows_proxy ? detail_.data() : curl_easy_strerror(code);
}

}  // namespace nodeward::net
