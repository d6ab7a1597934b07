// Credential plugins: what a kubeconfig says of them, what they print, and when they are run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <latch>
#include <thread>
#include <vector>

#include "base/fake_clock.h"
#include "base/json.h"
#include "base/text.h"
#include "kube/config/credentials.h"
#include "kube/config/exec_plugin.h"
#include "kube/config/exec_source.h"
#include "kube/config/kubeconfig.h"
#include "kube/config/temp_folder.h"
#include "net/test_certificates.h"

namespace nodeward::kube {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

const std::filesystem::path kFolder = std::filesystem::path(NW_SOURCE_DIR) / "tests/data/kubeconfigs";
constexpr char kV1[] = "client.authentication.k8s.io/v1";

const net::TestCertificate& own() {
  static const net::TestCertificate made = net::make_certificate("own");
  return made;
}
std::string certificate() { return own().certificate_pem(); }
std::string key() { return own().key_pem(); }

std::string printed(const Json& status, const std::string& version = kV1) {
  return to_text(Json{{"apiVersion", version}, {"kind", "ExecCredential"}, {"status", status}});
}

class Plugin : public testing::Test {
 protected:
  // A shell script beside the kubeconfig, which is then read.
  Result<ClusterConfig> config_of(const std::string& script, const std::string& more = "", const std::string& version = kV1) {
    const auto file = folder_.write("plugin.sh", "#!/bin/sh\n" + script);
    std::filesystem::permissions(file, std::filesystem::perms::owner_all);
    return load_kubeconfig(folder_.write("config",
                                         "clusters: [{name: c, cluster: {server: 'https://host:6443/a/', "
                                         "tls-server-name: n, extensions: [{name: client.authentication.k8s.io/exec, "
                                         "extension: {audience: '7', depth: 2}}]}}]\n"
                                         "users: [{name: u, user: {exec: {apiVersion: " +
                                             version + ", command: ./plugin.sh" + more +
                                             "}}}]\ncontexts: [{name: x, context: {cluster: c, user: u}}]\n"
                                             "current-context: x\n"));
  }
  Result<ExecCredential> run(const std::string& script, const std::string& more = "", const ChildLimits& limits = {}) {
    NW_TRY_ASSIGN(const ClusterConfig config, config_of(script, more));
    return run_plugin(*config.exec, limits, {});
  }
  std::string prints(const std::string& text) { return "cat <<'END'\n" + text + "\nEND\n"; }
  std::string failure(const std::string& script, const ChildLimits& limits = {}) {
    const auto credential = run(script, "", limits);
    return credential ? "" : credential.error().message;
  }

  TempFolder folder_;
};

TEST_F(Plugin, GetsItsArgumentsItsEnvironmentAndWhatItIsToPrint) {
  const std::string note = (folder_.path() / "note").string();
  const auto credential = run(
      "{ echo \"$@\"; echo $PROFILE; echo $KUBERNETES_EXEC_INFO; } > " + note + "\n" + prints(printed({{"token", "t"}})),
      ", args: [--cluster, 'a b'], env: [{name: PROFILE, value: gpu}], provideClusterInfo: true");
  ASSERT_TRUE(credential) << credential.error().message;
  EXPECT_EQ(*credential, (ExecCredential{.token = "t"}));
  const auto lines = split(read_file(note).value(), '\n');
  EXPECT_EQ(lines[0], "--cluster a b");
  EXPECT_EQ(lines[1], "gpu");
  EXPECT_EQ(parse_json(lines[2]).value(),
            parse_json(R"({"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","spec":{"interactive":false,
              "cluster":{"server":"https://host:6443/a","tls-server-name":"n","config":{"audience":"7","depth":2}}}})")
                .value());
  EXPECT_EQ(parse_json(config_of("", ", interactiveMode: Never")->exec->info).value()["spec"], (Json{{"interactive", false}}));
}

