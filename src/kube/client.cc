#include "kube/client.h"

#include <fmt/format.h>

#include "kube/answers.h"

namespace nodeward::kube {
namespace {

bool is_write(const net::Request& request) { return request.method != "GET"; }

// An error page is read no further than this: it only feeds a message.
constexpr std::size_t kMaxErrorBody = 64 * 1024;

std::string rest_of(net::Stream& stream, const std::stop_token& stop) {
  std::string body;
  while (body.size() < kMaxErrorBody) {
    const auto chunk = stream.read(5s, stop);
    if (!chunk || !*chunk) break;
    body += **chunk;
  }
  return body;
}

// A server, or a proxy on the way, may show what it was sent.
std::string without_token(std::string text, const Authorization& who) {
  const std::string token = who.header.substr(who.header.find(' ') + 1);
  if (token.empty()) return text;
  for (auto at = text.find(token); at != text.npos; at = text.find(token, at)) text.replace(at, token.size(), "***");
  return text;
}

// No HTTP answer. kInvalid is what a server says; here it is a certificate that is not the one promised, so nothing was sent.
Error unanswered(const net::Request& request, Error error) {
  if (error.code == ErrorCode::kInvalid) error.code = ErrorCode::kUnreachable;
  return in_context(fmt::format("{} {}", request.method, request.path), std::move(error));
}

}  // namespace

Client::Client(net::Transport& transport, ClientOptions options, Clock& clock)
    : transport_(transport), options_(std::move(options)), clock_(clock) {}

Result<net::Response> Client::send(net::Request request, const std::stop_token& stop, const std::function<bool()>& may_send) {
  for (bool again : {true, false}) {
    NW_TRY_ASSIGN(const Authorization who, authorization(request, stop));
    const net::Request ready = prepared(request, who.header);
    if (may_send && !may_send()) return fail(ErrorCode::kFenced, fmt::format("{} {}: not sent", request.method, request.path));
    auto response = transport_.send(ready, stop);
    count(ready, response ? response->status : 0);
    if (!response) return tl::unexpected(unanswered(request, response.error()));
    if (response->status / 100 == 2) return response;
    if (response->status == 401 && again && options_.reload_credentials(who, stop)) continue;
    return tl::unexpected(refused(request, who, response->status, response->header("retry-after"), response->body));
  }
  return fail(ErrorCode::kUnauthorized, "401");   // not reached: the second round returns
}

Result<std::unique_ptr<net::Stream>> Client::open(net::Request request, const std::stop_token& stop) {
  for (bool again : {true, false}) {
    NW_TRY_ASSIGN(const Authorization who, authorization(request, stop));
    net::Request ready = prepared(request, who.header);
    ready.probe = options_.path_prefix + "/livez";
    auto stream = transport_.open(ready, stop);
    count(ready, stream ? (*stream)->status() : 0);
    if (!stream) return tl::unexpected(unanswered(request, stream.error()));
    const int status = (*stream)->status();
    if (status / 100 == 2) return stream;
    if (status == 401 && again && options_.reload_credentials(who, stop)) continue;
    return tl::unexpected(refused(request, who, status, (*stream)->header("retry-after"), rest_of(**stream, stop)));
  }
  return fail(ErrorCode::kUnauthorized, "401");   // not reached
}

Result<Authorization> Client::authorization(const net::Request& request, const std::stop_token& stop) const {
  return options_.authorization(stop).map_error(
      [&](Error error) { return in_context(fmt::format("{} {}", request.method, request.path), std::move(error)); });
}

net::Request Client::prepared(net::Request request, const std::string& authorization) const {
  request.path = options_.path_prefix + request.path;
  request.headers.push_back({"User-Agent", options_.user_agent});
  request.headers.insert(request.headers.end(), options_.headers.begin(), options_.headers.end());
  if (!authorization.empty()) request.headers.push_back({"Authorization", authorization});
  return request;
}

Error Client::refused(const net::Request& request, const Authorization& who, int http_code,
                      std::optional<std::string_view> retry_after, std::string_view body) const {
  Status status = decode_status(body);
  for (std::string* text : {&status.reason, &status.message}) *text = without_token(std::move(*text), who);
  Error error = in_context(fmt::format("{} {}", request.method, request.path), error_of(status, http_code));
  if (retry_after) error.retry_after = parse_retry_after(*retry_after, clock_.wall_now());
  return error;
}

void Client::count(const net::Request& request, int code) const {
  if (options_.requests != nullptr) options_.requests->add(1, {{"verb", request.method}, {"code", std::to_string(code)}});
  if (options_.audit != nullptr && is_write(request)) options_.audit->record(request.method, request.path, code, request.body);
}

std::string url_encoded(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '_' ||
                       c == '.' || c == '~';
    if (plain) {
      out += c;
    } else {
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return out;
}

}  // namespace nodeward::kube
