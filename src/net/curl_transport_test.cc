#include "net/curl_transport.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <atomic>
#include <latch>
#include <thread>
#include <vector>

#include "net/test_server.h"

namespace nodeward::net {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::unique_ptr<Transport> transport_to(const TestServer& server) { return make_curl_transport({.origin = server.origin()}); }

// Reads to the end.
Result<std::string> read_all(Stream& stream) {
  std::string all;
  while (true) {
    NW_TRY_ASSIGN(const auto bytes, stream.read(10s, {}));
    if (!bytes) return all;
    all += *bytes;
  }
}

TEST(CurlTransport, SendsARequestAndReadsTheWholeAnswer) {
  std::string seen;
  TestServer server([&](Connection& connection) {
    seen = connection.request();
    connection.write("HTTP/1.1 422 No\r\nX-Reason: some text \r\nContent-Length: 5\r\n\r\nhello");
  });
  const auto answer = transport_to(server)->send({.method = "PATCH",
                                                  .path = "/api/v1/nodes/n1?fieldManager=x",
                                                  .headers = {{"Content-Type", "application/merge-patch+json"}},
                                                  .body = "{\"a\":1}"},
                                                 {});
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->status, 422);
  EXPECT_EQ(answer->body, "hello");
  EXPECT_EQ(answer->header("x-reason"), "some text");
  EXPECT_EQ(answer->header("x-other"), std::nullopt);
  EXPECT_THAT(seen, AllOf(testing::StartsWith("PATCH /api/v1/nodes/n1?fieldManager=x HTTP/1.1\r\n"),
                          HasSubstr("Content-Type: application/merge-patch+json\r\n"), testing::EndsWith("\r\n\r\n{\"a\":1}"),
                          Not(HasSubstr("Expect"))));
}

TEST(CurlTransport, KeepsTheMethodWhateverTheBody) {
  std::vector<std::string> seen;
  TestServer server([&](Connection& connection) {
    for (std::string text = connection.request(); !text.empty(); text = connection.request()) {
      seen.push_back(text.substr(0, text.find(' ')));
      if (seen.back() == "HEAD") {
        connection.write("HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n");
      } else {
        connection.answer(text.substr(text.find("\r\n\r\n") + 4));
      }
    }
  });
  const auto transport = transport_to(server);
  const auto body_of = [&](std::string method, std::string body) {
    return transport->send({.method = std::move(method), .path = "/x", .body = std::move(body)}, {}).value().body;
  };
  EXPECT_EQ(body_of("POST", "one"), "one");
  EXPECT_EQ(body_of("GET", ""), "");
  EXPECT_EQ(body_of("HEAD", ""), "");
  EXPECT_EQ(body_of("DELETE", "why"), "why");
  EXPECT_EQ(body_of("DELETE", ""), "");
  EXPECT_EQ(body_of("PUT", ""), "");
  EXPECT_EQ(body_of("GET", ""), "");
  EXPECT_THAT(seen, testing::ElementsAre("POST", "GET", "HEAD", "DELETE", "DELETE", "PUT", "GET"));
  EXPECT_EQ(server.connections(), 1u);
}

TEST(CurlTransport, GivesUpWhenNoAnswerComesInTime) {
  TestServer server([](Connection& connection) {
    connection.request();
    connection.wait_for_end();
  });
  const auto transport = transport_to(server);
  EXPECT_EQ(transport->send({.path = "/", .timeout = 30ms}, {}).error().code, ErrorCode::kTimeout);
  EXPECT_EQ(transport->open({.path = "/", .timeout = 30ms}, {}).error().code, ErrorCode::kTimeout);
}

TEST(CurlTransport, AStopEndsAWaitAtOnce) {
  std::latch asked(2);
  TestServer server([&](Connection& connection) {
    if (connection.request().starts_with("GET /stream")) {
      connection.start_chunks();
    } else {
      asked.count_down();
    }
    connection.wait_for_end();
  });
  const auto transport = transport_to(server);
  std::stop_source stop;
  std::jthread sender(
      [&] { EXPECT_EQ(transport->send({.path = "/", .timeout = 1h}, stop.get_token()).error().code, ErrorCode::kCancelled); });
  std::jthread reader([&] {
    const auto stream = transport->open({.path = "/stream", .timeout = 1h}, stop.get_token());
    asked.count_down();
    ASSERT_TRUE(stream);
    EXPECT_EQ((*stream)->read(1h, stop.get_token()).error().code, ErrorCode::kCancelled);
  });
  asked.wait();
  stop.request_stop();
}

