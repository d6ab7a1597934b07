#include "apps/controller/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <unistd.h>

#include <cmath>
#include <condition_variable>
#include <cstdlib>
#include <limits>
#include <mutex>

#include "net/curl_transport.h"
#include "telemetry/log.h"

namespace nodeward::apps {
namespace {

using testing::ExitedWithCode;
using testing::HasSubstr;

net::Response get(const net::Server& server, const std::string& path, const std::string& host = "127.0.0.1") {
  const auto transport = net::make_curl_transport({.origin = fmt::format("http://{}:{}", host, server.port())});
  return transport->send({.path = path}, {}).value();
}

TEST(HealthServer, SaysWhetherItIsReadyAndWhy) {
  net::Page ready{503, "not read yet: nodes\n"};
  const auto server = serve_health("0", {.ready = [&] { return ready; }, .metrics = [] { return "# HELP x\n"; }}).value();
  EXPECT_EQ(get(*server, "/healthz").status, 200) << "a process that waits is alive";
  EXPECT_EQ(get(*server, "/healthz").body, "ok");
  EXPECT_EQ(get(*server, "/readyz").status, 503);
  EXPECT_EQ(get(*server, "/readyz").body, "not read yet: nodes\n");
  ready = {200, "ok"};
  EXPECT_EQ(get(*server, "/readyz").status, 200);
  EXPECT_EQ(get(*server, "/metrics").body, "# HELP x\n");
  EXPECT_EQ(get(*server, "/metrics").header("content-type"), "text/plain; version=0.0.4; charset=utf-8");
}

TEST(HealthServer, NamesTheFlagOfABadPortAndThePortThatIsTaken) {
  for (const char* bad : {"", "http", "-1", "65536", "80x"}) {
    const auto server = serve_health(bad, {});
    ASSERT_FALSE(server) << bad;
    EXPECT_EQ(server.error().code, ErrorCode::kInvalid);
    EXPECT_EQ(server.error().message, fmt::format("--metrics-port: \"{}\" is no port; it takes a number from 0 to 65535", bad));
  }
  const auto first = serve_health("0", {}).value();
  const auto second = serve_health(std::to_string(first->port()), {});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(second.error().message, HasSubstr(std::to_string(first->port())));
}

TEST(RateFlags, ZeroIsTheDefaultAndANegativeRateIsNoLimit) {
  const auto rate = [](double qps, int burst) {
    const Rate read = rate_from_flags(qps, burst).value();
    return std::pair(read.qps, read.burst);
  };
  EXPECT_EQ(rate(0, 0), std::pair(5.0, 10.0));
  EXPECT_EQ(rate(2.5, 1), std::pair(2.5, 1.0));
  EXPECT_EQ(rate(-1, 3), std::pair(-1.0, 3.0));
  EXPECT_THAT(rate_from_flags(5, -1).error().message, HasSubstr("--kube-api-burst: -1 is negative"));
  for (const double none : {std::nan(""), std::numeric_limits<double>::infinity()})
    EXPECT_THAT(rate_from_flags(none, 10).error().message, HasSubstr("--kube-api-qps: "));
}

TEST(WorkersFlag, TakesOneTo256) {
  EXPECT_EQ(workers_from_flag(1).value(), 1);
  EXPECT_EQ(workers_from_flag(256).value(), 256);
  for (const int bad : {0, 257, -1})
    EXPECT_EQ(workers_from_flag(bad).error().message,
              fmt::format("--workers: {} is out of range; it takes a number from 1 to 256", bad));
}

// ---- each in a process of its own, for the signals and the exit code ---------------------------------------------------------

class Controller : public testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }

  static void exits_after(const std::function<Result<int>(const std::stop_token&)>& run) {
    std::exit(run_controller("labeler", [&](Clock&, const std::stop_token& stop) { return run(stop); }));
  }
  static bool is_stopped(const std::stop_token& stop) {
    std::mutex mutex;
    std::unique_lock lock(mutex);
    std::condition_variable_any changed;
    return !changed.wait_for(lock, stop, 10s, [] { return false; }) && stop.stop_requested();
  }
};

