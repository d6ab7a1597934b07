// R08 on a real path: two network namespaces, a cable between them, and packets that get lost on it because a neighbour's address is
// wrong, so neither end is told. Needs the right to make networks, and `ip`. In its long form (NODEWARD_LONG) with the numbers of the product.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>
#include <future>
#include <optional>
#include <thread>

#include "net/curl_transport.h"
#include "net/test_server.h"

namespace nodeward::net {
namespace {

bool is_long() { return std::getenv("NODEWARD_LONG") != nullptr; }

// A network of its own. Whatever `call` makes (sockets, threads, programs) belongs to it.
class Namespace {
 public:
  Namespace() {
    std::promise<int> made;
    thread_ = std::jthread([this, &made](const std::stop_token& stop) {
      path_ = fmt::format("/proc/{}/task/{}/ns/net", getpid(), syscall(SYS_gettid));
      made.set_value(unshare(CLONE_NEWNET));
      std::unique_lock lock(mutex_);
      while (changed_.wait(lock, stop, [&] { return task_.has_value(); })) {
        (*task_)();
        task_.reset();
        changed_.notify_all();
      }
    });
    usable_ = made.get_future().get() == 0;
  }
  bool usable() const { return usable_; }
  const std::string& path() const { return path_; }
  void call(std::function<void()> task) {
    std::unique_lock lock(mutex_);
    task_ = std::move(task);
    changed_.notify_all();
    changed_.wait(lock, [&] { return !task_; });
  }
  bool tries_ip(const std::string& arguments) {
    bool done = false;
    call([&] { done = std::system(("ip " + arguments).c_str()) == 0; });
    return done;
  }
  void ip(const std::string& arguments) {
    call([&] { EXPECT_EQ(std::system(("ip " + arguments).c_str()), 0) << "ip " << arguments; });
  }

 private:
  std::string path_;
  bool usable_ = false;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::optional<std::function<void()>> task_;
  std::jthread thread_;
};

class R08OnADeadPath : public testing::Test {
 protected:
  void SetUp() override {
    // Where nobody may make networks the long form fails; the ordinary run has R08 on the simulated server too (tests/chaos).
    constexpr auto kNoNetwork = "cannot make a network of two namespaces: run as root, with CAP_SYS_ADMIN and CAP_NET_ADMIN";
    if (!client_.usable() || !server_.usable() ||
        !server_.tries_ip("link add nw-server type veth peer name nw-client netns " + client_.path())) {
      if (is_long()) FAIL() << kNoNetwork;
      GTEST_SKIP() << kNoNetwork;
    }
    server_.ip("addr add 10.77.0.1/30 dev nw-server");
    server_.ip("link set nw-server up");
    client_.ip("addr add 10.77.0.2/30 dev nw-client");
    client_.ip("link set nw-client up");
    server_.call([this] {
      listener_ = std::make_unique<TestServer>(
          [](Connection& connection) {
            while (true) {
              const std::string request = connection.request();
              if (request.empty()) return;
              if (request.starts_with("GET /watch")) {
                connection.start_chunks();
                connection.chunk("event");
              } else {
                connection.answer("done");
              }
            }
          },
          INADDR_ANY);
    });
    client_.call([this] {
      transport_ = make_curl_transport({.origin = fmt::format("http://10.77.0.1:{}", listener_->port()), .liveness = liveness_});
    });
  }
  void TearDown() override {
    if (IsSkipped()) return;
    client_.call([this] { transport_.reset(); });
    server_.call([this] { listener_.reset(); });
  }
  void lose_packets_to_the_server() {
    client_.ip("neigh replace 10.77.0.1 lladdr 02:00:00:00:00:01 dev nw-client nud permanent");
  }
  void lose_packets_to_the_client() {
    server_.ip("neigh replace 10.77.0.2 lladdr 02:00:00:00:00:02 dev nw-server nud permanent");
  }
  void mend() {
    client_.ip("neigh flush all nud permanent");
    server_.ip("neigh flush all nud permanent");
  }
  void expect_the_watch_to_end_and_the_next_to_work(const std::function<void()>& lose) {
    auto stream = transport_->open({.path = "/watch"}, {});
    ASSERT_TRUE(stream) << stream.error().message;
    ASSERT_TRUE((*stream)->read(5s, {}));
    const MonoTime last_byte = Clock::real().now();
    lose();
    const auto read = (*stream)->read(is_long() ? Duration(2min) : Duration(30s), {});
    const Duration took = Clock::real().now() - last_byte;
    EXPECT_EQ(read.error().code, ErrorCode::kUnavailable) << read.error().message;
    EXPECT_LE(took, most_) << read.error().message;
    RecordProperty("milliseconds", fmt::format("{}", std::chrono::duration_cast<std::chrono::milliseconds>(took).count()));
    mend();
    stream = transport_->open({.path = "/watch"}, {});
    ASSERT_TRUE(stream) << stream.error().message;
    EXPECT_EQ((*stream)->read(5s, {}).value(), "event");
  }

  const Liveness liveness_ = is_long() ? Liveness{}
                                       : Liveness{.idle = 1s,
                                                  .interval = 1s,
                                                  .probes = 2,
                                                  .unacknowledged = std::chrono::milliseconds(1500)};
  // In the short form with room for a first round trip that a busy machine made long: TCP retransmits by that.
  const Duration most_ = is_long() ? Duration(45s) : Duration(10s);
  Namespace client_;
  Namespace server_;
  std::unique_ptr<TestServer> listener_;
  std::unique_ptr<Transport> transport_;
};

TEST_F(R08OnADeadPath, PacketsLostBothWaysAreFound) {
  expect_the_watch_to_end_and_the_next_to_work([this] {
    lose_packets_to_the_server();
    lose_packets_to_the_client();
  });
}

TEST_F(R08OnADeadPath, PacketsLostOnTheWayToTheServerAreFound) {
  expect_the_watch_to_end_and_the_next_to_work([this] { lose_packets_to_the_server(); });
}

TEST_F(R08OnADeadPath, PacketsLostOnTheWayToTheClientAreFound) {
  expect_the_watch_to_end_and_the_next_to_work([this] { lose_packets_to_the_client(); });
}

TEST_F(R08OnADeadPath, AWriteUnderWayIsEndedToo) {
  ASSERT_TRUE(transport_->send({.path = "/"}, {}));
  lose_packets_to_the_server();
  const MonoTime sent = Clock::real().now();
  const Duration patience = is_long() ? Duration(2min) : Duration(30s);
  const auto answer = transport_->send(
      {.method = "PATCH", .path = "/", .body = "{}", .timeout = patience, .first_byte = patience}, {});
  EXPECT_EQ(answer.error().code, ErrorCode::kUnavailable) << answer.error().message;
  EXPECT_LE(Clock::real().now() - sent, most_);
  mend();
  EXPECT_TRUE(transport_->send({.path = "/"}, {}));
}

// Twenty minutes in the long form.
TEST_F(R08OnADeadPath, AQuietPathIsLeftAlone) {
  const auto stream = transport_->open({.path = "/watch"}, {});
  ASSERT_TRUE(stream);
  ASSERT_TRUE((*stream)->read(5s, {}));
  const auto read = (*stream)->read(is_long() ? Duration(20min) : Duration(4s), {});
  EXPECT_EQ(read.error().code, ErrorCode::kTimeout) << read.error().message;
  EXPECT_EQ(listener_->connections(), 1U);
}

}  // namespace
}  // namespace nodeward::net
