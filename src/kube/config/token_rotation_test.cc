// Requirement R32: the mounted token changes, and the server stops taking the old one. The client as it is, against a scripted
// server that goes by the steps of the requirement's file (token-401.json).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "base/fake_clock.h"
#include "kube/client.h"
#include "kube/config/credentials.h"
#include "kube/config/temp_folder.h"
#include "net/scripted_transport.h"

namespace nodeward::kube {
namespace {

class R32 : public testing::Test {
 protected:
  R32() {
    mount("one", "tok-1\n");
    std::filesystem::create_symlink("data/token", folder_.path() / "token");
  }
  // As the kubelet does it: a new folder, and the link to it swapped.
  void mount(const std::string& name, const std::string& token) {
    std::filesystem::create_directory(folder_.path() / name);
    folder_.write(name + "/token", token);
    std::filesystem::create_directory_symlink(name, folder_.path() / "next");
    std::filesystem::rename(folder_.path() / "next", folder_.path() / "data");
  }
  Result<net::Response> ask() { return client_.send({.path = "/api/v1/nodes"}, {}); }
  Duration elapsed() const { return clock_.now() - start_; }

  TempFolder folder_;
  FakeClock clock_;
  const MonoTime start_ = clock_.now();
  std::atomic<int> refused_ = 0;
  std::string taken_ = "Bearer tok-1";  // what the server takes
  net::ScriptedTransport transport_{[this](const net::Request& request) -> Result<net::Response> {
    if (request.headers.back().value == taken_) return net::Response{200, {}, "{}"};
    ++refused_;
    return net::Response{401, {}, "unauthorized"};
  }};
  std::unique_ptr<Credentials> credentials_;
  Client client_{transport_,
                 {.authorization = [this](const std::stop_token& stop) { return credentials_->authorization(stop); },
                  .reload_credentials = [this](const Authorization& refused,
                                               const std::stop_token& stop) { return credentials_->reload(refused, stop); }},
                 clock_};

  void SetUp() override {
    credentials_ = std::make_unique<Credentials>(ClusterConfig{.token_file = folder_.path() / "token", .source = "a test"},
                                                 clock_);
  }
};

TEST_F(R32, ATokenSwappedAt20SecondsAndRefusedFrom20AndAHalfCostsOne401) {
  for (; elapsed() < 40s; clock_.advance(250ms)) {
    if (elapsed() == 20s) mount("two", "tok-2");
    if (elapsed() == 20500ms) taken_ = "Bearer tok-2";
    ASSERT_TRUE(ask()) << elapsed() / 1ms;
  }
  EXPECT_EQ(refused_, 1);
}

TEST_F(R32, AQuietClientHasTheNewTokenAfterAMinuteWithoutA401) {
  ASSERT_TRUE(ask());
  mount("two", "tok-2");
  taken_ = "Bearer tok-2";
  clock_.advance(60s);
  ASSERT_TRUE(ask());
  EXPECT_EQ(refused_, 0);
}

TEST_F(R32, ManyRequestsRefusedAtOnceAllGoOnWithTheNewToken) {
  mount("two", "tok-2");
  taken_ = "Bearer tok-2";
  std::vector<std::jthread> threads;
  for (int i = 0; i < 20; ++i) threads.emplace_back([this] { EXPECT_TRUE(ask()); });
  threads.clear();
  EXPECT_LE(refused_, 20);
}

TEST_F(R32, AFileMissingOrEmptyForTwoSecondsKeepsTheOldTokenAndIsWarnedOfOnce) {
  ASSERT_TRUE(ask());
  clock_.advance(60s);
  testing::internal::CaptureStderr();
  std::filesystem::remove(folder_.path() / "data");
  for (int i = 0; i < 8; ++i) {
    ASSERT_TRUE(ask());
    clock_.advance(250ms);
  }
  mount("empty", "");
  for (int i = 0; i < 8; ++i) {
    credentials_->reload(Authorization("Bearer tok-1"), {});  // read now, not in a minute
    ASSERT_TRUE(ask());
    clock_.advance(250ms);
  }
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_EQ(std::count(log.begin(), log.end(), '\n'), 1) << log;
  EXPECT_THAT(log, testing::Not(testing::HasSubstr("tok-")));
  EXPECT_EQ(refused_, 0);
}

TEST_F(R32, A401ThatStaysIsTheCallersToWaitFor) {
  taken_ = "none";
  for (int i = 0; i < 5; ++i) EXPECT_EQ(ask().error().code, ErrorCode::kUnauthorized);
  EXPECT_EQ(refused_, 5);  // the same token is not sent twice for one request
}

}  // namespace
}  // namespace nodeward::kube
