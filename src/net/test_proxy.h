// A proxy on loopback that notes what it is asked for. For tests only.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "net/test_server.h"

namespace nodeward::net {

inline int connect_to(int port) {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  if (connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) return -1;
  return fd;
}

// Bytes both ways until one side ends.
inline void relay(Connection& client, int port) {
  const int fd = connect_to(port);
  Connection server(fd);
  std::array<pollfd, 2> ends = {{{client.fd(), POLLIN, 0}, {fd, POLLIN, 0}}};
  while (poll(ends.data(), ends.size(), -1) > 0) {
    Connection& from = ends[0].revents != 0 ? client : server;
    const std::string bytes = from.read();
    if (bytes.empty() || !(&from == &client ? server : client).write(bytes)) break;
  }
  close(fd);
}

class Proxy {
 public:
  using Talk = std::function<void(Connection&, const std::string& asked)>;
  explicit Proxy(Talk talk)
      : server_([this, talk = std::move(talk)](Connection& connection) {
          const std::string asked = connection.request();
          if (asked.empty()) return;
          {
            const std::lock_guard lock(mutex_);
            asked_.push_back(asked);
          }
          talk(connection, asked);
        }) {}

  std::string address() const { return "127.0.0.1:" + std::to_string(server_.port()); }
  std::string url(const std::string& user = "") const { return "http://" + user + address(); }
  std::vector<std::string> asked() const {
    const std::lock_guard lock(mutex_);
    return asked_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> asked_;
  TestServer server_;
};

}  // namespace nodeward::net
