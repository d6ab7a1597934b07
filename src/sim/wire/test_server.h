// A server with a handler that the path chooses from. For tests only.
#pragma once

#include <atomic>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "sim/wire/server.h"

namespace nodeward::sim::wire {

// `count` times `line`, and then the end.
class Lines final : public Body {
 public:
  Lines(std::string line, long count) : line_(std::move(line)), left_(count) {}
  More fill(std::string& out, std::size_t room) override {
    const std::size_t enough = out.size() + room;
    while (left_ > 0 && out.size() < enough) {
      out += line_;
      --left_;
      ++made;
    }
    return left_ > 0 ? More::kYes : More::kEnd;
  }
  static inline std::atomic<long> made{0};

 private:
  const std::string line_;
  long left_;
};

// /echo answers "METHOD TARGET BODY", /big/N N letters, /lines/N a stream of N lines of ten bytes, /empty 204, /wait/... stays
// in `waiting`.
class TestServer {
 public:
  explicit TestServer(ServerOptions options = {}) {
    auto made = Server::listen(std::move(options), [this](std::shared_ptr<Exchange> exchange) { handle(std::move(exchange)); });
    NW_CHECK(made, "a free port of this machine can be had");
    server = std::move(*made);
  }
  ~TestServer() { end(); }

  int port() const { return server->port(); }
  std::string origin(const std::string& scheme = "http") const { return scheme + "://127.0.0.1:" + std::to_string(port()); }
  // Runs it on the loop and waits for it.
  template <class F>
  auto on_loop(F ask) -> decltype(ask()) {
    std::packaged_task<decltype(ask())()> task(std::move(ask));
    auto answer = task.get_future();
    server->post([&] { task(); });
    return answer.get();
  }
  // Waits until it is so on the loop, which is asked after each of its turns.
  template <class F>
  bool becomes(F so) {
    const MonoTime deadline = Clock::real().now() + 10s;
    while (!on_loop(so)) {
      if (Clock::real().now() > deadline) return false;
    }
    return true;
  }
  void end() {
    server.reset();
    waiting.clear();
  }

  std::unique_ptr<Server> server;
  std::vector<std::shared_ptr<Exchange>> waiting;  // the loop thread
  std::atomic<int> handled = 0;

 private:
  void handle(std::shared_ptr<Exchange> exchange) {
    ++handled;
    const Request& request = exchange->request();
    const std::string& target = request.target;
    const auto number = [&] { return std::stol(target.substr(target.rfind('/') + 1)); };
    if (target.starts_with("/wait")) return waiting.push_back(std::move(exchange));
    if (target.starts_with("/empty")) return exchange->answer({.status = 204});
    if (target.starts_with("/big/")) return exchange->answer({.body = std::string(static_cast<std::size_t>(number()), 'b')});
    if (target.starts_with("/lines/")) return exchange->answer({.stream = std::make_unique<Lines>("123456789\n", number())});
    exchange->answer({.status = 201,
                      .headers = {{"X-Agent", std::string(request.header("user-agent"))}},
                      .body = request.method + " " + target + " " + request.body});
  }
};

}  // namespace nodeward::sim::wire