TEST(CurlTransport, StreamsBytesInOrderAsTheyCome) {
  std::latch first_read(1);
  TestServer server([&](Connection& connection) {
    connection.request();
    connection.start_chunks();
    connection.chunk("first");
    first_read.wait();
    for (int i = 0; i < 1000; ++i) connection.chunk(std::to_string(i) + "\n");
    connection.chunk("");
  });
  const auto stream = transport_to(server);
  const auto opened = stream->open({.path = "/"}, {});
  ASSERT_TRUE(opened) << opened.error().message;
  EXPECT_EQ((*opened)->status(), 200);
  EXPECT_EQ((*opened)->header("x-kind"), "Stream");
  EXPECT_EQ((*opened)->read(10s, {}).value(), "first");
  EXPECT_EQ((*opened)->read(1ms, {}).error().code, ErrorCode::kTimeout);  // and the stream lives on
  first_read.count_down();
  std::string wanted;
  for (int i = 0; i < 1000; ++i) wanted += std::to_string(i) + "\n";
  EXPECT_EQ(read_all(**opened).value(), wanted);
  EXPECT_EQ((*opened)->read(1ms, {}).value(), std::nullopt);  // the end stays the end
}

TEST(CurlTransport, StallsTheServerWhenNobodyReadsAndLosesNothing) {
  constexpr int kChunks = 48 * 16;  // 48 MiB
  std::atomic<int> sent = 0;
  TestServer server([&](Connection& connection) {
    connection.request();
    connection.start_chunks();
    for (int i = 0; i < kChunks; ++i, ++sent) connection.chunk(std::string(64 * 1024, static_cast<char>('a' + i % 26)));
    connection.chunk("");
  });
  const auto transport = transport_to(server);
  const auto stream = transport->open({.path = "/"}, {});
  ASSERT_TRUE(stream) << stream.error().message;
  // Stalled: no chunk got out for a while. The buffer (8 MiB) and both sockets (a few MiB) are far below the whole.
  for (int last = -1; last != sent || sent == 0; std::this_thread::sleep_for(200ms)) last = sent;
  EXPECT_LT(sent, kChunks / 2);
  const std::string all = read_all(**stream).value();
  ASSERT_EQ(all.size(), std::size_t{kChunks} * 64 * 1024);
  for (int i = 0; i < kChunks; ++i) ASSERT_EQ(all[static_cast<std::size_t>(i) * 64 * 1024 + 77], 'a' + i % 26) << i;
}

TEST(CurlTransport, APausedStreamHoldsUpNeitherWritesNorItsOwnEnd) {
  TestServer server([&](Connection& connection) {
    if (!connection.request().starts_with("GET /flood")) {
      connection.answer("ok");
      return;
    }
    connection.start_chunks();
    while (connection.chunk(std::string(1024 * 1024, 'x'))) {
    }
  });
  const auto transport = transport_to(server);
  auto stream = transport->open({.path = "/flood"}, {});
  ASSERT_TRUE(stream);
  EXPECT_EQ(transport->send({.path = "/small"}, {}).value().body, "ok");
  stream->reset();
  EXPECT_EQ(transport->send({.path = "/small"}, {}).value().body, "ok");
}

TEST(CurlTransport, ADroppedStreamEndsItsRequest) {
  std::latch gone(1);
  TestServer server([&](Connection& connection) {
    connection.request();
    connection.start_chunks();
    connection.wait_for_end();
    gone.count_down();
  });
  const auto transport = transport_to(server);
  transport->open({.path = "/"}, {}).value().reset();
  gone.wait();
}

TEST(CurlTransport, NamesTheAddressAndTheReasonWhenNobodyListens) {
  int port = 0;
  {
    port = TestServer([](Connection&) {}).port();
  }
  const auto answer = make_curl_transport({.origin = "http://127.0.0.1:" + std::to_string(port)})->send({.path = "/"}, {});
  EXPECT_EQ(answer.error().code, ErrorCode::kUnreachable);
  EXPECT_EQ(answer.error().message, "127.0.0.1:" + std::to_string(port) + ": Connection refused");
}

TEST(CurlTransport, RefusesWhatIsNoOrigin) {
  for (const char* origin : {"", "not a url", "ftp://127.0.0.1:1"}) {
    const auto answer = make_curl_transport({.origin = origin})->send({.path = "/"}, {});
    EXPECT_EQ(answer.error().code, ErrorCode::kInvalid) << origin;
    EXPECT_THAT(answer.error().message, HasSubstr("https://host:port"));
  }
}