TEST_F(Plugin, IsRefusedByFieldWhenItCannotBeUsed) {
  const auto refusal = [&](const std::string& more, const std::string& version = kV1) {
    const auto config = config_of("", more, version);
    return config ? "accepted" : config.error().message;
  };
  EXPECT_THAT(refusal(", interactiveMode: Always"), HasSubstr("user \"u\": exec: interactiveMode: is Always, but nobody"));
  EXPECT_THAT(refusal(", interactiveMode: hunter2"), AllOf(HasSubstr("must be Never"), Not(HasSubstr("hunter2"))));
  EXPECT_THAT(refusal("", "client.authentication.k8s.io/v1alpha1"), HasSubstr("exec: apiVersion: must be client."));
  EXPECT_THAT(refusal(", args: a"), HasSubstr("exec: args: must be a list"));
  EXPECT_THAT(refusal(", env: [{value: hunter2}]"), AllOf(HasSubstr("exec: env: name: is missing"), Not(HasSubstr("hunter2"))));
  EXPECT_THAT(refusal(", provideClusterInfo: perhaps"), HasSubstr("exec: provideClusterInfo: must be true or false"));
  EXPECT_THAT(refusal("}, token: {"), HasSubstr("token: must be text"));
  EXPECT_THAT(refusal("}, tokenFile: /dev/null, token: t, x: {"), HasSubstr("exec: is given together with token;"));
  EXPECT_EQ(refusal("", "client.authentication.k8s.io/v1beta1"), "accepted");
}

TEST_F(Plugin, MayPrintACertificateAndAnExpiry) {
  const auto credential = run(prints(printed({{"clientCertificateData", certificate()},
                                              {"clientKeyData", key()},
                                              {"expirationTimestamp", "2026-09-01T08:30:00.5+02:00"}})));
  ASSERT_TRUE(credential) << credential.error().message;
  EXPECT_EQ(credential->client_cert_pem, certificate());
  EXPECT_EQ(credential->client_key_pem, key());
  EXPECT_EQ(rfc3339(*credential->expiry), "2026-09-01T06:30:00Z");
  const auto expiry_of = [](const std::string& time) {
    return parse_exec_credential(printed({{"token", "t"}, {"expirationTimestamp", time}}), kV1);
  };
  EXPECT_EQ(rfc3339(*expiry_of("2024-02-29T23:59:59-00:30")->expiry), "2024-03-01T00:29:59Z");
  EXPECT_EQ(rfc3339(*expiry_of("9999-12-31T00:00:00Z")->expiry), "2200-12-31T00:00:00Z");
  for (const char* time : {"", "soon", "2026-02-30T00:00:00Z", "2026-01-01T00:00:00", "2026-01-01T00:00:00+2:00",
                           "2026-01-01T00:00:00Zx", "2026-01-01 00:00:00Z", "2026-01-01T25:00:00Z"}) {
    EXPECT_FALSE(expiry_of(time)) << time;
  }
}

