// What a handler can do to its client beside answering, and what it learns of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/wire/test_client.h"
#include "sim/wire/test_server.h"

namespace nodeward::sim::wire {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

std::string get(const std::string& target) { return "GET " + target + " HTTP/1.1\r\nHost: x\r\n\r\n"; }

// Gives what was put into `text`; ends when told.
class Fed final : public Body {
 public:
  struct State {
    std::string text;
    bool end = false;
    bool alive = true;
  };
  explicit Fed(std::shared_ptr<State> state) : state_(std::move(state)) {}
  ~Fed() override { state_->alive = false; }
  More fill(std::string& out, std::size_t) override {
    out += std::exchange(state_->text, {});
    return state_->end ? More::kEnd : More::kLater;
  }

 private:
  std::shared_ptr<State> state_;
};

TEST(Exchange, AStreamGoesOnWhenItIsWoken) {
  TestServer server;
  RawClient raw(server.port());
  raw.send(get("/wait"));
  Http2Client client(server.port());
  const auto id = client.ask("GET", "/wait");
  client.flush();
  ASSERT_TRUE(server.becomes([&] { return server.waiting.size() == 2; }));
  std::vector<std::shared_ptr<Fed::State>> states;
  for (const auto& exchange : server.waiting) {
    states.push_back(std::make_shared<Fed::State>());
    server.on_loop([&] { exchange->answer({.stream = std::make_unique<Fed>(states.back())}); });
  }
  for (const std::string text : {"one", "two"}) {
    server.on_loop([&] {
      for (std::size_t i = 0; i < 2; ++i) {
        states[i]->text = text;
        server.waiting[i]->wake();
      }
    });
    EXPECT_THAT(raw.read_until(text + "\r\n"), EndsWith("00000003\r\n" + text + "\r\n"));
    EXPECT_TRUE(client.run([&] { return client.answers[id].body.ends_with(text); }));
  }
  server.on_loop([&] {
    for (std::size_t i = 0; i < 2; ++i) {
      states[i]->end = true;
      server.waiting[i]->wake();
    }
  });
  EXPECT_EQ(raw.read_until("0\r\n\r\n"), "0\r\n\r\n");
  EXPECT_TRUE(client.finish(id).ended);
  EXPECT_EQ(client.answers[id].body, "onetwo");
  EXPECT_TRUE(server.becomes([&] { return server.waiting[0]->gone() && server.waiting[1]->gone(); }));
  EXPECT_FALSE(states[0]->alive || states[1]->alive);
}

TEST(Exchange, KnowsThatItsClientHasGone) {
  TestServer server;
  auto raw = std::make_unique<RawClient>(server.port());
  raw->send(get("/wait"));
  auto client = std::make_unique<Http2Client>(server.port());
  const auto id = client->ask("GET", "/wait");
  client->ask("GET", "/wait");
  client->flush();
  ASSERT_TRUE(server.becomes([&] { return server.waiting.size() == 3; }));
  const auto gone = [&] {
    long count = 0;
    for (const auto& exchange : server.waiting) count += exchange->gone() ? 1 : 0;
    return count;
  };
  EXPECT_EQ(server.on_loop(gone), 0);
  raw.reset();
  EXPECT_TRUE(server.becomes([&] { return gone() == 1; }));
  client->reset(id);
  client->flush();
  EXPECT_TRUE(server.becomes([&] { return gone() == 2; }));
  client.reset();
  EXPECT_TRUE(server.becomes([&] { return gone() == 3; }));
  server.on_loop([&] {
    for (const auto& exchange : server.waiting) {
      exchange->answer({.body = "too late"});
      exchange->wake();
      exchange->goaway(0);
      exchange->drop();
    }
  });
}

TEST(Exchange, DropClosesTheConnectionWithAllThatIsOnIt) {
  TestServer server;
  RawClient raw(server.port());
  raw.send(get("/wait"));
  Http2Client client(server.port());
  client.ask("GET", "/wait");
  client.ask("GET", "/wait");
  client.flush();
  ASSERT_TRUE(server.becomes([&] { return server.waiting.size() == 3; }));
  server.on_loop([&] {
    for (const auto& exchange : server.waiting) {
      if (!exchange->gone()) exchange->drop();
      EXPECT_TRUE(exchange->gone());
    }
  });
  EXPECT_EQ(raw.read(), "");
  EXPECT_TRUE(raw.was_reset());
  EXPECT_EQ(client.raw().read_to_end().find("HTTP"), std::string::npos);
  EXPECT_TRUE(client.raw().was_reset());
}

// As a server that dies in the middle of a long list.
class Dying final : public Body {
 public:
  explicit Dying(std::weak_ptr<Exchange> exchange) : exchange_(std::move(exchange)) {}
  More fill(std::string& out, std::size_t) override {
    out += std::string(10'000, 'd');
    if (++fills_ == 3) exchange_.lock()->drop();
    return More::kYes;
  }

 private:
  std::weak_ptr<Exchange> exchange_;
  int fills_ = 0;
};

TEST(Exchange, AStreamMayDropItsConnectionWhileItIsMade) {
  TestServer server;
  RawClient raw(server.port());
  raw.send(get("/wait"));
  Http2Client client(server.port());
  client.ask("GET", "/wait");
  client.flush();
  ASSERT_TRUE(server.becomes([&] { return server.waiting.size() == 2; }));
  server.on_loop([&] {
    for (const auto& exchange : server.waiting) exchange->answer({.stream = std::make_unique<Dying>(exchange)});
  });
  raw.read_to_end();
  EXPECT_TRUE(raw.was_reset());
  EXPECT_FALSE(client.run([] { return false; }));
  EXPECT_TRUE(client.raw().was_reset());
}

TEST(Exchange, GoawayAnswersTheStreamsBelowAndNoOthers) {
  TestServer server;
  Http2Client client(server.port());
  std::vector<std::int32_t> ids;
  for (int i = 0; i < 6; ++i) ids.push_back(client.ask("PATCH", "/wait/" + std::to_string(i)));
  client.flush();
  ASSERT_TRUE(server.becomes([&] { return server.waiting.size() == 6; }));
  server.on_loop([&] {
    server.waiting[1]->answer({.body = "answered before"});
    server.waiting[4]->answer({.body = "above, but answered before"});
    server.waiting[3]->goaway(2);
  });
  ASSERT_TRUE(client.run([&] { return client.goaway.has_value(); }));
  EXPECT_EQ(client.goaway, ids[1]);
  EXPECT_EQ(client.answers[ids[1]].body, "answered before");
  EXPECT_EQ(client.answers[ids[4]].body, "above, but answered before");
  EXPECT_EQ(client.answers[ids[2]].closed, std::uint32_t{NGHTTP2_REFUSED_STREAM});
  EXPECT_EQ(client.answers[ids[3]].closed, std::uint32_t{NGHTTP2_REFUSED_STREAM});
  server.on_loop([&] {
    EXPECT_TRUE(server.waiting[2]->gone());
    EXPECT_FALSE(server.waiting[0]->gone());
    server.waiting[0]->answer({.body = "below"});
  });
  EXPECT_FALSE(client.run([] { return false; }));  // reads to the end
  EXPECT_FALSE(client.raw().was_reset());
  EXPECT_EQ(client.answers[ids[0]].body, "below");
  EXPECT_TRUE(client.answers[ids[0]].ended);
  EXPECT_EQ(server.handled, 6);
}

TEST(Exchange, GoawayOfNothingLessStillAnswersThisStream) {
  TestServer server;
  Http2Client client(server.port());
  const auto id = client.ask("PATCH", "/wait");
  client.flush();
  ASSERT_TRUE(server.becomes([&] { return server.waiting.size() == 1; }));
  server.on_loop([&] { server.waiting[0]->goaway(0); });
  ASSERT_TRUE(client.run([&] { return client.goaway.has_value(); }));
  EXPECT_EQ(client.goaway, id);
  server.on_loop([&] { server.waiting[0]->answer({.body = "answered"}); });
  EXPECT_EQ(client.finish(id).body, "answered");
  EXPECT_EQ(client.raw().read(), "");
}

TEST(Exchange, GoawayFurtherThanTheFirstStreamAnswersNone) {
  TestServer server;
  Http2Client client(server.port());
  client.ask("PATCH", "/wait");
  client.flush();
  ASSERT_TRUE(server.becomes([&] { return server.waiting.size() == 1; }));
  server.on_loop([&] { server.waiting[0]->goaway(1'000'000'000); });
  EXPECT_FALSE(client.run([] { return false; }));
  EXPECT_EQ(client.goaway, 0);
  EXPECT_FALSE(client.raw().was_reset());
}

TEST(Exchange, GoawayOverHttp1ClosesAfterTheAnswer) {
  TestServer server;
  RawClient answered(server.port());
  RawClient not_answered(server.port());
  answered.send(get("/wait"));
  ASSERT_TRUE(server.becomes([&] { return server.waiting.size() == 1; }));
  not_answered.send(get("/wait"));
  ASSERT_TRUE(server.becomes([&] { return server.waiting.size() == 2; }));
  server.on_loop([&] {
    server.waiting[0]->goaway(0);
    server.waiting[0]->answer({.body = "answered"});
    server.waiting[1]->goaway(4);
    EXPECT_TRUE(server.waiting[1]->gone());
  });
  EXPECT_THAT(answered.read_to_end(), AllOf(StartsWith("HTTP/1.1 200"), HasSubstr("Connection: close"), EndsWith("answered")));
  EXPECT_EQ(not_answered.read_to_end(), "");
  EXPECT_FALSE(answered.was_reset() || not_answered.was_reset());
}

TEST(Exchange, OutlivesItsServer) {
  TestServer server;
  Http2Client client(server.port());
  client.ask("GET", "/wait");
  client.flush();
  ASSERT_TRUE(server.becomes([&] { return server.waiting.size() == 1; }));
  server.server.reset();
  EXPECT_TRUE(server.waiting[0]->gone());
  server.waiting[0]->answer({});
  EXPECT_EQ(server.waiting[0]->request().target, "/wait");
  EXPECT_FALSE(client.run([] { return false; }));
}

}  // namespace
}  // namespace nodeward::sim::wire