TEST(CurlTransport, AnAnswerCutShortIsUnavailable) {
  TestServer server([](Connection& connection) {
    if (connection.request().starts_with("GET /whole")) {
      connection.write("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf");
    } else {
      connection.start_chunks();
      connection.chunk("half");
    }
  });
  const auto transport = transport_to(server);
  EXPECT_EQ(transport->send({.path = "/whole"}, {}).error().code, ErrorCode::kUnavailable);
  const auto stream = transport->open({.path = "/stream"}, {});
  ASSERT_TRUE(stream);
  EXPECT_EQ((*stream)->read(10s, {}).value(), "half");  // what came is not lost
  EXPECT_EQ((*stream)->read(10s, {}).error().code, ErrorCode::kUnavailable);
}

TEST(CurlTransport, AnAnswerWithoutEndIsGivenUp) {
  TestServer server([](Connection& connection) {
    const bool headers = connection.request().starts_with("GET /headers");
    connection.write(headers ? "HTTP/1.1 200 OK\r\n" : "HTTP/1.1 500 Odd\r\nContent-Length: 1000000000000\r\n\r\n");
    const std::string line = "x-filler: " + std::string(10'000, 'y') + "\r\n";
    while (connection.write(line)) {
    }
  });
  const auto transport = transport_to(server);
  for (const char* path : {"/headers", "/body"}) {
    const auto answer = transport->send({.path = path}, {});
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code, ErrorCode::kUnavailable);
    EXPECT_THAT(answer.error().message, testing::AnyOf(HasSubstr("larger than 64 MiB"), HasSubstr("oo large response headers")))
        << path;
  }
}

TEST(CurlTransport, AnAnswerOf64MiBIsTakenWhole) {
  constexpr std::size_t kSize = std::size_t{64} << 20;
  TestServer server([](Connection& connection) {
    connection.request();
    connection.answer(std::string(kSize, 'x'));
  });
  EXPECT_EQ(transport_to(server)->send({.path = "/"}, {}).value().body.size(), kSize);
}

TEST(CurlTransport, TheFirstByteHasATimeOfItsOwn) {
  TestServer server([](Connection& connection) {
    if (connection.request().starts_with("GET /begins")) connection.write("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf");
    connection.wait_for_end();
  });
  const auto transport = transport_to(server);
  const auto took = [&](const char* path, Duration first_byte, Duration whole) {
    const MonoTime began = Clock::real().now();
    const auto answer = transport->send({.path = path, .timeout = whole, .first_byte = first_byte}, {});
    EXPECT_EQ(answer.error().code, ErrorCode::kTimeout);
    return Clock::real().now() - began;
  };
  EXPECT_LT(took("/silent", 30ms, 10s), 5s);
  EXPECT_GE(took("/begins", 30ms, 200ms), 200ms);
  EXPECT_LT(took("/silent", 10s, 30ms), 5s);
}

TEST(CurlTransport, AfterARequestWithoutAnswerTheNextOneGetsAnotherConnection) {
  std::atomic<int> asked = 0;
  TestServer server([&](Connection& connection) {
    while (!connection.request().empty()) {
      if (++asked != 2) connection.answer("ok");
    }
  });
  const auto transport = transport_to(server);
  EXPECT_TRUE(transport->send({.path = "/"}, {}));
  EXPECT_EQ(transport->send({.path = "/", .timeout = 50ms}, {}).error().code, ErrorCode::kTimeout);
  EXPECT_TRUE(transport->send({.path = "/", .timeout = 10s}, {}));
  EXPECT_EQ(server.connections(), 2U);
}

// A kept connection that breaks: libcurl would send the request again on a new one, whatever became of the first.
TEST(CurlTransport, AWriteIsNotSentTwiceWhenItsConnectionBreaks) {
  std::atomic<int> writes = 0;
  TestServer server([&](Connection& connection) {
    connection.request();
    connection.answer("kept");
    writes += connection.request().starts_with("PATCH") ? 1 : 0;  // and away
  });
  const auto transport = transport_to(server);
  ASSERT_TRUE(transport->send({.path = "/"}, {}));
  const auto answer = transport->send({.method = "PATCH", .path = "/", .body = "{}"}, {});
  EXPECT_EQ(answer.error().code, ErrorCode::kUnavailable) << "whether it was done is unknown";
  EXPECT_THAT(answer.error().message, HasSubstr("the connection broke before the answer came"));
  EXPECT_EQ(writes, 1);
  ASSERT_TRUE(transport->send({.path = "/"}, {}));
  EXPECT_TRUE(transport->send({.path = "/"}, {})) << "a GET may be repeated";
}

TEST(CurlTransport, AsksForGzipByChoiceAndNeverOnLoopback) {
  std::string seen;
  TestServer server([&](Connection& connection) {
    seen = lowered(connection.request());
    connection.answer("ok");
  });
  const auto asks = [&](std::string_view host, bool gzip) {
    EXPECT_TRUE(
        make_curl_transport({.origin = fmt::format("http://{}:{}", host, server.port()), .gzip = gzip})->send({.path = "/"}, {}));
    return seen.find("accept-encoding: gzip") != seen.npos;
  };
  EXPECT_FALSE(asks("127.0.0.1", true));
  EXPECT_TRUE(asks("0.0.0.0", true)) << "this host, by a name that is not known for it";
  EXPECT_FALSE(asks("0.0.0.0", false));
}

