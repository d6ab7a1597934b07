#include "apps/controller/leadership.h"

#include <gmock/gmock.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <optional>
#include <thread>

#include "apps/controller/health.h"
#include "apps/controller/process.h"
#include "base/fake_clock.h"
#include "base/guarded.h"
#include "base/json.h"
#include "base/text.h"
#include "net/scripted_transport.h"

namespace nodeward::apps {
namespace {

using testing::HasSubstr;

constexpr const char* kLeasePath = "/apis/coordination.k8s.io/v1/namespaces/ops/leases/labeler";

// One lease as a server keeps it, and how that server is at the moment. Any thread.
class LeaseServer {
 public:
  enum class Mood { kWell, kDown, kForbids };

  net::ScriptedTransport& transport() { return transport_; }
  int requests() const { return static_cast<int>(transport_.requests().size()); }
  void is(Mood mood) { mood_ = mood; }
  void is_held_by(const std::string& holder) {
    lease_.with([&](std::optional<Json>& lease) {
      lease = Json{{"spec", {{"holderIdentity", holder}, {"leaseDurationSeconds", 15}, {"renewTime", "x"}}}};
    });
  }
  std::string holder() const {
    return lease_.with([](const std::optional<Json>& lease) {
      return lease ? (*lease)["spec"]["holderIdentity"].get<std::string>() : std::string("none was made");
    });
  }

 private:
  Result<net::Response> answer(const net::Request& request) {
    if (mood_ == Mood::kDown) return fail(ErrorCode::kUnavailable, "no connection");
    if (mood_ == Mood::kForbids)
      return net::Response{403, {}, R"({"kind":"Status","code":403,"reason":"Forbidden","message":"leases is forbidden"})"};
    return lease_.with([&](std::optional<Json>& lease) {
      if (request.method != "GET") lease = parse_json(request.body).value();
      if (!lease) return net::Response{404, {}, R"({"kind":"Status","code":404,"reason":"NotFound"})"};
      return net::Response{200, {}, to_text(*lease)};
    });
  }