TEST_F(Controller, ExitsWithWhatItsRunReturns) {
  EXPECT_EXIT(exits_after([](const std::stop_token&) { return 3; }), ExitedWithCode(3), "");
}

TEST_F(Controller, AnErrorIsOneLineOfTheLogAndExitCodeOne) {
  EXPECT_EXIT(exits_after([](const std::stop_token&) { return fail(ErrorCode::kInvalid, "rules.toml: no such file"); }),
              ExitedWithCode(1),
              "^\\{[^\n]*\"level\":\"ERROR\",\"msg\":\"labeler cannot run\"[^\n]*\"error\":\"rules.toml: no such file\"\\}\n$");
}

TEST_F(Controller, SigtermAndSigintAreAStopAndSayWhich) {
  const auto signalled = [](int number) {
    exits_after([number](const std::stop_token& stop) {
      kill(getpid(), number);
      return is_stopped(stop) ? 0 : 9;
    });
  };
  EXPECT_EXIT(signalled(SIGTERM), ExitedWithCode(0), "\"msg\":\"stopping\".*\"signal\":\"SIGTERM\"");
  EXPECT_EXIT(signalled(SIGINT), ExitedWithCode(0), "\"msg\":\"stopping\".*\"signal\":\"SIGINT\"");
}

TEST_F(Controller, AStopBeforeItHasBegunIsNoFailure) {
  EXPECT_EXIT(exits_after([](const std::stop_token& stop) -> Result<int> {
                kill(getpid(), SIGTERM);
                if (!is_stopped(stop)) return 9;
                return fail(ErrorCode::kCancelled, "stopped while a credential plugin ran");
              }),
              ExitedWithCode(0), "");
  EXPECT_EXIT(exits_after([](const std::stop_token&) { return fail(ErrorCode::kCancelled, "not asked to"); }), ExitedWithCode(1),
              "cannot run");
}

TEST_F(Controller, ItsEndIsNoStop) {
  EXPECT_EXIT(exits_after([](const std::stop_token& stop) {
                static std::stop_callback said(stop, [] { std::_Exit(9); });
                return 0;
              }),
              ExitedWithCode(0), "^$");
}

TEST_F(Controller, APeerThatWentAwayEndsNothing) {
  EXPECT_EXIT(
      {
        signal(SIGPIPE, SIG_DFL);  // whoever started the tests may have it ignored
        exits_after([](const std::stop_token&) { return raise(SIGPIPE); });
      },
      ExitedWithCode(0), "");
}

TEST_F(Controller, NoFileGetsTheNumberOfAClosedStandardStream) {
  EXPECT_EXIT(
      {
        close(STDIN_FILENO);
        close(STDOUT_FILENO);
        exits_after([](const std::stop_token&) { return open("/dev/null", O_RDONLY) > STDERR_FILENO ? 0 : 9; });
      },
      ExitedWithCode(0), "");
}

TEST_F(Controller, TheLevelOfTheLogIsOfTheEnvironment) {
  const auto logs = [](const char* level) {
    setenv("LOG_LEVEL", level, 1);
    exits_after([](const std::stop_token&) {
      telemetry::debug("small talk");
      return 0;
    });
  };
  EXPECT_EXIT(logs("debug"), ExitedWithCode(0), "small talk.*\"module\":\"labeler\"");
  EXPECT_EXIT(logs("info"), ExitedWithCode(0), "^$");
  EXPECT_EXIT(logs(""), ExitedWithCode(0), "^$");
  EXPECT_EXIT(logs("loud"), ExitedWithCode(0), "^[^\n]*\"WARN\"[^\n]*LOG_LEVEL counts as info[^\n]*\"given\":\"loud\"[^\n]*\n$");
}

}  // namespace
}  // namespace nodeward::apps
