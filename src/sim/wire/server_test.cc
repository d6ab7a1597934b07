#include "sim/wire/server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "net/curl_transport.h"
#include "net/test_certificates.h"

namespace nodeward::sim::wire {
namespace {

std::unique_ptr<Server> serve(Server::Handler handler, ServerOptions options = {}) {
  auto server = Server::listen(std::move(options), std::move(handler));
  EXPECT_TRUE(server) << server.error().message;
  return server ? std::move(*server) : nullptr;
}

TEST(WireServer, AnswersOverHttp1) {
  const auto server = serve([](const std::shared_ptr<Exchange>& exchange) {
    exchange->answer({.status = 201, .headers = {{"X-A", "b"}}, .body = exchange->request().target + exchange->request().body});
  });
  const auto transport = net::make_curl_transport({.origin = "http://127.0.0.1:" + std::to_string(server->port())});
  const auto answer = transport->send({.method = "PATCH", .path = "/x", .body = "body"}, {});
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->status, 201);
  EXPECT_EQ(answer->body, "/xbody");
}

}  // namespace
}  // namespace nodeward::sim::wire
