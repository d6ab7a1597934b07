#include "sim/client.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "sim/http2_session.h"

namespace nodeward::bench {
namespace {

std::string path_of(const PatchLoad& load, int number) {
  return fmt::format("/api/v1/nodes/{}?fieldManager=labeler&timeout=25s", load.node(number));
}

// Each process, and each request of it, writes another value.
std::string body_of() {
  static int written = 0;
  return fmt::format(R"({{"metadata":{{"labels":{{"nvsentinel.dgxc.nvidia.com/dcgm.version":"4.x",)"
                     R"("nvsentinel.dgxc.nvidia.com/driver.installed":"true"}},)"
                     R"("annotations":{{"nvsentinel.dgxc.nvidia.com/bench":"{}"}}}}}})",
                     ++written);
}

// One connection with one request at a time.
class Http1Connection {
 public:
  explicit Http1Connection(const PatchLoad& load) : load_(load), fd_(connect_to(load.port)) {}
  ~Http1Connection() { ::close(fd_); }
  Http1Connection(const Http1Connection&) = delete;
  Http1Connection& operator=(const Http1Connection&) = delete;

  int fd() const { return fd_; }
  void ask(int number) {
    const std::string body = body_of();
    const std::string text = fmt::format(
        "PATCH {} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer sim-token\r\nAccept: {}\r\n"
        "Content-Type: application/merge-patch+json\r\nContent-Length: {}\r\n\r\n{}",
        path_of(load_, number), load_.accept, body.size(), body);
    if (::send(fd_, text.data(), text.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(text.size())) {
      throw std::runtime_error("the server takes no more");
    }
  }
  // Takes what has come: true when it completes the answer.
  bool read(std::vector<char>& room) {
    const ssize_t count = ::recv(fd_, room.data(), room.size(), 0);
    if (count <= 0) throw std::runtime_error("the server closed the connection");
    const std::string_view bytes(room.data(), static_cast<std::size_t>(count));
    if (left_ == 0) {
      begin(bytes);
    } else {
      left_ -= std::min(left_, bytes.size());
    }
    return left_ == 0 && head_.empty();
  }

 private:
  void begin(std::string_view bytes) {
    constexpr std::string_view kLength = "Content-Length: ";
    head_ += bytes;
    const std::size_t end = head_.find("\r\n\r\n");
    if (end == std::string::npos) return;
    const std::size_t length = head_.find(kLength);
    if (!head_.starts_with("HTTP/1.1 200 ") || length > end) throw std::runtime_error("the server answered with a failure");
    left_ = end + 4 + std::stoul(head_.substr(length + kLength.size())) - head_.size();
    head_.clear();
  }

  const PatchLoad& load_;
  const int fd_;
  std::string head_;            // the beginning of an answer whose head is not whole
  std::size_t left_ = 0;        // bytes of the answer that are still to come
};

}  // namespace

void patch_over_http2(const PatchLoad& load) {
  int sent = 0;
  int done = 0;
  Http2Session session(load.port, load.tls, {.answered = [&] { ++done; }});
  while (done < load.count) {
    for (; sent < std::min(load.count, done + load.in_flight); ++sent) {
      const std::string path = path_of(load, sent);
      session.ask({.method = "PATCH", .path = path, .accept = load.accept, .body = body_of()});
    }
    session.flush();
    session.read();
  }
}

void patch_over_http1(const PatchLoad& load) {
  std::vector<std::unique_ptr<Http1Connection>> connections;
  std::vector<pollfd> ready;
  std::vector<char> room(64UL << 10);
  int sent = 0;
  for (; sent < std::min(load.count, load.in_flight); ++sent) {
    connections.push_back(std::make_unique<Http1Connection>(load));
    ready.push_back({.fd = connections.back()->fd(), .events = POLLIN, .revents = 0});
    connections.back()->ask(sent);
  }
  for (int done = 0; done < load.count;) {
    ::poll(ready.data(), ready.size(), -1);
    for (std::size_t i = 0; i < ready.size(); ++i) {
      if (ready[i].revents == 0 || !connections[i]->read(room)) continue;
      ++done;
      if (sent < load.count) connections[i]->ask(sent++);
    }
  }
}

class Watchers::One {
 public:
  One(int port, const std::string& accept)
      : session(port, false,
                {.answered = [this] { ended = true; },
                 .data =
                     [this](std::string_view bytes) {
                       events += static_cast<std::size_t>(std::count(bytes.begin(), bytes.end(), '\n'));
                     }}) {
    session.ask({.method = "GET", .path = "/api/v1/nodes?watch=true", .accept = accept});
    session.flush();
  }
  std::size_t events = 0;       // each is a line
  bool ended = false;
  Http2Session session;
};

Watchers::Watchers(int port, int count, const std::string& accept, int nodes) : before_(static_cast<std::size_t>(nodes)) {
  for (int i = 0; i < count; ++i) all_.push_back(std::make_unique<One>(port, accept));
  read_until(0);
}

Watchers::~Watchers() = default;

void Watchers::read_until(std::size_t events) {
  const auto behind = [&](const auto& one) { return one->events < before_ + events; };
  std::vector<pollfd> ready;
  for (const auto& one : all_) ready.push_back({.fd = one->session.fd(), .events = POLLIN, .revents = 0});
  while (std::any_of(all_.begin(), all_.end(), behind)) {
    ::poll(ready.data(), ready.size(), -1);
    for (std::size_t i = 0; i < ready.size(); ++i) {
      if (ready[i].revents == 0) continue;
      all_[i]->session.read();
      all_[i]->session.flush();
      if (all_[i]->ended) throw std::runtime_error("the server ended a watch");
    }
  }
}

}  // namespace nodeward::bench