  std::atomic<Mood> mood_ = Mood::kWell;
  Guarded<std::optional<Json>> lease_;
  net::ScriptedTransport transport_{[this](const net::Request& request) { return answer(request); }};
};

using Mood = LeaseServer::Mood;

// For another thread's doing, which takes no time on the fake clock.
bool comes_true(const std::function<bool()>& condition) {
  for (int tries = 0; tries < 20'000 && !condition(); ++tries) std::this_thread::sleep_for(500us);
  return condition();
}

const LeaseFlags kElecting{.leader_elect = true, .name_space = "ops"};

// A copy of the program: what its main makes of the flags. Its work is the body of the test.
struct Copy {
  explicit Copy(const LeaseFlags& flags = kElecting)
      : leadership(Leadership::open(flags, "labeler", client, clock).value()), fence(leadership->fence()) {}

  Result<> works(const std::function<void(const std::stop_token&)>& work) {
    return leadership->run(
        stop.get_token(), [this] { ++times_taken; },
        [&](const std::stop_token& end) {
          if (comes_true([&] { return end.stop_requested() || (server.requests() > 0 && clock.waiters() == 1); }))
            work(end);
          else
            ADD_FAILURE() << "there is no election";
        });
  }
  // The clock goes on until the next look at the lease, which is done when this returns.
  void next_round() {
    const int before = server.requests();
    clock.advance_to_next();
    EXPECT_TRUE(comes_true([&] { return server.requests() > before && clock.waiters() == 1; })) << "no round of the election";
  }
  void pass(Duration time) {
    for (const MonoTime end = clock.now() + time; clock.now() < end;) next_round();
  }
  ErrorCode write() {
    const auto answer = client.send({.method = "PATCH", .path = "/api/v1/nodes/a", .body = "{}"}, {}, fence.may_write);
    return answer ? ErrorCode::kInvalid : answer.error().code;
  }

  FakeClock clock;
  LeaseServer server;
  kube::Client client{server.transport(), {}, clock};
  std::stop_source stop;
  std::atomic<int> times_taken = 0;
  std::unique_ptr<Leadership> leadership;
  nodes::Fence fence;
};

TEST(Leadership, OneCopyAloneWritesWithoutALease) {
  Copy copy({.leader_elect = false});
  bool worked = false;
  const auto work = [&](const std::stop_token& end) {
    worked = true;
    EXPECT_EQ(end, copy.stop.get_token()) << "nothing runs beside it that could stop it";
  };
  EXPECT_TRUE(copy.leadership->run(
      copy.stop.get_token(), [] { FAIL() << "nothing is taken"; }, work));
  EXPECT_TRUE(worked);
  EXPECT_TRUE(copy.fence.may_write());
  EXPECT_FALSE(copy.fence.guard_all());
  EXPECT_EQ(copy.leadership->readiness(), "");
  EXPECT_EQ(copy.server.requests(), 0);
}

TEST(Leadership, ItsWritesAreFencedUntilTheLeaseIsHeld) {
  Copy copy;
  EXPECT_EQ(copy.write(), ErrorCode::kFenced) << "before the election";
  copy.server.is_held_by("another");
  const Result<> ended = copy.works([&](const std::stop_token&) {
    copy.pass(14s);
    EXPECT_EQ(copy.write(), ErrorCode::kFenced) << "a standby";
    EXPECT_EQ(copy.times_taken, 0);
    copy.pass(2s);
    EXPECT_EQ(copy.times_taken, 1) << "the other was silent for 15 s";
    EXPECT_TRUE(copy.fence.may_write());
    EXPECT_THAT(copy.server.holder(), HasSubstr("_")) << "host name and a random part";
  });
  EXPECT_TRUE(ended);
}

TEST(Leadership, ForAMinuteAfterItWasTakenWritesAreGuardedAgainstLateOnes) {
  Copy copy;
  EXPECT_FALSE(copy.fence.guard_all());
  const Result<> ended = copy.works([&](const std::stop_token&) {
    EXPECT_TRUE(copy.fence.guard_all());
    copy.pass(58s);
    EXPECT_TRUE(copy.fence.guard_all());
    copy.pass(4s);
    EXPECT_FALSE(copy.fence.guard_all());
    EXPECT_TRUE(copy.fence.may_write());
  });
  EXPECT_TRUE(ended);
}

TEST(Leadership, TheFenceClosesAtTheDeadlineWhateverTheElectionIsAt) {
  Copy copy;
  const Result<> ended = copy.works([&](const std::stop_token&) {
    copy.server.is(Mood::kDown);
    copy.clock.advance(10s - 1ns);
    EXPECT_TRUE(copy.fence.may_write());
    copy.clock.advance(1ns);
    EXPECT_FALSE(copy.fence.may_write()) << "no round of the election was needed";
    EXPECT_EQ(copy.write(), ErrorCode::kFenced);
  });
  EXPECT_TRUE(ended) << "a server that is away is no reason to end";
}

TEST(Leadership, TheWorkIsToldEachTimeThatTheLeaseIsTaken) {
  Copy copy;
  const Result<> ended = copy.works([&](const std::stop_token&) {
    EXPECT_EQ(copy.times_taken, 1);
    copy.pass(20s);
    EXPECT_EQ(copy.times_taken, 1) << "a renewal is no news";
    copy.server.is(Mood::kDown);
    copy.pass(12s);
    EXPECT_FALSE(copy.fence.may_write());
    copy.server.is(Mood::kWell);
    copy.pass(4s);
    EXPECT_EQ(copy.times_taken, 2);
    EXPECT_TRUE(copy.fence.may_write());
  });
  EXPECT_TRUE(ended);
}

TEST(Leadership, ReadinessNamesTheCopyThatWrites) {
  Copy copy;
  EXPECT_EQ(copy.leadership->readiness(), "stands by: the lease is held by nobody yet\n");
  copy.server.is_held_by("host-b_01");
  const Result<> ended = copy.works([&](const std::stop_token&) {
    EXPECT_EQ(copy.leadership->readiness(), "stands by: the lease is held by host-b_01\n");
    copy.server.is_held_by("");
    copy.next_round();
    EXPECT_EQ(copy.leadership->readiness(), "");
  });
  EXPECT_TRUE(ended);
}

TEST(Leadership, AHolderThatIsCutOffSaysThatItDoesNotWriteAndStandsByForNobody) {
  Copy copy;
  const Result<> ended = copy.works([&](const std::stop_token&) {
    EXPECT_EQ(copy.leadership->readiness(), "");
    copy.server.is(Mood::kDown);
    copy.pass(12s);
    EXPECT_EQ(copy.leadership->readiness(), "does not write: its lease could not be renewed\n");
    copy.server.is(Mood::kWell);
    copy.server.is_held_by("host-b_01");
    copy.next_round();
    EXPECT_EQ(copy.leadership->readiness(), "stands by: the lease is held by host-b_01\n");
  });
  EXPECT_TRUE(ended);
}

TEST(Leadership, AStandbySaysOnceThatItStandsByAndAgainWhenItDoesSoAnew) {
  Copy copy;
  copy.server.is_held_by("host-b_01");
  testing::internal::CaptureStderr();
  const Result<> ended = copy.works([&](const std::stop_token&) {
    copy.pass(10s);  // five rounds
    copy.server.is_held_by("");
    copy.next_round();
    EXPECT_TRUE(copy.fence.may_write());
    copy.server.is(Mood::kDown);
    copy.pass(12s);
    copy.server.is(Mood::kWell);
    copy.server.is_held_by("host-c_02");
    copy.pass(4s);
    EXPECT_FALSE(copy.fence.may_write());
  });
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_TRUE(ended);
  std::vector<std::string> told = split(log, '\n');
  std::erase_if(told, [](const std::string& line) { return line.find("stands by") == std::string::npos; });
  EXPECT_THAT(told, testing::ElementsAre(HasSubstr("\"holder\":\"host-b_01\""), HasSubstr("\"holder\":\"host-c_02\""))) << log;
}

struct Controlled {
  struct State {
    bool ready = false;
    std::string text;
  };
  State state;
  int refreshed = 0;
  State readiness() const { return state; }
  void refresh() { ++refreshed; }
};

TEST(HealthOfAController, AStandbyIsReadyAndSaysThatItStandsBy) {
  Copy copy;
  Controlled controller{{false, "not read yet: nodes\n"}};
  telemetry::Metrics metrics;
  const Health health = health_of(controller, *copy.leadership, metrics);
  EXPECT_EQ(health.ready().status, 503);
  EXPECT_EQ(health.ready().body, "stands by: the lease is held by nobody yet\nnot read yet: nodes\n");
  controller.state = {true, "ok"};
  EXPECT_EQ(health.ready().status, 200) << "its caches are warm, so it can take over at once";
  EXPECT_EQ(health.ready().body, "stands by: the lease is held by nobody yet\nok");
  metrics.gauge("labeler_nodes_cached", "Nodes in the cache.").set(3);
  EXPECT_THAT(health.metrics(), HasSubstr("\nlabeler_nodes_cached 3\n"));
  EXPECT_EQ(controller.refreshed, 1) << "before each scrape";
}

TEST(Leadership, TheLeaseIsKeptUntilTheWorkIsThroughAndThenGivenBack) {
  Copy copy;
  const Result<> ended = copy.works([&](const std::stop_token& end) {
    const std::string ours = copy.server.holder();
    copy.stop.request_stop();
    EXPECT_TRUE(end.stop_requested());
    copy.pass(20s);
    EXPECT_TRUE(copy.fence.may_write()) << "its last writes are covered";
    EXPECT_EQ(copy.server.holder(), ours);
  });
  EXPECT_TRUE(ended);
  EXPECT_FALSE(copy.fence.may_write());
  EXPECT_EQ(copy.server.holder(), "") << "so another copy takes it at once";
}

TEST(Leadership, AStandbyThatStopsLeavesTheLeaseAlone) {
  Copy copy;
  copy.server.is_held_by("another");
  EXPECT_TRUE(copy.works([](const std::stop_token&) {}));
  EXPECT_EQ(copy.server.holder(), "another");
}

TEST(Leadership, WithoutTheRightToTheLeaseTheWorkIsStoppedAndTheErrorSaysWhatIsNeeded) {
  Copy copy;
  copy.server.is(Mood::kForbids);
  bool stopped = false;
  const Result<> ended = copy.works(
      [&](const std::stop_token& end) { stopped = comes_true([&] { return end.stop_requested(); }); });
  EXPECT_TRUE(stopped);
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().code, ErrorCode::kDenied);
  EXPECT_THAT(ended.error().message, HasSubstr("ops/labeler"));
  EXPECT_THAT(ended.error().message, HasSubstr("get, create and update on leases.coordination.k8s.io"));
  EXPECT_FALSE(copy.fence.may_write());
}

TEST(Leadership, TwoCopiesOnOneHostHaveTwoNames) {
  std::vector<std::string> names;
  for (int i = 0; i < 2; ++i) {
    Copy copy;
    EXPECT_TRUE(copy.works([&](const std::stop_token&) { names.push_back(copy.server.holder()); }));
  }
  EXPECT_NE(names[0], names[1]);
}

TEST(Leadership, TheLeaseIsNamedAsTheProgramUnlessAFlagSaysOtherwise) {
  const auto asked = [](const LeaseFlags& flags) {
    Copy copy(flags);
    EXPECT_TRUE(copy.works([](const std::stop_token&) {}));
    return copy.server.transport().requests().front().path;
  };
  EXPECT_EQ(asked(kElecting), kLeasePath);
  EXPECT_EQ(asked({.leader_elect = true, .name = "mine", .name_space = "x"}),
            "/apis/coordination.k8s.io/v1/namespaces/x/leases/mine");
}

TEST(Leadership, AFlagThatIsNoDurationIsNamed) {
  FakeClock clock;
  LeaseServer server;
  kube::Client client(server.transport(), {}, clock);
  const auto refusal = [&](const LeaseFlags& flags) { return Leadership::open(flags, "labeler", client, clock).error().message; };
  EXPECT_EQ(refusal({.duration = "15"}), "--lease-duration: \"15\" is no duration; it takes one like 15s or 1m30s");
  EXPECT_THAT(refusal({.renew_deadline = "soon"}), HasSubstr("--lease-renew-deadline: \"soon\""));
  EXPECT_THAT(refusal({.retry_period = ""}), HasSubstr("--lease-retry-period: \"\""));
  EXPECT_THAT(refusal({.duration = "5s"}), HasSubstr("--lease-renew-deadline < --lease-duration"));
}

// ---- as a process: each in one of its own, for the signals and the exit code -------------------------------------------------

class LeadershipOfAProcess : public testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }

