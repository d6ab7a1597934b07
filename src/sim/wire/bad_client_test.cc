// Clients that are broken, slow, rude or gone, and a server that has to live with them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <filesystem>
#include <random>

#include "net/test_certificates.h"
#include "sim/wire/test_client.h"
#include "sim/wire/test_server.h"

namespace nodeward::sim::wire {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr std::string_view kGet = "GET /echo HTTP/1.1\r\nHost: x\r\n\r\n";

long open_descriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return std::distance(begin(all), end(all));
}

bool serves(const TestServer& server) {
  RawClient raw(server.port());
  raw.send(kGet);
  return raw.read_until("GET /echo ").starts_with("HTTP/1.1 201");
}

// What this process uses while the loop does nothing for `wait`.
Duration busy_during(TestServer& server, Duration wait) {
  const auto used = [] {
    timespec time{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return Duration(std::chrono::seconds(time.tv_sec)) + std::chrono::nanoseconds(time.tv_nsec);
  };
  const Duration before = used();
  std::promise<void> over;
  server.server->after(wait, [&] { over.set_value(); });
  over.get_future().wait();
  return used() - before;
}

bool comes_to_rest(TestServer& server) {
  for (int i = 0; i < 100; ++i) {
    if (busy_during(server, 50ms) < 10ms) return true;
  }
  return false;
}

net::TestCertificate certificate() { return net::make_certificate("server", "IP:127.0.0.1"); }

TEST(BadClient, BytesOfAnyKindLeaveTheServerAsItWas) {
  const net::TestCertificate own = certificate();
  TestServer clear({.patience = 5ms});
  TestServer tls({.tls = {.certificate_pem = own.certificate_pem(), .key_pem = own.key_pem()}, .patience = 5ms});
  const long before = open_descriptors();
  std::mt19937 random(1);
  const std::string preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + std::string("\0\0\0\4\0\0\0\0\0", 9);
  for (int round = 0; round < 300; ++round) {
    std::string bytes = round % 3 == 0 ? preface : round % 3 == 1 ? std::string(kGet) : std::string();
    for (unsigned i = 0; i < random() % 300; ++i) bytes += static_cast<char>(random());
    for (const TestServer* server : {&clear, &tls}) {
      RawClient raw(server->port());
      raw.send(bytes);
      if (round % 2 == 0) raw.end_output();
      if (round % 10 == 0) raw.read();  // the end, at the latest when patience is
    }
  }
  EXPECT_TRUE(serves(clear));
  EXPECT_TRUE(clear.becomes([&] { return open_descriptors() == before; }));
}

TEST(BadClient, OneThatOwesTheRestIsCutOff) {
  TestServer server({.patience = 20ms});
  const long before = open_descriptors();
  RawClient silent(server.port());
  RawClient half_head(server.port());
  half_head.send("GET / HTTP/1.1\r\nHos");
  RawClient half_body(server.port());
  half_body.send("PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n1");
  RawClient half_preface(server.port());
  half_preface.send("PRI * HTTP/2.0\r\n");
  RawClient no_settings(server.port());
  no_settings.send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
  RawClient second_half(server.port());
  second_half.send(std::string(kGet) + "GET");
  for (RawClient* raw : {&silent, &half_head, &half_body, &half_preface, &no_settings, &second_half}) raw->read_to_end();
  EXPECT_EQ(open_descriptors(), before + 6);
  // One that owes nothing may rest as long as it likes.
  RawClient resting(server.port());
  resting.send(kGet);
  resting.read_until("GET /echo ");
  busy_during(server, 50ms);
  resting.send(kGet);
  EXPECT_THAT(resting.read_until("GET /echo "), StartsWith("HTTP/1.1 201"));
}

TEST(BadClient, OneThatDoesNotReadHoldsUpNeitherMemoryNorOthers) {
  TestServer server;
  Lines::made = 0;
  constexpr long kMany = 100'000'000;  // 1 GB
  RawClient slow(server.port(), 4096);
  slow.send("GET /lines/" + std::to_string(kMany) + " HTTP/1.1\r\nHost: x\r\n\r\n");
  Http2Client slow2(server.port(), 1 << 30);
  slow2.ask("GET", "/lines/" + std::to_string(kMany));
  slow2.flush();
  RawClient pipelining(server.port(), 4096);
  std::thread pusher([&] {
    std::string requests;
    for (int i = 0; i < 1000; ++i) requests += "GET /big/100000 HTTP/1.1\r\nHost: x\r\n\r\n";
    for (int i = 0; i < 100 && pipelining.send(requests); ++i) {
    }
  });
  ASSERT_TRUE(server.becomes([&] { return server.handled >= 3; }));
  EXPECT_TRUE(comes_to_rest(server));
  EXPECT_LT(Lines::made, 3'000'000);  // what two sockets and their buffers hold, on a machine with large ones
  EXPECT_LT(server.handled, 1'000);
  EXPECT_TRUE(serves(server));
  shutdown(pipelining.fd(), SHUT_RDWR);
  pusher.join();
  // It still gets all that it asks for.
  EXPECT_TRUE(slow2.run([&] { return slow2.answers[1].body.size() > 20'000'000; }));
}

TEST(BadClient, OneThatClosesHalfAndDoesNotReadCostsNoTime) {
  TestServer server;
  RawClient half(server.port(), 4096);
  half.send("GET /big/50000000 HTTP/1.1\r\nHost: x\r\n\r\n");
  Http2Client half2(server.port(), 1 << 30);
  half2.ask("GET", "/big/50000000");
  half2.flush();
  ASSERT_TRUE(server.becomes([&] { return server.handled == 2; }));
  half.end_output();
  half2.raw().end_output();
  EXPECT_TRUE(comes_to_rest(server));
}

TEST(BadClient, OneThatGoesInMidAnswerLeavesNothingBehind) {
  TestServer server;
  const long before = open_descriptors();
  for (int i = 0; i < 20; ++i) {
    RawClient raw(server.port());
    raw.send("GET /lines/10000000 HTTP/1.1\r\nHost: x\r\n\r\n");
    raw.read();
    Http2Client client(server.port());
    client.ask("GET", "/lines/10000000");
    client.run([&] { return !client.answers[1].body.empty(); });
  }
  EXPECT_TRUE(server.becomes([&] { return open_descriptors() == before; }));
  EXPECT_TRUE(serves(server));
}

std::string frame(unsigned char type, unsigned char flags, unsigned char id, const std::string& body = {}) {
  std::string head(9, '\0');
  head[2] = static_cast<char>(body.size());
  head[3] = static_cast<char>(type);
  head[4] = static_cast<char>(flags);
  head[8] = static_cast<char>(id);
  return head + body;
}

TEST(BadClient, FloodsOfFramesEndTheConnectionOrAreSwallowed) {
  TestServer server;
  const long before = open_descriptors();
  const std::string preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(4, 0, 0);
  const std::string floods[] = {
      frame(4, 0, 0, std::string("\0\4\0\1\0\0", 6)),  // SETTINGS
      frame(6, 0, 0, "12345678"),                       // PING
      frame(2, 0, 1, std::string("\0\0\0\0\1", 5)),    // PRIORITY
      frame(0x77, 0, 0, "what"),                        // of no known type
  };
  for (const std::string& one : floods) {
    std::string many;
    while (many.size() < 1'000'000) many += one;
    RawClient raw(server.port(), 4096);
    raw.send(preface);
    raw.send(many);
    EXPECT_TRUE(serves(server));
  }
  Http2Client resetting(server.port());
  for (int i = 0; i < 10'000; ++i) {
    resetting.reset(resetting.ask("GET", "/wait"));
    if (i % 50 == 0) resetting.flush();
  }
  EXPECT_EQ(resetting.get("/echo").status, 201);
  EXPECT_TRUE(server.becomes([&] {
    return std::all_of(server.waiting.begin(), server.waiting.end(), [](const auto& exchange) { return exchange->gone(); });
  }));
  EXPECT_TRUE(server.becomes([&] { return open_descriptors() == before + 2; }));  // of the last client
}

TEST(Server, WaitsForAFileDescriptorWithoutHaste) {
  TestServer server;
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  ASSERT_TRUE(serves(server));
  RawClient later_socket(0);      // not connected yet
  const rlimit low{.rlim_cur = static_cast<rlim_t>(later_socket.fd()) + 1, .rlim_max = limit.rlim_max};
  setrlimit(RLIMIT_NOFILE, &low);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(server.port()));
  EXPECT_EQ(connect(later_socket.fd(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  later_socket.send(kGet);
  const Duration busy = busy_during(server, 300ms);
  setrlimit(RLIMIT_NOFILE, &limit);
  EXPECT_LT(busy, 50ms);
  EXPECT_THAT(later_socket.read_until("GET /echo "), StartsWith("HTTP/1.1 201"));
}

TEST(Server, ShutsAndOpensAgainOnItsPort) {
  TestServer server;
  RawClient raw(server.port());
  raw.send("GET /wait HTTP/1.1\r\nHost: x\r\n\r\n");
  ASSERT_TRUE(server.becomes([&] { return server.waiting.size() == 1; }));
  for (int i = 0; i < 3; ++i) {
    server.on_loop([&] { server.server->shut(); });
    EXPECT_TRUE(server.on_loop([&] { return server.waiting[0]->gone(); }));
    EXPECT_EQ(raw.read(), "");
    EXPECT_FALSE(RawClient(server.port()).connected());
    const auto opened = server.on_loop([&] { return server.server->open_again(); });
    ASSERT_TRUE(opened) << opened.error().message;
    EXPECT_TRUE(serves(server));
  }
}

TEST(Server, RunsTasksInTime) {
  TestServer server;
  std::vector<int> order;
  std::promise<void> over;
  server.server->after(20ms, [&] {
    order.push_back(3);
    over.set_value();
  });
  server.server->after(1ms, [&] {
    order.push_back(2);
    server.server->post([&] { order.push_back(20); });  // from the loop itself
  });
  server.on_loop([&] { order.push_back(1); });
  server.server->after(1h, [&] { order.push_back(4); });
  over.get_future().wait();
  server.end();
  EXPECT_THAT(order, testing::ElementsAre(1, 2, 20, 3));
}

TEST(Server, SaysWhyItCannotListen) {
  const auto message = [](ServerOptions options) {
    const auto server = Server::listen(std::move(options), [](const std::shared_ptr<Exchange>&) {});
    return server ? "it can" : server.error().message;
  };
  const TestServer first;
  EXPECT_EQ(message({.port = first.port()}),
            "cannot listen on 127.0.0.1 port " + std::to_string(first.port()) + ": Address already in use");
  EXPECT_THAT(message({.address = "nowhere"}), HasSubstr("nowhere port 0: this is no IP address"));
  EXPECT_THAT(message({.port = 70000}), HasSubstr("a port is a number from 0 to 65535"));
  const net::TestCertificate own = certificate();
  EXPECT_THAT(message({.tls = {.certificate_pem = "SECRET", .key_pem = own.key_pem()}}),
              StartsWith("TLS: the certificate is not"));
  for (const std::string& key : {std::string("SECRET"), std::string(), certificate().key_pem()}) {
    EXPECT_EQ(message({.tls = {.certificate_pem = own.certificate_pem(), .key_pem = key}}),
              "TLS: the key is not the certificate's, or not one in PEM form without a password");
  }
  EXPECT_EQ(message({.address = "::1"}), "it can");
}

}  // namespace
}  // namespace nodeward::sim::wire