TEST_F(Plugin, FailsWithASentenceThatShowsNothingItPrinted) {
  const std::string where = "credential plugin \"" + (folder_.path() / "./plugin.sh").string() + "\": ";
  EXPECT_EQ(failure("exit 3"), where + "ended with exit code 3");
  EXPECT_EQ(failure("echo MARKER; echo 'Unable to locate credentials' >&2; echo MARKER >&2; exit 255"),
            where + "ended with exit code 255: Unable to locate credentials");
  EXPECT_EQ(failure("echo 'see https://x/docs: token=MARKER' >&2; exit 1"),
            where + "ended with exit code 1: see https://x/docs: token=***");
  EXPECT_EQ(failure(""), where + "it printed nothing");
  EXPECT_EQ(failure("echo MARKER"), where + "its output is no JSON object");
  EXPECT_EQ(failure("sleep 1000", {.time = 100ms}), where + "was not done within 0.1 s");
  EXPECT_EQ(failure("while :; do echo MARKER; done", {.output = 4096}), where + "printed more than 4 KiB");
  const auto wrong = [&](const std::string& output) { return failure(prints(output)); };
  EXPECT_EQ(wrong(R"({"kind":"MARKER","apiVersion":"client.authentication.k8s.io/v1"})"),
            where + "its output has not the kind ExecCredential");
  EXPECT_THAT(wrong(printed({{"token", "t"}}, "MARKER")), HasSubstr("is of apiVersion of another kind, but"));
  EXPECT_EQ(wrong(printed("MARKER")), where + "its output has neither status.token nor status.clientCertificateData");
  EXPECT_THAT(wrong(printed({{"token", "MARKER MARKER"}})),
              AllOf(HasSubstr("its output's status.token is no token"), Not(HasSubstr("MARKER"))));
  EXPECT_EQ(wrong(printed({{"clientKeyData", "MARKER"}})),
            where + "its output has only one of status.clientCertificateData and status.clientKeyData");
  EXPECT_THAT(wrong(printed({{"clientCertificateData", "MARKER"}, {"clientKeyData", key()}})),
              AllOf(HasSubstr("status.clientCertificateData holds no certificate"), Not(HasSubstr("MARKER"))));
  const std::string other = net::make_certificate("other").key_pem();
  EXPECT_EQ(wrong(printed({{"clientCertificateData", certificate()}, {"clientKeyData", other}})),
            where +
                "its output's status.clientCertificateData and status.clientKeyData are no pair: the private key is of another "
                "certificate");
}

TEST(WithoutSecrets, KeepsTheFirstLineAndBlotsOutWhatMayBeOne) {
  EXPECT_EQ(without_secrets("  first line\nsecond", {}), "first line");
  EXPECT_EQ(without_secrets("the security token included in the request is expired", {}),
            "the security token included in the request is expired");
  EXPECT_EQ(without_secrets("for profile my-secret-profile and gpu", {"my-secret-profile", "gpu"}), "for profile *** and gpu");
  EXPECT_EQ(without_secrets("bad password: hunter2 and more", {}), "bad password: ***");
  EXPECT_EQ(without_secrets("Authorization: Bearer abc", {}), "Authorization: ***");
  EXPECT_EQ(without_secrets("key AKIAIOSFODNN7EXAMPLE is unknown", {}), "key *** is unknown");
  EXPECT_EQ(without_secrets("got eyJhbGciOiJSUzI1NiIs.eyJpc3MiOiJrdWJlcm5ldGVz.x", {}), "got ***.***.x");
  EXPECT_EQ(without_secrets("dial http://me:hunter2@proxy:3128: refused", {}), "dial http://***@proxy:3128: refused");
  EXPECT_EQ(without_secrets("a\tb\x1b[0m", {}), "a b [0m");
  EXPECT_EQ(without_secrets(std::string(1000, 'x'), {}), std::string(200, 'x') + "...");
}

// ---- When it is run ----

class ExecOverTime : public testing::Test {
 protected:
  ExecSource::Run counting(std::function<Result<ExecCredential>(int run)> result) {
    return [this, result = std::move(result)](const std::stop_token&) { return result(++runs_); };
  }
  std::string token(ExecSource& source) {
    const auto credential = source.current({});
    return credential ? (*credential)->token : credential.error().message;
  }
  ExecCredential lasting(int run, Duration life) { return {.token = std::to_string(run), .expiry = clock_.wall_now() + life}; }
  // A renewal ahead of the expiry goes on behind whoever asked.
  void await_runs(int wanted) {
    while (runs_ < wanted) std::this_thread::yield();
  }

  FakeClock clock_;
  std::atomic<int> runs_ = 0;
};

TEST_F(ExecOverTime, R31OneRunServesTwentyWhoAskAtOnce) {
  ExecSource source(counting([&](int run) { return lasting(run, 60s); }), clock_);
  std::latch all(20);
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 20; ++i) {
      threads.emplace_back([&] {
        all.arrive_and_wait();
        EXPECT_EQ(token(source), "1");
      });
    }
  }
  EXPECT_EQ(runs_, 1);
}