  // Exits like a controller whose work is this.
  void runs(const std::function<void(const std::stop_token&)>& work) {
    const int code = run_controller("labeler", [&](Clock& clock, const std::stop_token& stop) -> Result<int> {
      kube::Client client(server_.transport(), {}, clock);
      NW_TRY_ASSIGN(const auto leadership, Leadership::open(kElecting, "labeler", client, clock));
      NW_TRY(leadership->run(
          stop, [this] { taken_ = true; }, work));
      return server_.holder().empty() ? 0 : 7;
    });
    std::exit(code);
  }

  LeaseServer server_;
  std::atomic<bool> taken_ = false;
};

TEST_F(LeadershipOfAProcess, WithoutTheRightToTheLeaseItExitsWithOneAndSaysSo) {
  server_.is(Mood::kForbids);
  EXPECT_EXIT(runs([](const std::stop_token& end) { comes_true([&] { return end.stop_requested(); }); }),
              testing::ExitedWithCode(1), "\"labeler cannot run\".*no right to the lease ops/labeler");
}

TEST_F(LeadershipOfAProcess, SigtermGivesTheLeaseBack) {
  EXPECT_EXIT(runs([this](const std::stop_token& end) {
                if (!comes_true([this] { return taken_.load(); })) std::exit(8);
                kill(getpid(), SIGTERM);
                comes_true([&] { return end.stop_requested(); });
              }),
              testing::ExitedWithCode(0), "stopping.*SIGTERM");
}

}  // namespace
}  // namespace nodeward::apps
