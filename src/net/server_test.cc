#include "net/server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netdb.h>

#include <vector>

#include "net/curl_transport.h"
#include "net/test_server.h"

namespace nodeward::net {
namespace {

using testing::HasSubstr;

std::unique_ptr<Server> serve(const std::string& address = "127.0.0.1", int port = 0) {
  auto server = Server::listen(address, port,
                               {{"/healthz", [] { return Page{.body = "ok"}; }},
                                {"/readyz", [] { return Page{.status = 503, .body = "waiting"}; }},
                                {"/page", [] { return Page{.body = "<p>", .content_type = "text/html"}; }}});
  EXPECT_TRUE(server) << server.error().message;
  return std::move(*server);
}

Response ask(const Server& server, std::string method, std::string path, std::string host = "127.0.0.1") {
  const auto transport = make_curl_transport({.origin = "http://" + host + ":" + std::to_string(server.port())});
  return transport->send({.method = std::move(method), .path = std::move(path)}, {}).value();
}

// A client that connects, may ask, and then neither asks again nor goes.
class IdleClient {
 public:
  explicit IdleClient(int port) : fd_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  }
  ~IdleClient() { close(fd_); }
  std::string ask(std::string_view path) {
    Connection connection(fd_);
    connection.write("GET " + std::string(path) + " HTTP/1.1\r\nHost: x\r\nConnection: keep-alive\r\n\r\n");
    return connection.read();
  }

 private:
  int fd_;
};

TEST(Server, ServesItsPages) {
  const auto server = serve();
  const Response health = ask(*server, "GET", "/healthz");
  EXPECT_EQ(health.status, 200);
  EXPECT_EQ(health.body, "ok");
  EXPECT_EQ(health.header("content-type"), "text/plain; charset=utf-8");
  EXPECT_EQ(health.header("content-length"), "2");
  EXPECT_EQ(ask(*server, "GET", "/healthz?verbose=1").body, "ok");
  EXPECT_EQ(ask(*server, "GET", "/readyz").status, 503);
  EXPECT_EQ(ask(*server, "GET", "/page").header("content-type"), "text/html");
}

TEST(Server, HeadHasTheLengthWithoutTheBody) {
  const Response head = ask(*serve(), "HEAD", "/healthz");
  EXPECT_EQ(head.status, 200);
  EXPECT_EQ(head.body, "");
  EXPECT_EQ(head.header("content-length"), "2");
}

TEST(Server, RefusesOtherPathsAndMethods) {
  const auto server = serve();
  for (const char* path : {"/", "/healthz/", "/nothing", "/../healthz"}) {
    const Response answer = ask(*server, "GET", path);
    EXPECT_EQ(answer.status, 404) << path;
    EXPECT_EQ(answer.body, "404 page not found\n");
  }
  for (const char* method : {"POST", "PUT", "DELETE", "PATCH", "OPTIONS"}) {
    const Response answer = ask(*server, method, "/healthz");
    EXPECT_EQ(answer.status, 405) << method;
    EXPECT_EQ(answer.header("allow"), "GET, HEAD");
  }
}

TEST(Server, NamesThePortThatIsInUse) {
  const auto first = serve();
  const auto second = Server::listen("127.0.0.1", first->port(), {});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(second.error().message,
            "cannot listen on 127.0.0.1, port " + std::to_string(first->port()) + ": Address already in use");
}

TEST(Server, ListensOnEveryAddress) {
  const auto any = serve("0.0.0.0");
  EXPECT_EQ(ask(*any, "GET", "/healthz").body, "ok");
  if (const int fd = socket(AF_INET6, SOCK_STREAM, 0); fd >= 0) {
    close(fd);
    const auto both = serve("::");
    EXPECT_EQ(ask(*both, "GET", "/healthz").body, "ok");
    EXPECT_EQ(ask(*both, "GET", "/healthz", "[::1]").body, "ok");
  }
}

TEST(Server, IdleScrapersStarveNoProbe) {
  const auto server = serve();
  std::vector<std::unique_ptr<IdleClient>> scrapers;
  for (int i = 0; i < 20; ++i) {
    scrapers.push_back(std::make_unique<IdleClient>(server->port()));
    EXPECT_THAT(scrapers.back()->ask("/healthz"), HasSubstr("200 OK"));
  }
  const auto before = Clock::real().now();
  EXPECT_EQ(ask(*server, "GET", "/healthz").body, "ok");
  EXPECT_LT(Clock::real().now() - before, 1s);
}

TEST(Server, SilentClientsHoldUpAProbeForLessThanItsTimeout) {
  const auto server = serve();
  std::vector<std::unique_ptr<IdleClient>> silent;
  for (int i = 0; i < 20; ++i) silent.push_back(std::make_unique<IdleClient>(server->port()));
  const auto before = Clock::real().now();
  EXPECT_EQ(ask(*server, "GET", "/healthz").body, "ok");
  EXPECT_LT(Clock::real().now() - before, 3s);
}

TEST(Server, StopsAtOnceAndFreesItsPort) {
  const auto before = Clock::real().now();
  auto server = serve();
  IdleClient scraper(server->port());
  EXPECT_THAT(scraper.ask("/healthz"), HasSubstr("200 OK"));
  const int port = server->port();
  server.reset();
  EXPECT_EQ(serve("127.0.0.1", port)->port(), port);
  EXPECT_LT(Clock::real().now() - before, 1s);
}

}  // namespace
}  // namespace nodeward::net