TEST_F(ExecOverTime, R31ARunIsMadeALittleBeforeTheExpiryWhileTheOldTokenServes) {
  ExecSource source(counting([&](int run) { return lasting(run, 60s); }), clock_);
  for (int second = 0; second < 48; ++second) {
    EXPECT_EQ(token(source), "1");
    clock_.advance(1s);
  }
  EXPECT_THAT(token(source), testing::AnyOf("1", "2"));  // 12 s before its end
  await_runs(2);
  while (token(source) != "2") std::this_thread::yield();
  EXPECT_EQ(runs_, 2);
  clock_.advance(1h);  // long past the expiry: nobody gets the old one
  EXPECT_EQ(token(source), "3");
}

TEST_F(ExecOverTime, R31WhoeverAsksDuringSuchARunHasTheOldTokenAtOnce) {
  std::latch may_end(1);
  ExecSource source(counting([&](int run) {
                      if (run == 2) may_end.wait();
                      return lasting(run, 60s);
                    }),
                    clock_);
  EXPECT_EQ(token(source), "1");
  clock_.advance(50s);
  EXPECT_EQ(token(source), "1");
  await_runs(2);
  EXPECT_EQ(token(source), "1");
  may_end.count_down();
}

TEST_F(ExecOverTime, R31ExpiredOutputIsNoTightLoop) {
  testing::internal::CaptureStderr();
  const auto status = parse_json(read_file(kFolder / "exec-output-expired.json").value()).value();
  ExecSource source(counting([&](int) { return parse_exec_credential(to_text(status), kV1); }), clock_);
  for (int i = 0; i < 1000; ++i) {
    EXPECT_EQ(token(source), "t");
    clock_.advance(100ms);
  }
  // In 100 s, at 1, 2, 4, 8, 16, 32 s apart.
  EXPECT_LE(runs_, 7);
  EXPECT_GE(runs_, 6);
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_THAT(log, HasSubstr("have expired already"));
  EXPECT_EQ(std::count(log.begin(), log.end(), '\n'), 1) << log;
}

TEST_F(ExecOverTime, R31ARefusedTokenIsRenewedOnceForAllWhoUsedIt) {
  ExecSource source(counting([&](int run) { return lasting(run, 1h); }), clock_);
  const auto refused = source.current({}).value();
  clock_.advance(1min);
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 20; ++i) threads.emplace_back([&] { EXPECT_TRUE(source.renew(refused, {})); });
  }
  EXPECT_EQ(runs_, 2);
  EXPECT_EQ(token(source), "2");
}

TEST_F(ExecOverTime, AServerThatGoesOnRefusingIsAskedForAtGrowingIntervals) {
  ExecSource source(counting([&](int run) { return lasting(run, 1h); }), clock_);
  for (int i = 0; i < 1000; ++i) {
    const auto refused = source.current({}).value();
    source.renew(refused, {});
    clock_.advance(100ms);
  }
  EXPECT_LE(runs_, 9);
}

TEST_F(ExecOverTime, AFailureIsKeptForAWhile) {
  bool works = false;
  ExecSource source(counting([&](int run) -> Result<ExecCredential> {
                      if (works) return lasting(run, 1h);
                      return fail(ErrorCode::kUnauthorized, "it failed");
                    }),
                    clock_);
  EXPECT_EQ(token(source), "it failed");
  EXPECT_EQ(token(source), "it failed");
  EXPECT_EQ(runs_, 1);
  clock_.advance(1s);
  EXPECT_EQ(token(source), "it failed");
  EXPECT_EQ(runs_, 2);
  works = true;
  clock_.advance(1s);
  EXPECT_EQ(token(source), "it failed");  // two failures: two seconds
  clock_.advance(1s);
  EXPECT_EQ(token(source), "3");
}

