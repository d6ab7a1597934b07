#include "kube/lease.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>

#include "base/fake_clock.h"
#include "net/scripted_transport.h"

namespace nodeward::kube {
namespace {

using testing::HasSubstr;

constexpr const char* kPath = "/apis/coordination.k8s.io/v1/namespaces/ops/leases/fault-quarantine";

// One lease as a server keeps it: a version, 409 on a stale one.
class LeaseServer {
 public:
  Result<net::Response> handle(const net::Request& request) {
    ++requests_;
    if (down_) return fail(ErrorCode::kUnavailable, "no connection");
    if (forbidden_) return status(403, "Forbidden");
    if (request.method == "GET") return lease_ ? net::Response{200, {}, to_text(*lease_)} : status(404, "NotFound");
    Json given = parse_json(request.body).value();
    if (request.method == "POST") {
      if (lease_) return status(409, "AlreadyExists");
    } else if (!lease_ || given["metadata"]["resourceVersion"] != (*lease_)["metadata"]["resourceVersion"]) {
      return status(409, "Conflict");
    }
    given["metadata"]["resourceVersion"] = std::to_string(++version_);
    lease_ = std::move(given);
    if (before_answer) before_answer();
    if (cut_) return fail(ErrorCode::kCancelled, "stopped");
    return net::Response{200, {}, to_text(*lease_)};
  }
  LeaseRecord record() const { return lease_ ? lease_record(*lease_) : LeaseRecord{}; }
  void put(const std::string& holder) {
    lease_ = Json{{"metadata", {{"resourceVersion", std::to_string(++version_)}}},
                  {"spec", {{"holderIdentity", holder}, {"leaseDurationSeconds", 15}, {"renewTime", "x"}, {"strategy", "kept"}}}};
  }
  Json lease() const { return *lease_; }
  void down(bool value) { down_ = value; }
  void forbid(bool value = true) { forbidden_ = value; }
  void cut(bool value) { cut_ = value; }     // done, but never answered
  int requests() const { return requests_; }
  std::function<void()> before_answer;

 private:
  static net::Response status(int code, const char* reason) {
    return {code, {}, fmt::format(R"({{"kind":"Status","code":{},"reason":"{}","message":"as told"}})", code, reason)};
  }
  std::optional<Json> lease_;
  int version_ = 100;
  bool down_ = false, forbidden_ = false, cut_ = false;
  int requests_ = 0;
};

// A copy of the program on a clock of its own.
struct Copy {
  Copy(LeaseServer& server, std::string identity, WallTime start = WallTime{1788246000s})
      : clock(start),
        transport([&server](const net::Request& request) { return server.handle(request); }),
        client(transport, {}, clock),
        lease(client,
              {.name_space = "ops",
               .name = "fault-quarantine",
               .identity = std::move(identity),
               .on_change = [this](bool held) { changes.push_back(held); }},
              clock) {}
  // Takes part in the election while so much time passes.
  void pass(Duration time) {
    for (const MonoTime end = clock.now() + time; clock.now() < end;) {
      if (clock.now() >= next) step();
      clock.advance(std::clamp<Duration>(next - clock.now(), 1ms, end - clock.now()));
    }
  }
  void step() {
    const Result<Duration> wait = lease.step({});
    if (wait) {
      next = clock.now() + *wait;
    } else {
      error = wait.error();
    }
  }

