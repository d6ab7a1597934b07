// The client certificate or the CA is replaced while requests and streams are under way (R31, R32).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <memory>
#include <semaphore>
#include <string>
#include <thread>

#include "base/guarded.h"
#include "net/curl_transport.h"
#include "net/test_h2_server.h"

namespace nodeward::net {
namespace {

using testing::HasSubstr;

constexpr Duration kNever = 24h;    // between two looks: only a request tells that something changed

// Says on each stream who the client is, and keeps it open.
class Identity : public testing::Test {
 protected:
  Identity() {
    change([&](Endpoint& to) { to = server_.endpoint(); });
    show("one");
  }
  void change(const auto& edit) {
    endpoint_.with([&](std::shared_ptr<const Endpoint>& now) {
      Endpoint next = now == nullptr ? Endpoint{} : *now;
      edit(next);
      now = std::make_shared<const Endpoint>(std::move(next));
    });
  }
  void show(const std::string& common_name) {
    const TestCertificate own = make_certificate(common_name);
    change([&](Endpoint& to) {
      to.client_cert_pem = own.certificate_pem();
      to.client_key_pem = own.key_pem();
    });
  }
  std::unique_ptr<Transport> transport(Duration look) {
    return make_curl_transport([this] { return endpoint_.with([](const auto& now) { return now; }); }, look);
  }
  static std::string read(const std::unique_ptr<Stream>& stream) {
    const auto bytes = stream->read(10s, {});
    return bytes ? bytes->value_or("the end") : bytes.error().message;
  }
  // A stream that is open and has been heard.
  static std::unique_ptr<Stream> watch(Transport& transport, const std::string& as_whom) {
    auto stream = transport.open({.path = "/watch"}, {});
    EXPECT_TRUE(stream) << stream.error().message;
    EXPECT_EQ(read(*stream), as_whom);
    return std::move(*stream);
  }
  static void expect_replaced(const std::unique_ptr<Stream>& stream) {
    const auto bytes = stream->read(10s, {});
    ASSERT_FALSE(bytes) << bytes->value_or("the end");
    EXPECT_EQ(bytes.error().code, ErrorCode::kUnavailable);
    EXPECT_THAT(bytes.error().message, HasSubstr("the connection is replaced, since the CA or the client certificate was"));
  }

  void expect_that_one_is_gone() { EXPECT_TRUE(one_gone_.try_acquire_for(10s)) << "the old connection is still open"; }

  Guarded<std::shared_ptr<const Endpoint>> endpoint_;
  std::counting_semaphore<> one_gone_{0};  // the connection of the client "one" has ended
  TestH2Server server_{[this](H2Connection& connection) {
    const std::string client = connection.client();
    while (const std::uint32_t stream = connection.request()) connection.begin(stream) && connection.data(stream, client);
    if (client == "one") one_gone_.release();
  }};
};

TEST_F(Identity, R31AStreamEndsAsBrokenOffAtTheFirstRequestWithAnotherCertificate) {
  const auto transport = this->transport(kNever);
  const auto old = watch(*transport, "one");
  show("two");
  const auto next = watch(*transport, "two");
  expect_replaced(old);
  expect_that_one_is_gone();
  EXPECT_EQ(server_.connections(), 2u);
}

TEST_F(Identity, R31AStreamEndsWithoutAnyRequestOnceTheTransportHasLooked) {
  const auto transport = this->transport(20ms);
  const auto old = watch(*transport, "one");
  show("two");
  expect_replaced(old);
  expect_that_one_is_gone();
  watch(*transport, "two");
}

TEST_F(Identity, R32AStreamEndsWhenTheCaIsReplaced) {
  const auto transport = this->transport(20ms);
  const auto old = watch(*transport, "one");
  change([](Endpoint& to) { to.ca_pem += make_certificate("another CA").certificate_pem(); });
  expect_replaced(old);
  watch(*transport, "one");
}

TEST_F(Identity, R32AStreamStaysWhileTheEndpointSaysTheSame) {
  const auto transport = this->transport(1ms);
  const auto stream = watch(*transport, "one");
  for (int i = 0; i < 10; ++i) {
    change([](Endpoint&) {});  // another pointer, as when the token beside the certificate was renewed
    watch(*transport, "one");
  }
  EXPECT_EQ(stream->read(50ms, {}).error().code, ErrorCode::kTimeout);
}

TEST_F(Identity, R31AStreamGoesOnWhileTheFilesOfTheCertificateHang) {
  std::latch hangs(1), goes_on(1);
  TestH2Server server([&](H2Connection& connection) {
    const std::uint32_t stream = connection.request();
    connection.begin(stream) && connection.data(stream, "before");
    hangs.wait();
    connection.data(stream, "after");
    connection.request();
  });
  std::atomic<bool> hang = false;
  const auto source = [&, endpoint = std::make_shared<const Endpoint>(server.endpoint())] {
    if (hang.exchange(false)) {
      hangs.count_down();
      goes_on.wait();
    }
    return endpoint;
  };
  const auto transport = make_curl_transport(source, 20ms);
  const auto stream = watch(*transport, "before");
  hang = true;
  EXPECT_EQ(read(stream), "after");
  goes_on.count_down();
}

TEST_F(Identity, R31AnAnswerUnderWayIsFinishedOnItsOldConnection) {
  std::latch asked(1), may_answer(1);
  TestH2Server server([&](H2Connection& connection) {
    const std::string client = connection.client();
    while (const std::uint32_t stream = connection.request()) {
      if (client == "one") {
        asked.count_down();
        may_answer.wait();
      }
      connection.answer(stream, client);
    }
  });
  change([&](Endpoint& to) {
    to.origin = server.endpoint().origin;
    to.ca_pem = server.endpoint().ca_pem;
  });
  const auto transport = this->transport(kNever);
  const auto ask = [&] { return transport->send({.method = "PATCH", .path = "/", .body = "{}", .timeout = 10s}, {}); };
  std::jthread slow([&] {
    const auto answer = ask();
    ASSERT_TRUE(answer) << answer.error().message;
    EXPECT_EQ(answer->body, "one");
  });
  asked.wait();
  show("two");
  EXPECT_EQ(ask()->body, "two");
  may_answer.count_down();
}

}  // namespace
}  // namespace nodeward::net