TEST_F(ExecOverTime, AFailureAfterAGoodRunIsSaidOnce) {
  testing::internal::CaptureStderr();
  ExecSource source(counting([&](int run) -> Result<ExecCredential> {
                      if (run == 1) return lasting(run, 10min);
                      return fail(ErrorCode::kUnauthorized, "it failed");
                    }),
                    clock_);
  EXPECT_EQ(token(source), "1");
  for (int i = 0; i < 3; ++i) {
    clock_.advance(1h);
    EXPECT_EQ(token(source), "it failed");
  }
  EXPECT_EQ(runs_, 4);
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_EQ(std::count(log.begin(), log.end(), '\n'), 1) << log;
}

TEST_F(ExecOverTime, AStopEndsTheWaitAndTheRun) {
  std::latch started(1);
  std::atomic<bool> ended = false;
  std::stop_source stop;
  {
    ExecSource source(
        [&](const std::stop_token& end) -> Result<ExecCredential> {
          started.count_down();
          while (!end.stop_requested()) std::this_thread::yield();
          ended = true;
          return fail(ErrorCode::kCancelled, "stopped");
        },
        clock_);
    std::jthread caller([&] { EXPECT_EQ(source.current(stop.get_token()).error().code, ErrorCode::kCancelled); });
    started.wait();
    stop.request_stop();
  }
  EXPECT_TRUE(ended);
}

// ---- The files of requirement R31 ----

TEST(R31Exec, PlainIsRunFromItsFolderAndItsWordsGoToTheLog) {
  const auto config = load_kubeconfig(kFolder / "exec-plain.yaml");
  ASSERT_TRUE(config) << config.error().message;
  FakeClock clock(std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now()));  // the script's expiry is real time
  testing::internal::CaptureStderr();
  Credentials credentials(*config, clock);
  const auto first = credentials.authorization({});
  const std::string log = testing::internal::GetCapturedStderr();
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_THAT(first->header, testing::StartsWith("Bearer exec-"));
  EXPECT_THAT(log, AllOf(HasSubstr("refreshing for profile gpu"), Not(HasSubstr(first->header.substr(7)))));
  clock.advance(30s);
  EXPECT_EQ(credentials.authorization({}).value().header, first->header);
}

TEST(R31Exec, AHelperThatIsNotInstalledIsNamedWithTheHint) {
  const auto config = load_kubeconfig(kFolder / "exec-v1-cluster-info.yaml");
  ASSERT_TRUE(config) << config.error().message;
  FakeClock clock;
  testing::internal::CaptureStderr();
  const auto got = Credentials(*config, clock).authorization({});
  testing::internal::GetCapturedStderr();
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().message,
            "credential plugin \"credential-helper-not-installed\": was not found: install the helper from your provider");
  EXPECT_THAT(config->exec->info, HasSubstr("\"certificate-authority-data\":\"LS0tLS1C"));
}

TEST(R31Exec, OutputOfAnotherVersionIsRefusedWithBoth) {
  const auto got = parse_exec_credential(read_file(kFolder / "exec-output-other-version.json").value(), kV1);
  ASSERT_FALSE(got);
  EXPECT_THAT(got.error().message,
              AllOf(HasSubstr("client.authentication.k8s.io/v1alpha1,"), HasSubstr("asks for client.authentication.k8s.io/v1;")));
}

