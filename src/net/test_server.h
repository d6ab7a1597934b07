// A loopback server for tests that decides about every byte: each connection gets a thread that runs `talk` on it until that
// returns. For tests only.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <functional>
#include <list>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "base/text.h"

namespace nodeward::net {

class Connection {
 public:
  explicit Connection(int fd) : fd_(fd) {}

  // The next request, head and body; empty when the client has gone.
  std::string request() {
    std::string text;
    while (true) {
      if (const auto end = text.find("\r\n\r\n"); end != text.npos && text.size() >= end + 4 + body_size(text)) return text;
      const std::string more = read();
      if (more.empty()) return {};
      text += more;
    }
  }
  // What has come; empty when the client has gone.
  std::string read() {
    char bytes[4096];
    const ssize_t count = recv(fd_, bytes, sizeof bytes, 0);
    return count <= 0 ? std::string() : std::string(bytes, static_cast<std::size_t>(count));
  }
  bool write(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t count = send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (count <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(count));
    }
    return true;
  }
  bool answer(std::string_view body, std::string_view status = "200 OK") {
    return write("HTTP/1.1 " + std::string(status) + "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
                 std::string(body));
  }
  bool start_chunks() { return write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nX-Kind: Stream\r\n\r\n"); }
  bool chunk(std::string_view bytes) {
    char size[32];
    snprintf(size, sizeof size, "%zx\r\n", bytes.size());
    return write(size + std::string(bytes) + "\r\n");
  }
  void wait_for_end() {
    while (!read().empty()) {
    }
  }
  int fd() const { return fd_; }

 private:
  static std::size_t body_size(const std::string& text) {
    const auto at = lowered(text).find("content-length: ");
    return at == text.npos ? 0 : std::stoul(text.substr(at + 16));
  }
  int fd_;
};

class TestServer {
 public:
  using Talk = std::function<void(Connection&)>;
  explicit TestServer(Talk talk, in_addr_t at = INADDR_LOOPBACK) : talk_(std::move(talk)), fd_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(at);
    socklen_t size = sizeof address;
    bind(fd_, reinterpret_cast<sockaddr*>(&address), size);
    listen(fd_, 512);
    getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    acceptor_ = std::jthread([this] { accept_all(); });
  }
  ~TestServer() {
    shutdown(fd_, SHUT_RDWR);
    acceptor_.join();
    {
      const std::lock_guard lock(mutex_);
      for (const int fd : open_) shutdown(fd, SHUT_RDWR);
    }
    threads_.clear();
    for (const int fd : open_) close(fd);
    close(fd_);
  }
  int port() const { return port_; }
  std::string origin() const { return "http://127.0.0.1:" + std::to_string(port_); }
  std::size_t connections() const {
    const std::lock_guard lock(mutex_);
    return open_.size();
  }

 private:
  void accept_all() {
    while (true) {
      const int fd = accept(fd_, nullptr, nullptr);
      if (fd < 0) return;
      const std::lock_guard lock(mutex_);
      open_.push_back(fd);
      threads_.emplace_back([this, fd] {
        Connection connection(fd);
        talk_(connection);
        shutdown(fd, SHUT_RDWR);
      });
    }
  }

  const Talk talk_;
  const int fd_;
  int port_ = 0;
  mutable std::mutex mutex_;
  std::list<int> open_;
  std::list<std::jthread> threads_;
  std::jthread acceptor_;
};

}  // namespace nodeward::net
