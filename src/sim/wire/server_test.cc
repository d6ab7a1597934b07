#include "sim/wire/server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <httplib.h>

#include "net/curl_transport.h"
#include "net/test_certificates.h"
#include "sim/wire/test_client.h"
#include "sim/wire/test_server.h"

namespace nodeward::sim::wire {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr std::string_view kGet = "GET /echo HTTP/1.1\r\nHost: x\r\n\r\n";

struct Secured {
  net::TestCertificate ca = net::make_certificate("test CA");
  net::TestCertificate own = net::make_certificate("server", "IP:127.0.0.1", &ca);
  ServerOptions options() const { return {.tls = {.certificate_pem = own.certificate_pem(), .key_pem = own.key_pem()}}; }
};

// What a real client sees, whichever way it comes.
void expect_good_answers(net::Transport& transport) {
  const auto answer = transport.send({.method = "PATCH", .path = "/echo?a=b", .headers = {{"User-Agent", "me"}}, .body = "body"},
                                     {});
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->status, 201);
  EXPECT_EQ(answer->body, "PATCH /echo?a=b body");
  EXPECT_EQ(answer->header("x-agent"), "me");
  EXPECT_EQ(answer->header("content-length"), "20");
  for (const std::size_t size : {0UL, 1UL, 16384UL, 17000UL, 5'000'000UL}) {
    const auto big = transport.send({.path = "/big/" + std::to_string(size)}, {});
    ASSERT_TRUE(big) << big.error().message;
    EXPECT_EQ(big->body, std::string(size, 'b'));
  }
  const auto upload = transport.send({.method = "POST", .path = "/echo", .body = std::string(2'000'000, 'u')}, {});
  ASSERT_TRUE(upload) << upload.error().message;
  EXPECT_EQ(upload->body.size(), 2'000'000 + std::string("POST /echo ").size());
  EXPECT_EQ(transport.send({.method = "HEAD", .path = "/big/7"}, {}).value().header("content-length"), "7");
  EXPECT_EQ(transport.send({.method = "HEAD", .path = "/lines/7"}, {}).value().body, "");
  EXPECT_EQ(transport.send({.path = "/empty"}, {}).value().status, 204);
  EXPECT_EQ(transport.send({.path = "/lines/0"}, {}).value().body, "");
  EXPECT_EQ(transport.send({.path = "/lines/300000"}, {}).value().body.size(), 3'000'000u);
}

TEST(WireServer, AnswersOverHttp1) {
  const TestServer server;
  expect_good_answers(*net::make_curl_transport({.origin = server.origin()}));
}

TEST(WireServer, AnswersOverHttp2AndTls) {
  const Secured secured;
  const TestServer server(secured.options());
  expect_good_answers(*net::make_curl_transport({.origin = server.origin("https"), .ca_pem = secured.ca.certificate_pem()}));
}

