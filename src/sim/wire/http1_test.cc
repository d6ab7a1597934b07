#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "sim/wire/http1_parser.h"

namespace nodeward::sim::wire {
namespace {

using State = RequestParser::State;

constexpr std::size_t kHead = 1000;
constexpr std::size_t kBody = 20;

struct Parsed {
  std::vector<Request> requests;
  State last = State::kMore;
  int status = 0;
};

// As it comes in pieces of `piece` bytes.
Parsed parse(std::string_view text, std::size_t piece = std::string_view::npos) {
  RequestParser parser(kHead, kBody);
  Parsed parsed;
  while (!text.empty()) {
    std::string_view part = text.substr(0, piece);
    text.remove_prefix(part.size());
    while (!part.empty()) {
      parsed.last = parser.feed(part);
      if (parsed.last == State::kReady) parsed.requests.push_back(parser.take());
      if (parsed.last == State::kFailed) {
        parsed.status = parser.status();
        return parsed;
      }
    }
  }
  return parsed;
}

std::string one(std::string_view head, std::string_view body = "") {
  return std::string(head) + "\r\nHost: x\r\n\r\n" + std::string(body);
}

TEST(RequestParser, ReadsAHeadAndABody) {
  const auto parsed = parse("PATCH /api/v1/nodes/n?a=b HTTP/1.1\r\nHOST: x:1\r\nX-Two:  a b \r\nContent-Length: 5\r\n\r\nhello");
  ASSERT_EQ(parsed.requests.size(), 1u);
  const Request& request = parsed.requests[0];
  EXPECT_EQ(request.method, "PATCH");
  EXPECT_EQ(request.target, "/api/v1/nodes/n?a=b");
  EXPECT_EQ(request.header("host"), "x:1");
  EXPECT_EQ(request.header("x-two"), "a b");
  EXPECT_EQ(request.header("x-three"), "");
  EXPECT_EQ(request.body, "hello");
}

TEST(RequestParser, ReadsTheSameHoweverTheBytesCome) {
  const std::string text =
      "POST /1 HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5;note=1\r\nhello\r\n00A\r\n, dear all\r\n0\r\nX-Sum: "
      "1\r\n\r\n"
      "GET /2 HTTP/1.1\nHost: x\n\n"
      "PUT /3 HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc";
  for (std::size_t piece = 1; piece <= text.size(); ++piece) {
    const auto parsed = parse(text, piece);
    ASSERT_EQ(parsed.requests.size(), 3u) << piece;
    EXPECT_EQ(parsed.requests[0].target + parsed.requests[0].body, "/1hello, dear all");
    EXPECT_EQ(parsed.requests[1].target + parsed.requests[1].body, "/2");
    EXPECT_EQ(parsed.requests[2].target + parsed.requests[2].body, "/3abc");
  }
}

TEST(RequestParser, RefusesWhatCanBeUnderstoodInTwoWays) {
  struct Case {
    const char* text;
    int status;
  };
  const Case cases[] = {
      {"GET\r\n\r\n", 400},
      {"GET /\r\n\r\n", 400},
      {"\x16\x03\x01 / HTTP/1.1\r\n\r\n", 400},
      {"GET /a b HTTP/1.1\r\n\r\n", 400},
      {"GET / HTTX/1.1\r\n\r\n", 400},
      {"GET / HTTP/3.0\r\n\r\n", 505},
      {"GET / HTTP/1.1\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\nHost: x\r\nno colon\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\nHost: x\r\nSpace : x\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\nHost: x\r\n folded\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\nHost: x\r\nA: \x01\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 0x1\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\n\r\n", 501},
      {"GET / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n", 400},
      {"GET / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n", 400},
      {"GET / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n", 400},
      {"GET / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n", 413},
      {"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 21\r\n\r\n", 413},
      {"GET / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n14\r\n01234567890123456789\r\n1\r\n", 413},
  };
  for (const Case& bad : cases) {
    EXPECT_EQ(parse(bad.text).status, bad.status) << bad.text;
    EXPECT_EQ(parse(bad.text, 1).status, bad.status) << bad.text;
  }
}

TEST(RequestParser, TakesABodyOfTheMostThatIsAllowed) {
  EXPECT_EQ(parse("PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 20\r\n\r\n01234567890123456789").requests.size(), 1u);
}

TEST(RequestParser, RefusesAHeadThatIsTooLong) {
  const std::string many = "GET / HTTP/1.1\r\nHost: x\r\n" + std::string(500, 'a') + ": b\r\n" + std::string(500, 'c') +
                           ": d\r\n";
  EXPECT_EQ(parse(many).status, 431);
  EXPECT_EQ(parse(many, 7).status, 431);
  EXPECT_EQ(parse(std::string(kHead + 1, 'x')).status, 431);
  const std::string trailer = "PUT / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n" +
                              std::string(kHead + 1, 'x');
  EXPECT_EQ(parse(trailer, 10).status, 431);
}

TEST(RequestParser, SaysWhenTheClientWaitsForContinue) {
  RequestParser parser(kHead, kBody);
  std::string_view head = "PUT / HTTP/1.1\r\nHost: x\r\nExpect: 100-Continue\r\nContent-Length: 2\r\n\r\n";
  EXPECT_EQ(parser.feed(head), State::kExpectsContinue);
  std::string_view body = "ok";
  EXPECT_EQ(parser.feed(body), State::kReady);
  EXPECT_EQ(parser.take().body, "ok");
  std::string_view impatient = "PUT / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\nok";
  EXPECT_EQ(parser.feed(impatient), State::kReady);
}

TEST(RequestParser, KnowsWhetherTheConnectionLivesOn) {
  const auto keep_alive = [](const std::string& text) {
    RequestParser parser(kHead, kBody);
    std::string_view bytes = text;
    EXPECT_EQ(parser.feed(bytes), State::kReady);
    return parser.keep_alive();
  };
  EXPECT_TRUE(keep_alive(one("GET / HTTP/1.1")));
  EXPECT_FALSE(keep_alive(one("GET / HTTP/1.0")));
  EXPECT_FALSE(keep_alive(one("GET / HTTP/1.1\r\nConnection: x, Close")));
}

// Whatever comes: it ends, it takes bytes, and it keeps no more than it may.
TEST(RequestParser, TakesAnyBytes) {
  std::mt19937 random(7);
  const std::string good = "POST /1 HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n";
  for (int round = 0; round < 20'000; ++round) {
    std::string text = good + good;
    for (unsigned i = random() % 4; i > 0; --i) text[random() % text.size()] = static_cast<char>(random());
    text.resize(random() % (text.size() + 1));
    const auto whole = parse(text);
    const auto pieces = parse(text, 1 + random() % 9);
    ASSERT_EQ(whole.requests.size(), pieces.requests.size()) << text;
    ASSERT_EQ(whole.status, pieces.status) << text;
  }
}

}  // namespace
}  // namespace nodeward::sim::wire
