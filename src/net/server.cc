#include "net/server.h"

#include <fmt/format.h>
#include <httplib.h>

#include <atomic>
#include <cerrno>
#include <system_error>
#include <thread>
#include <utility>

#include "net/signals.h"
#include "telemetry/log.h"

namespace nodeward::net {
namespace {

constexpr std::size_t kThreads = 16;

using Pages = std::map<std::string, std::function<Page()>>;

// A connection ends with its first answer, and after 2 s without a request. So neither an idle scraper nor a silent client
// keeps a thread from the probes for long, and a stop need not wait for them.
void set_limits(httplib::Server& server) {
  server.new_task_queue = [] { return new httplib::ThreadPool(kThreads); };
  server.set_keep_alive_max_count(1);
  server.set_keep_alive_timeout(2);
  server.set_read_timeout(5);
  server.set_write_timeout(5);
  server.set_tcp_nodelay(true);
  // The library's default, SO_REUSEPORT, would let two programs share a port without a word.
  server.set_socket_options([](socket_t fd) {
    const int yes = 1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  });
}

void answer(const Pages& pages, const httplib::Request& request, httplib::Response& response) {
  const auto page = pages.find(request.path);
  if (page == pages.end()) {
    response.status = 404;
    response.set_content("404 page not found\n", "text/plain; charset=utf-8");
  } else if (request.method != "GET" && request.method != "HEAD") {
    response.status = 405;
    response.set_header("Allow", "GET, HEAD");
    response.set_content("405 method not allowed\n", "text/plain; charset=utf-8");
  } else {
    Page made = page->second();
    response.status = made.status;
    response.set_content(std::move(made.body), made.content_type);
  }
}

class HttplibServer final : public Server {
 public:
  explicit HttplibServer(Pages pages) : pages_(std::move(pages)) {
    set_limits(server_);
    server_.set_pre_routing_handler([this](const httplib::Request& request, httplib::Response& response) {
      answer(pages_, request, response);
      return httplib::Server::HandlerResponse::Handled;
    });
  }
  ~HttplibServer() override {
    stopping_ = true;
    server_.stop();
  }
  int port() const override { return port_; }

  Result<> bind(const std::string& address, int port) {
    errno = 0;
    port_ = port == 0 ? server_.bind_to_any_port(address) : server_.bind_to_port(address, port) ? port : -1;
    if (port_ >= 0) return {};
    const std::string reason = errno != 0 ? std::system_category().message(errno) : "the address is not one of this machine";
    return fail(ErrorCode::kUnavailable, fmt::format("cannot listen on {}, port {}: {}", address, port, reason));
  }

  void start() {
    thread_ = std::jthread([this] { serve(); });
    while (!server_.is_running()) std::this_thread::yield();  // stop() would not be heard before
  }

 private:
  void serve() {
    block_signals();
    server_.listen_after_bind();
    // The library gives up when accept() fails, as in a machine out of files or memory: the liveness probe must see to the rest.
    if (!stopping_) telemetry::error("HTTP server has ended", {{"port", std::to_string(port_)}});
  }

  const Pages pages_;
  httplib::Server server_;
  int port_ = -1;
  std::atomic<bool> stopping_ = false;
  std::jthread thread_;
};

}  // namespace

Result<std::unique_ptr<Server>> Server::listen(const std::string& address, int port, Pages pages) {
  auto server = std::make_unique<HttplibServer>(std::move(pages));
  NW_TRY(server->bind(address, port));
  server->start();
  return server;
}

}  // namespace nodeward::net