TEST(CurlTransport, TellsAServerThatSpeaksNoHttpFromAnOriginThatIsNone) {
  TestServer server([](Connection& connection) {
    connection.request();
    connection.write("SSH-2.0-OpenSSH_9.2\r\n");
  });
  const auto answer = transport_to(server)->send({.path = "/"}, {});
  EXPECT_EQ(answer.error().code, ErrorCode::kUnavailable) << answer.error().message;
  const auto nowhere = make_curl_transport({.origin = "nonsense://user:hunter2@host"})->send({.path = "/"}, {});
  EXPECT_EQ(nowhere.error().code, ErrorCode::kInvalid);
  EXPECT_EQ(nowhere.error().message, "the endpoint's origin is none like https://host:port");
}

TEST(CurlTransport, DecodesWhatIsCompressed) {
  // The words "said in gzip", in two parts that can be decoded as they come.
  const std::string first("\037\213\010\000\000\000\000\000\002\003\052\116\314\114\121\310\314\123\000\000\000\000\377\377", 24);
  const std::string second("\113\257\312\054\000\000\041\212\354\232\014\000\000\000", 14);
  std::latch first_was_read(1);
  TestServer server([&](Connection& connection) {
    const std::string asked = connection.request();
    connection.write("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n");
    connection.chunk(first);
    if (asked.find("/stream") != asked.npos) first_was_read.wait();
    connection.chunk(second);
    connection.write("0\r\n\r\n");
  });
  const auto transport = make_curl_transport({.origin = fmt::format("http://0.0.0.0:{}", server.port()), .gzip = true});
  EXPECT_EQ(transport->send({.path = "/"}, {})->body, "said in gzip");
  const auto stream = transport->open({.path = "/stream"}, {});
  ASSERT_TRUE(stream) << stream.error().message;
  EXPECT_EQ((*stream)->read(10s, {}).value(), "said in ");
  first_was_read.count_down();
  EXPECT_EQ((*stream)->read(10s, {}).value(), "gzip");
  EXPECT_EQ((*stream)->read(10s, {}).value(), std::nullopt);
}

TEST(CurlTransport, CarriesManyRequestsAtATime) {
  constexpr int kRequests = 200;
  std::latch all_asked(kRequests);
  TestServer server([&](Connection& connection) {
    const std::string request = connection.request();
    all_asked.arrive_and_wait();  // every one is under way before any is answered
    connection.answer(request.substr(5, request.find(' ', 5) - 5));
  });
  const auto transport = transport_to(server);
  std::vector<std::jthread> senders;
  for (int i = 0; i < kRequests; ++i) {
    senders.emplace_back(
        [&, i] { EXPECT_EQ(transport->send({.path = "/" + std::to_string(i)}, {}).value().body, std::to_string(i)); });
  }
}

TEST(CurlTransport, ItsEndCancelsWhatIsUnderWay) {
  std::latch asked(3);
  TestServer server([&](Connection& connection) {
    if (connection.request().starts_with("GET /stream")) connection.start_chunks();
    asked.count_down();
    connection.wait_for_end();
  });
  auto transport = transport_to(server);
  auto stream = transport->open({.path = "/stream"}, {});
  ASSERT_TRUE(stream);
  Transport& running = *transport;
  std::jthread sender([&] { EXPECT_EQ(running.send({.path = "/"}, {}).error().code, ErrorCode::kCancelled); });
  std::jthread opener([&] { EXPECT_EQ(running.open({.path = "/"}, {}).error().code, ErrorCode::kCancelled); });
  std::jthread reader([&] { EXPECT_EQ((*stream)->read(1h, {}).error().code, ErrorCode::kCancelled); });
  asked.wait();
  transport.reset();
}

TEST(CurlTransport, CostsNothingWhileIdle) {
  TestServer server([](Connection& connection) {
    connection.request();
    connection.start_chunks();
    connection.wait_for_end();
  });
  const auto transport = transport_to(server);
  const auto stream = transport->open({.path = "/"}, {});
  ASSERT_TRUE(stream);
  const auto switches = [] {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_nvcsw;
  };
  const long before = switches();
  EXPECT_EQ((*stream)->read(1500ms, {}).error().code, ErrorCode::kTimeout);
  EXPECT_LT(switches() - before, 25);    // a loop that polls would make hundreds; ThreadSanitizer itself makes 15
}

}  // namespace
}  // namespace nodeward::net
