// Requests to one API server, with credentials; answers other than 2xx become Errors that say what to do next. Any thread.
// kUnreachable means that there is no way to the server and nothing was done; kUnavailable and kTimeout that it failed, be it with
// an answer (5xx) or without, and that nobody knows what was done; the others that the server answered so.
// It never waits and never repeats on its own, but for one repeat at once when a 401 led to other credentials: when to try again
// is decided by the reflector (reads) and by NodeWriter (writes), so that retries do not multiply.
#pragma once

#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "kube/authorization.h"
#include "net/http.h"
#include "telemetry/audit.h"
#include "telemetry/metrics.h"

namespace nodeward::kube {

struct ClientOptions {
  std::string path_prefix = {};  // of the server's URL: "/k8s/clusters/c-1", no slash at the end
  std::string user_agent = "nodeward";
  std::vector<net::Header> headers = {};  // of every request
  // The value of the Authorization header, empty: none. It may wait, and fail: then nothing is sent.
  std::function<Result<Authorization>(const std::stop_token&)> authorization = [](const auto&) { return Authorization(); };
  // After a 401 to what was sent with `refused`. True: there are other credentials now.
  std::function<bool(const Authorization& refused, const std::stop_token&)> reload_credentials = [](auto&&...) { return false; };
  telemetry::Counter* requests = nullptr;  // counts by {verb, code}; code "0": no answer came
  telemetry::Audit* audit = nullptr;
};

class Client {
 public:
  Client(net::Transport& transport, ClientOptions options, Clock& clock);

  // `request.path` begins with /api... ; the answer is 2xx. `may_send` is asked last of all, after credentials were waited for:
  // false is kFenced, and nothing was sent.
  Result<net::Response> send(net::Request request, const std::stop_token& stop, const std::function<bool()>& may_send = {});
  // The same for a list or a watch, whose body is read as it comes.
  Result<std::unique_ptr<net::Stream>> open(net::Request request, const std::stop_token& stop);

 private:
  net::Request prepared(net::Request request, const std::string& authorization) const;
  Result<Authorization> authorization(const net::Request& request, const std::stop_token& stop) const;
  Error refused(const net::Request& request, const Authorization& who, int http_code, std::optional<std::string_view> retry_after,
                std::string_view body) const;
  void count(const net::Request& request, int code) const;

  net::Transport& transport_;
  const ClientOptions options_;
  Clock& clock_;
};

// `text` with everything but unreserved characters percent-encoded, for a query value or a path segment (RFC 3986).
std::string url_encoded(std::string_view text);

}  // namespace nodeward::kube
