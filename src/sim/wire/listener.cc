#include "sim/wire/listener.h"

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>
#include <system_error>
#include <utility>

namespace nodeward::sim::wire {
namespace {

constexpr int kAcceptsPerTurn = 64;
constexpr Duration kPause = 100ms;  // until a file descriptor may be free again

int port_of(int fd) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
  // The port stands at the same place for IPv4 and IPv6.
  return ntohs(reinterpret_cast<const sockaddr_in*>(&address)->sin_port);
}

}  // namespace

Result<std::unique_ptr<Listener>> Listener::open(Loop& loop, const std::string& address, int port, Accepted accepted) {
  const auto failed = [&](ErrorCode code, std::string_view why) {
    return fail(code, fmt::format("cannot listen on {} port {}: {}", address, port, why));
  };
  if (port < 0 || port > 65535) return failed(ErrorCode::kInvalid, "a port is a number from 0 to 65535");
  const addrinfo hints{.ai_flags = AI_PASSIVE | AI_NUMERICHOST | AI_NUMERICSERV,
                       .ai_family = AF_UNSPEC,
                       .ai_socktype = SOCK_STREAM,
                       .ai_protocol = 0,
                       .ai_addrlen = 0,
                       .ai_addr = nullptr,
                       .ai_canonname = nullptr,
                       .ai_next = nullptr};
  addrinfo* found = nullptr;
  if (getaddrinfo(address.c_str(), std::to_string(port).c_str(), &hints, &found) != 0) {
    return failed(ErrorCode::kInvalid, "this is no IP address");
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> where(found, &freeaddrinfo);
  const int fd = socket(where->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  const int yes = 1;
  if (fd >= 0) setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (fd < 0 || bind(fd, where->ai_addr, where->ai_addrlen) != 0 || ::listen(fd, SOMAXCONN) != 0) {
    const std::string why = std::generic_category().message(errno);
    if (fd >= 0) ::close(fd);
    return failed(ErrorCode::kUnavailable, why);
  }
  return std::unique_ptr<Listener>(new Listener(loop, fd, port_of(fd), std::move(accepted)));
}

Listener::Listener(Loop& loop, int fd, int port, Accepted accepted)
    : loop_(loop), fd_(fd), port_(port), accepted_(std::move(accepted)), self_(std::make_shared<Listener*>(this)) {
  loop_.watch(fd_, *this, EPOLLIN);
}

Listener::~Listener() {
  *self_ = nullptr;
  close();
}

void Listener::close() {
  if (fd_ < 0) return;
  loop_.unwatch(fd_);
  ::close(std::exchange(fd_, -1));
}

void Listener::ready(std::uint32_t) {
  for (int i = 0; i < kAcceptsPerTurn && fd_ >= 0; ++i) {
    const int fd = accept4(fd_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd >= 0) {
      accepted_(fd);
    } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
      return pause();
    } else if (errno != ECONNABORTED && errno != EINTR) {
      return;
    }
  }
}

void Listener::pause() {
  loop_.rewatch(fd_, *this, 0);
  loop_.after(kPause, [self = self_] {
    if (*self != nullptr && (*self)->fd_ >= 0) (*self)->loop_.rewatch((*self)->fd_, **self, EPOLLIN);
  });
}

}  // namespace nodeward::sim::wire