TEST(WireServer, AnswersOverHttp1AndTls) {
  const Secured secured;
  const TestServer server(secured.options());
  httplib::SSLClient client("127.0.0.1", server.port());
  client.enable_server_certificate_verification(false);
  client.set_keep_alive(true);
  const auto echo = client.Post("/echo", std::string(100'000, 'u'), "text/plain");
  ASSERT_TRUE(echo);
  EXPECT_EQ(echo->body.size(), 100'000 + std::string("POST /echo ").size());
  const auto lines = client.Get("/lines/100000");
  ASSERT_TRUE(lines);
  EXPECT_EQ(lines->body.size(), 1'000'000u);
}

TEST(WireServer, AnswersOverHttp2InClearText) {
  const TestServer server;
  Http2Client client(server.port());
  const auto patch = client.ask("PATCH", "/echo", std::string(100'000, 'p'), {{"user-agent", "me"}});
  const auto big = client.ask("GET", "/big/17000");
  const auto lines = client.ask("GET", "/lines/300000");
  EXPECT_EQ(client.finish(patch).body.size(), 100'012u);
  EXPECT_EQ(client.answers[patch].headers["x-agent"], "me");
  EXPECT_EQ(client.finish(big).body, std::string(17000, 'b'));
  EXPECT_EQ(client.answers[big].headers["content-length"], "17000");
  EXPECT_EQ(client.finish(lines).body.size(), 3'000'000u);
  EXPECT_EQ(client.get("/empty").status, 204);
  EXPECT_EQ(client.finish(client.ask("HEAD", "/big/7")).headers["content-length"], "7");
}

TEST(WireServer, TellsTheHostOfARequestWhicheverTheProtocol) {
  TestServer server;
  Http2Client client(server.port());
  client.ask("GET", "/wait");
  client.flush();
  RawClient raw(server.port());
  raw.send("GET /wait HTTP/1.1\r\nHost: test\r\n\r\n");
  ASSERT_TRUE(server.becomes([&] { return server.waiting.size() == 2; }));
  for (const auto& exchange : server.waiting) EXPECT_EQ(exchange->request().header("host"), "test");
}

// A prefix of the preface could still become either.
TEST(WireServer, TellsTheProtocolByBytesThatComeOneByOne) {
  const TestServer server;
  RawClient raw(server.port());
  for (const char c : std::string("PUT /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nok")) raw.send({&c, 1});
  EXPECT_THAT(raw.read_until("ok"), StartsWith("HTTP/1.1 201 Created\r\n"));
}

TEST(WireHttp1, AnswersPipelinedRequestsInOrder) {
  TestServer server;
  RawClient raw(server.port());
  raw.send(
      "GET /wait/1 HTTP/1.1\r\nHost: x\r\n\r\nGET /2 HTTP/1.1\r\nHost: x\r\n\r\nGET /big/300000 HTTP/1.1\r\nHost: x\r\n\r\n" +
      std::string(kGet));
  ASSERT_TRUE(server.becomes([&] { return !server.waiting.empty(); }));
  EXPECT_EQ(server.handled, 1);
  server.on_loop([&] { server.waiting[0]->answer({.body = "first"}); });
  EXPECT_THAT(raw.read_until("first"), HasSubstr("Content-Length: 5\r\n\r\n"));
  EXPECT_THAT(raw.read_until("GET /2 "), StartsWith("HTTP/1.1 201 Created\r\n"));
  EXPECT_THAT(raw.read_until("GET /echo "), HasSubstr("bbb"));
}

TEST(WireHttp1, ServesAClientThatHasClosedItsSide) {
  TestServer server;
  RawClient raw(server.port());
  raw.send(std::string(kGet) + "GET /big/300000 HTTP/1.1\r\nHost: x\r\n\r\n" + std::string(kGet));
  raw.end_output();
  const std::string all = raw.read_to_end();
  EXPECT_GT(all.size(), 300'000u);
  EXPECT_THAT(all, EndsWith("GET /echo "));
  EXPECT_FALSE(raw.was_reset());
}

TEST(WireHttp1, SaysContinueToAClientThatWaitsForIt) {
  const TestServer server;
  RawClient raw(server.port());
  raw.send("PUT /echo HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
  EXPECT_EQ(raw.read_until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  raw.send("ok");
  EXPECT_THAT(raw.read_until("ok"), StartsWith("HTTP/1.1 201"));
}

TEST(WireHttp1, ClosesWhenAskedTo) {
  const TestServer server;
  RawClient raw(server.port());
  raw.send("GET /echo HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(raw.read_to_end(), AllOf(HasSubstr("Connection: close\r\n"), EndsWith("GET /echo ")));
  RawClient old(server.port());
  old.send("GET /lines/2 HTTP/1.0\r\n\r\n");
  EXPECT_THAT(old.read_to_end(), AllOf(EndsWith("\r\n\r\n123456789\n123456789\n"), Not(HasSubstr("chunked"))));
}

TEST(WireHttp1, RefusesWhatItCannotRead) {
  const TestServer server({.most_body = 100});
  const auto answer_to = [&](const std::string& text) {
    RawClient raw(server.port());
    raw.send(text);
    const std::string all = raw.read_to_end();
    EXPECT_FALSE(raw.was_reset());
    return all;
  };
  EXPECT_THAT(answer_to("no HTTP at all\r\n\r\n"),
              AllOf(StartsWith("HTTP/1.1 400 Bad Request\r\n"), EndsWith("\r\n\r\n400 Bad Request")));
  EXPECT_THAT(answer_to("GET / HTTP/1.1\r\nHost: x\r\nA: " + std::string(70'000, 'a')),
              StartsWith("HTTP/1.1 431 Request Header Fields Too Large\r\n"));
  EXPECT_THAT(
      answer_to("PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 101\r\n\r\n" + std::string(101, 'a')),
      AllOf(StartsWith("HTTP/1.1 413 "), HasSubstr("Content-Type: application/json\r\n"), HasSubstr("Connection: close\r\n"),
            HasSubstr(R"("reason":"RequestEntityTooLarge","code":413})"), HasSubstr("limit is 100")));
  EXPECT_EQ(server.handled, 0);
}

TEST(WireHttp2, RefusesWhatIsTooLongAndGoesOn) {
  const TestServer server({.most_body = 100});
  Http2Client client(server.port());
  const auto& body = client.finish(client.ask("PUT", "/echo", std::string(2'000'000, 'a')));
  EXPECT_EQ(body.status, 413);
  EXPECT_THAT(body.body, HasSubstr(R"("message":"Request entity too large: limit is 100","reason":"RequestEntityTooLarge")"));
  EXPECT_EQ(body.closed, std::uint32_t{NGHTTP2_NO_ERROR});
  Http2Client::Headers many;  // 80 bytes each as RFC 9113 counts them, of which nghttp2 sends fewer
  for (int i = 1000; i < 1000 + 900; ++i) many.emplace_back("x-" + std::to_string(i), std::string(42, 'v'));
  EXPECT_EQ(client.finish(client.ask("GET", "/echo", {}, many)).status, 431);
  EXPECT_EQ(client.get("/echo").status, 201);
  EXPECT_EQ(server.handled, 1);
}

}  // namespace
}  // namespace nodeward::sim::wire