// The kubeconfig and the helper as they stand, beside each other in another folder; the helper notes each run besides.
TEST(R31Exec, PlainIsRunOncePerLifeOfItsTokenWhoeverAsks) {
  TempFolder folder;
  const std::filesystem::path runs = folder.path() / "runs";
  const auto helper = folder.write("exec-token.sh",
                                   read_file(kFolder / "exec-token.sh").value() + "\necho run >> '" + runs.string() + "'\n");
  std::filesystem::permissions(helper, std::filesystem::perms::owner_all);
  const auto config = load_kubeconfig(folder.write("config", read_file(kFolder / "exec-plain.yaml").value()));
  ASSERT_TRUE(config) << config.error().message;
  const auto count = [&] { return split(read_file(runs).value(), '\n').size() - 1; };
  FakeClock clock(std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now()));
  testing::internal::CaptureStderr();
  Credentials credentials(*config, clock);
  {
    std::latch all(20);
    std::vector<std::jthread> threads;
    for (int i = 0; i < 20; ++i) {
      threads.emplace_back([&] {
        all.arrive_and_wait();
        EXPECT_TRUE(credentials.authorization({}));
      });
    }
  }
  clock.advance(40s);
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(credentials.authorization({}));
  EXPECT_EQ(count(), 1u);
  clock.advance(5min);
  EXPECT_TRUE(credentials.authorization({}));
  EXPECT_EQ(count(), 2u);
  testing::internal::GetCapturedStderr();
}

class PluginOfCertificates : public Plugin {
 protected:
  PluginOfCertificates() {
    output_["status"]["clientKeyData"] = key();
    print("");
  }
  // What it prints from now on.
  void print(const std::string& before_the_certificate, const std::string& token = "") {
    output_["status"]["clientCertificateData"] = before_the_certificate + certificate();
    if (!token.empty()) output_["status"]["token"] = token;
    folder_.write("out", to_text(output_));
  }
  std::size_t runs() const { return split(read_file(folder_.path() / "runs").value(), '\n').size() - 1; }
  std::string at(const char* name) const { return "'" + (folder_.path() / name).string() + "'"; }
  Authorization sent() { return credentials_.authorization({}).value(); }

  Json output_ = parse_json(read_file(kFolder / "exec-output-cert.json").value()).value();
  FakeClock clock_;
  Credentials credentials_{config_of("echo run >> " + at("runs") + "; cat " + at("out")).value(), clock_};
};

TEST_F(PluginOfCertificates, R31ACertificateIsPutIntoTheEndpointAndReplaced) {
  EXPECT_EQ(credentials_.endpoint()->client_cert_pem, "");
  EXPECT_EQ(sent().header, "");
  const auto first = credentials_.endpoint();
  EXPECT_EQ(first->client_cert_pem, certificate());
  EXPECT_EQ(first->client_key_pem, key());
  EXPECT_EQ(credentials_.endpoint(), first);

  clock_.advance(1min);
  EXPECT_FALSE(credentials_.reload(sent(), {}));  // a 401, but the plugin prints the same
  EXPECT_EQ(credentials_.endpoint(), first);
  print("# renewed\n");
  clock_.advance(1min);
  EXPECT_TRUE(credentials_.reload(sent(), {}));
  EXPECT_EQ(credentials_.endpoint()->client_cert_pem, "# renewed\n" + certificate());
}

TEST_F(PluginOfCertificates, R31ALate401OfTheOldCertificateIsNoRefusalOfTheNewOne) {
  const Authorization early = sent(), late = sent();
  print("# renewed\n");
  clock_.advance(1min);
  EXPECT_TRUE(credentials_.reload(early, {}));
  EXPECT_EQ(runs(), 2u);
  clock_.advance(1min);  // long enough for another run
  EXPECT_TRUE(credentials_.reload(late, {}));
  EXPECT_EQ(runs(), 2u);
  EXPECT_FALSE(credentials_.reload(sent(), {}));
  EXPECT_EQ(runs(), 3u);
}

// The transport ends streams for another endpoint, not for another pointer to the same.
TEST_F(PluginOfCertificates, R32AnotherTokenBesideTheSameCertificateIsTheSameEndpoint) {
  print("", "one");
  EXPECT_EQ(sent().header, "Bearer one");
  const net::Endpoint first = *credentials_.endpoint();
  print("", "two");
  clock_.advance(1min);
  EXPECT_TRUE(credentials_.reload(sent(), {}));
  EXPECT_EQ(sent().header, "Bearer two");
  EXPECT_EQ(*credentials_.endpoint(), first);
}

}  // namespace
}  // namespace nodeward::kube