  FakeClock clock;
  net::ScriptedTransport transport;
  Client client;
  std::vector<bool> changes;
  Lease lease;
  MonoTime next = MonoTime::min();
  std::optional<Error> error;
};

TEST(LeaseDecision, IsFreeOursOrRunOutByOurOwnClock) {
  const MonoTime now{1h};
  const auto seen = [&](const char* holder, std::int64_t seconds, Duration ago) {
    return LeaseSighting{{.holder = holder, .duration_s = seconds, .renewed = "t", .transitions = 1}, now - ago};
  };
  EXPECT_TRUE(can_take(seen("", 15, 0s), "me", 15s, now)) << "nobody holds it";
  EXPECT_TRUE(can_take(seen("me", 15, 0s), "me", 15s, now));
  EXPECT_FALSE(can_take(seen("other", 15, 15s), "me", 15s, now));
  EXPECT_TRUE(can_take(seen("other", 15, 15001ms), "me", 15s, now));
  EXPECT_FALSE(can_take(seen("other", 60, 30s), "me", 15s, now)) << "the holder's own duration counts";
  EXPECT_TRUE(can_take(seen("other", 0, 16s), "me", 15s, now)) << "none was written";
  EXPECT_TRUE(can_take(seen("other", 9'000'000'000'000'000'000, 2h), "me", 15s, now + 1h)) << "an absurd one is cut";
}

TEST(Lease, IsCreatedTakenAndKept) {
  LeaseServer server;
  Copy copy(server, "a");
  copy.pass(60s);
  EXPECT_TRUE(copy.lease.held());
  EXPECT_EQ(server.record().holder, "a");
  EXPECT_EQ(server.record().transitions, 0);
  EXPECT_LE(server.requests(), 2 + 31) << "one PUT each two seconds";
  EXPECT_EQ(copy.changes, std::vector{true});
}

TEST(Lease, AnotherWaitsUntilTheHolderIsSilentForTheDuration) {
  LeaseServer server;
  Copy b(server, "b");
  server.put("a");
  b.pass(14s);
  EXPECT_FALSE(b.lease.held());
  EXPECT_EQ(b.lease.holder(), "a");
  b.pass(5s);
  EXPECT_TRUE(b.lease.held());
  EXPECT_EQ(server.record().transitions, 1);
  EXPECT_EQ(server.lease()["spec"]["strategy"], "kept") << "members that we do not know stay";
}

TEST(Lease, R21ClocksOfOtherCopiesDoNotMatter) {
  LeaseServer server;
  Copy a(server, "a", WallTime{1788246000s} - 30s), b(server, "b", WallTime{1788246000s} + 30s);
  a.step();
  for (int i = 0; i < 60; ++i) {
    a.pass(1s);
    b.pass(1s);
    ASSERT_TRUE(a.lease.held()) << "second " << i;
    ASSERT_FALSE(b.lease.held()) << "second " << i;
  }
}

TEST(Lease, ItIsNotHeldAnyMoreWhenOthersMayTakeIt) {
  LeaseServer server;
  Copy a(server, "a"), b(server, "b");
  a.step();
  ASSERT_TRUE(a.lease.held());
  server.down(true);
  a.pass(9500ms);
  EXPECT_TRUE(a.lease.held());
  a.pass(1s);
  EXPECT_FALSE(a.lease.held()) << "ten seconds after its last renewal, five before another could";
  server.down(false);
  EXPECT_EQ(a.changes, (std::vector{true, false}));
}

TEST(Lease, R21AStoppedProcessFindsItselfFencedWhenItWakes) {
  LeaseServer server;
  Copy a(server, "a");
  a.step();
  ASSERT_TRUE(a.lease.held());
  a.clock.advance(60s);                     // no step of it runs, as under SIGSTOP
  EXPECT_FALSE(a.lease.held());
}

TEST(Lease, AnAnswerThatCameLateProlongsNothing) {
  LeaseServer server;
  Copy a(server, "a");
  server.before_answer = [&] { a.clock.advance(12s); };
  server.put("");
  a.step();
  EXPECT_FALSE(a.lease.held()) << "valid from when it was sent";
}

TEST(Lease, RunOutWhileItsRenewalWasUnderWayItIsAnnouncedAsTakenAnew) {
  LeaseServer server;
  Copy a(server, "a");
  a.pass(70s);
  a.step();
  ASSERT_FALSE(a.lease.taken_within(60s));
  ASSERT_EQ(a.changes, std::vector{true});
  a.clock.advance(8s);
  bool held_under_way = true;
  server.before_answer = [&] {
    a.clock.advance(4s);
    held_under_way = a.lease.held();
  };
  a.step();
  EXPECT_FALSE(held_under_way);
  EXPECT_TRUE(a.lease.held());
  EXPECT_EQ(a.changes, (std::vector{true, true})) << "a writer that found it closed waits until it is told";
  EXPECT_TRUE(a.lease.taken_within(60s));
}

TEST(Lease, TakenAwayByForceItIsLostAtTheNextRenewal) {
  LeaseServer server;
  Copy a(server, "a");
  a.step();
  server.put("b");
  a.pass(20s);                              // the last success was sent before: 10 s are the most it may last
  EXPECT_EQ(a.lease.holder(), "a") << "silent for 15 s: taken back";
  ASSERT_GE(a.changes.size(), 2U);
  EXPECT_FALSE(a.changes[1]);
}

TEST(Lease, GivenBackItIsTakenAtOnce) {
  LeaseServer server;
  Copy a(server, "a"), b(server, "b");
  a.step();
  b.step();
  a.lease.release({});
  EXPECT_FALSE(a.lease.held());
  EXPECT_EQ(server.record().holder, "");
  b.pass(2500ms);
  EXPECT_TRUE(b.lease.held());
  EXPECT_TRUE(b.lease.taken_within(60s)) << "a last write of the other may still land";
  b.pass(61s);
  EXPECT_TRUE(b.lease.held());
  EXPECT_FALSE(b.lease.taken_within(60s));
}

TEST(Lease, WithoutTheRightItEndsAndSaysWhatIsNeeded) {
  LeaseServer server;
  server.forbid();
  Copy a(server, "a");
  a.step();
  EXPECT_EQ(a.error->code, ErrorCode::kDenied);
  EXPECT_THAT(a.error->message, HasSubstr("get, create and update on leases.coordination.k8s.io"));
  EXPECT_THAT(a.error->message, HasSubstr("ops/fault-quarantine"));
  EXPECT_FALSE(a.lease.held());
}

TEST(Lease, AServerThatFailsIsAskedAgainWithoutHaste) {
  LeaseServer server;
  server.down(true);
  Copy a(server, "a");
  a.pass(60s);
  EXPECT_LE(server.requests(), 32);
  EXPECT_FALSE(a.lease.held());
  server.down(false);
  a.pass(3s);
  EXPECT_TRUE(a.lease.held());
}

TEST(Lease, ARightThatIsGoneForAMomentDoesNotEndAHolder) {
  LeaseServer server;
  Copy a(server, "a");
  a.step();
  ASSERT_TRUE(a.lease.held());
  server.forbid(true);                      // as a server that has just started may
  a.pass(6s);
  EXPECT_FALSE(a.error);
  server.forbid(false);
  a.pass(3s);
  EXPECT_TRUE(a.lease.held());
}

TEST(Lease, ARenewalThatWasCutShortIsGivenBackAllTheSame) {
  LeaseServer server;
  Copy a(server, "a");
  a.step();
  server.cut(true);
  a.clock.advance(2s);
  a.step();
  server.cut(false);
  a.lease.release({});
  EXPECT_EQ(server.record().holder, "");
}

TEST(LeaseOptionsCheck, TimesMustLeaveRoomForEachOther) {
  LeaseOptions good{.name_space = "ops", .name = "x", .identity = "a"};
  EXPECT_TRUE(validate(good));
  LeaseOptions bad = good;
  bad.renew_deadline = 15s;
  EXPECT_THAT(validate(bad).error().message, HasSubstr("--lease-renew-deadline"));
  bad = good;
  bad.retry_period = 0s;
  EXPECT_FALSE(validate(bad));
  bad = good;
  bad.duration = 15500ms;
  EXPECT_THAT(validate(bad).error().message, HasSubstr("whole seconds"));
  bad = good;
  bad.name = "a/b";
  EXPECT_THAT(validate(bad).error().message, HasSubstr("--lease-name: \"a/b\""));
  bad.name = "";
  EXPECT_THAT(validate(bad).error().message, HasSubstr("--lease-name"));
}

}  // namespace
}  // namespace nodeward::kube
