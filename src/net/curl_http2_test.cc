// What an HTTP/2 server can do to a request (R12), and how a connection that is dead is told from one that is quiet (R08).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <thread>
#include <vector>

#include "net/curl_transport.h"
#include "net/test_h2_server.h"

namespace nodeward::net {
namespace {

using testing::HasSubstr;

Request patch(Duration timeout = 10s) { return {.method = "PATCH", .path = "/", .body = "{}", .timeout = timeout}; }

// Sends `count` patches at a time over one connection that has been in use, and gives the errors.
std::vector<Error> send_together(Transport& transport, int count) {
  EXPECT_TRUE(transport.send({.path = "/"}, {}));
  std::mutex mutex;
  std::vector<Error> errors;
  std::vector<std::jthread> senders;
  for (int i = 0; i < count; ++i) {
    senders.emplace_back([&] {
      const auto answer = transport.send(patch(), {});
      const std::lock_guard lock(mutex);
      if (!answer) errors.push_back(answer.error());
    });
  }
  senders.clear();
  return errors;
}

TEST(R12, StreamsAboveTheLastIdGoOutAgainOnANewConnection) {
  for (const int together : {1, 2, 8}) {
    std::atomic<int> connections = 0;
    std::atomic<int> requests = 0;
    TestH2Server server([&](H2Connection& connection) {
      const bool first = connections++ == 0;
      std::vector<std::uint32_t> open;
      while (const std::uint32_t stream = connection.request()) {
        ++requests;
        if (!first || requests == 1) {
          connection.answer(stream, "ok");
          continue;
        }
        open.push_back(stream);
        if (static_cast<int>(open.size()) < together) continue;
        connection.go_away(open.front() - (together == 1 ? 2 : 0));      // all, or all but the first
        if (together > 1) connection.answer(open.front(), "ok");
      }
    });
    const auto transport = make_curl_transport(server.endpoint());
    EXPECT_THAT(send_together(*transport, together), testing::IsEmpty()) << together;
    EXPECT_EQ(requests, 1 + together + std::max(1, together - 1)) << "each that was refused once more, and no other";
    EXPECT_EQ(server.connections(), 2U);
  }
}

TEST(R12, ARefusedStreamIsSentAgain) {
  std::atomic<int> requests = 0;
  TestH2Server server([&](H2Connection& connection) {
    while (const std::uint32_t stream = connection.request()) {
      ++requests == 2 ? connection.reset(stream, kRefusedStream) : connection.answer(stream, "ok");
    }
  });
  const auto transport = make_curl_transport(server.endpoint());
  EXPECT_THAT(send_together(*transport, 1), testing::IsEmpty());
  EXPECT_EQ(requests, 3);
}

// 'R': RST_STREAM, 'F': the connection ends, 'A': it is reset. The write may have been done: it is sent once, and the caller told.
TEST(R12, AWriteThatMayHaveBeenDoneIsSentOnceAndItsOutcomeUnknown) {
  for (const char how : {'R', 'F', 'A'}) {
    for (const int together : {1, 4}) {
      std::atomic<int> requests = 0;
      TestH2Server server([&](H2Connection& connection) {
        while (const std::uint32_t stream = connection.request()) {
          if (++requests == 1) {
            connection.answer(stream, "ok");
          } else if (how == 'R') {
            connection.reset(stream, kInternalError);
          } else if (requests == 1 + together) {
            if (how == 'A') connection.abort();
            return;
          }
        }
      });
      const auto transport = make_curl_transport(server.endpoint());
      const auto errors = send_together(*transport, together);
      ASSERT_EQ(errors.size(), static_cast<std::size_t>(together)) << how;
      for (const Error& error : errors) EXPECT_EQ(error.code, ErrorCode::kUnavailable) << how << error.message;
      EXPECT_EQ(requests, 1 + together) << how;
    }
  }
}

TEST(R12, WhereNobodyListensNothingWasSent) {
  std::string origin;
  {
    origin = TestServer([](Connection&) {}).origin();
  }
  origin.insert(4, "s");
  EXPECT_EQ(make_curl_transport({.origin = origin})->send(patch(), {}).error().code, ErrorCode::kUnreachable);
}

TEST(CurlTransport, OverHttp2EachStreamHasAConnectionOfItsOwn) {
  std::atomic<int> asked = 0;
  TestH2Server server([&](H2Connection& connection) {
    while (const std::uint32_t stream = connection.request()) {
      if (++asked <= 2) {
        connection.begin(stream);
      } else {
        connection.answer(stream, "ok");
      }
    }
  });
  const auto transport = make_curl_transport(server.endpoint());
  const auto one = transport->open({.path = "/watch"}, {});
  const auto other = transport->open({.path = "/watch"}, {});
  ASSERT_TRUE(one && other);
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(transport->send(patch(), {}));
  EXPECT_EQ(server.connections(), 3U) << "one for each stream, and one for all the rest";
}

// ---- R08 -------------------------------------------------------------------------------------------------------------------

// Silence is short, and the answer comes in any case: a slow machine makes no connection dead.
constexpr Liveness kQuick{.silence = 50ms, .answer = 1min};
Request watch() { return {.path = "/watch", .probe = "/livez"}; }

// Streams are answered and stay open; what else comes on their connection is a probe.
struct Watched {
  std::atomic<int> probes = 0;
  std::atomic<Duration> closest = Duration(1h);  // between two probes
  std::atomic<bool> hung = false;  // the server acknowledges bytes, and does nothing
  TestH2Server server{[this](H2Connection& connection) {
    const std::uint32_t stream = connection.request();
    MonoTime last = Clock::real().now();
    connection.begin(stream);
    while (const std::uint32_t probe = connection.request()) {
      const MonoTime now = Clock::real().now();
      closest = std::min(closest.load(), now - std::exchange(last, now));
      ++probes;
      if (!hung) connection.answer(probe, "ok");
    }
  }};
};

TEST(R08, AQuietStreamIsProbedOnItsOwnConnectionAndLeftAlone) {
  Watched watched;
  const auto transport = make_curl_transport(watched.server.endpoint(kQuick));
  const auto stream = transport->open(watch(), {});
  ASSERT_TRUE(stream) << stream.error().message;
  while (watched.probes < 5) {
    const auto read = (*stream)->read(10ms, {});
    ASSERT_EQ(read.error().code, ErrorCode::kTimeout) << read.error().message;
  }
  EXPECT_GE(watched.closest.load(), kQuick.silence);
  EXPECT_EQ(watched.server.connections(), 1U);
}

// A server that is about to end lets streams go on and takes no new one: a probe cannot be had, and the watch is left to TCP.
TEST(R08, AStreamWhoseConnectionHasSeenAGoAwayIsNotTakenForDead) {
  std::atomic<bool> first = true;
  TestH2Server server([&](H2Connection& connection) {
    const std::uint32_t stream = connection.request();
    if (first.exchange(false)) {
      connection.begin(stream);
      connection.data(stream, "event");
      connection.go_away(stream);
    } else {
      connection.answer(stream, "ok");
    }
    while (connection.request() != 0) {
    }
  });
  const auto transport = make_curl_transport(server.endpoint({.silence = 50ms, .answer = 100ms}));
  const auto stream = transport->open(watch(), {});
  ASSERT_TRUE(stream);
  EXPECT_EQ((*stream)->read(10s, {}).value(), "event");
  const auto read = (*stream)->read(1s, {});
  EXPECT_EQ(read.error().code, ErrorCode::kTimeout) << read.error().message;
  EXPECT_LE(server.connections(), 2U);
}

TEST(R08, AConnectionThatAnswersNoProbeIsDeadAndIsNotUsedAgain) {
  Watched watched;
  watched.hung = true;
  const auto transport = make_curl_transport(watched.server.endpoint({.silence = 50ms, .answer = 100ms}));
  auto stream = transport->open(watch(), {});
  ASSERT_TRUE(stream) << stream.error().message;
  const auto read = (*stream)->read(1min, {});
  EXPECT_EQ(read.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(read.error().message, testing::AllOf(HasSubstr("the connection is dead"), HasSubstr("no answer to /livez")));
  watched.hung = false;
  ASSERT_TRUE(transport->open(watch(), {}));
  EXPECT_EQ(watched.server.connections(), 2U);
}

TEST(R08, AStreamWithoutAProbeOrOverHttp1IsLeftToTcp) {
  Watched watched;
  const auto transport = make_curl_transport(watched.server.endpoint(kQuick));
  const auto stream = transport->open({.path = "/watch"}, {});
  EXPECT_EQ((*stream)->read(500ms, {}).error().code, ErrorCode::kTimeout);
  EXPECT_EQ(watched.probes, 0);

  TestServer plain([](Connection& connection) {
    connection.request();
    connection.start_chunks();
    connection.wait_for_end();
  });
  const auto over_http1 = make_curl_transport({.origin = plain.origin(), .liveness = kQuick});
  const auto other = over_http1->open(watch(), {});
  EXPECT_EQ((*other)->read(500ms, {}).error().code, ErrorCode::kTimeout);
  EXPECT_EQ(plain.connections(), 1U);
}

TEST(R08, AReaderThatDoesNotReadIsNoDeadConnection) {
  TestH2Server server([](H2Connection& connection) {
    const std::uint32_t stream = connection.request();
    connection.begin(stream);
    for (int i = 0; i < 12 * 64; ++i) connection.data(stream, std::string(16'000, 'x'));
    while (const std::uint32_t probe = connection.request()) connection.answer(probe, "ok");
  });
  const auto transport = make_curl_transport(server.endpoint({.silence = 50ms, .answer = 1s}));
  const auto stream = transport->open(watch(), {});
  ASSERT_TRUE(stream);
  std::this_thread::sleep_for(1500ms);  // longer than both
  std::size_t bytes = 0;
  while (bytes < std::size_t{12} * 64 * 16'000) {
    const auto more = (*stream)->read(5s, {});
    ASSERT_TRUE(more) << more.error().message << " after " << bytes;
    bytes += (*more)->size();
  }
}

// Probes and events at the same moments, a thousand times: no event may lie in libcurl's buffers until the next byte.
TEST(R08, ProbesHoldUpNoEvent) {
  constexpr int kEvents = 1000;
  TestH2Server server([](H2Connection& connection) {
    const std::uint32_t stream = connection.request();
    connection.begin(stream);
    for (int i = 0; i < kEvents; ++i) {
      connection.data(stream, std::string(1 + static_cast<std::size_t>(i) * 37 % 4000, 'x') + "\n");
      std::this_thread::sleep_for(std::chrono::microseconds(i * 311 % 4000));
      if (!connection.waits()) continue;
      const std::uint32_t probe = connection.request();
      connection.answer(probe, std::string(probe * 7 % 3000, 'y'));
    }
    while (const std::uint32_t probe = connection.request()) connection.answer(probe, "ok");
  });
  const auto transport = make_curl_transport(server.endpoint({.silence = 1ms, .answer = 5s}));
  const auto stream = transport->open(watch(), {});
  ASSERT_TRUE(stream);
  int events = 0;
  while (events < kEvents) {
    const auto more = (*stream)->read(10s, {});
    ASSERT_TRUE(more) << more.error().message << " after " << events;
    events += static_cast<int>(std::count((*more)->begin(), (*more)->end(), '\n'));
  }
  EXPECT_EQ(server.connections(), 1U);
}

}  // namespace
}  // namespace nodeward::net
