// What the labeler does with a wrong configuration and with a server that is not there or does not want it: the exit code, one
// line that names the file, the field or the flag, no secret anywhere, and nothing written.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <fstream>

#include "api/certificates.h"
#include "api/labeler_fixture.h"
#include "base/base64.h"
#include "base/version.h"

namespace nodeward::api {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

constexpr auto kCannotRead = "cannot read from the API server, trying again";
constexpr auto kReadsAgain = "reading from the API server again";
constexpr int kWatches = 4;
constexpr auto kSecret = "very-secret-token-7f3a";

class LabelerBadInput : public ClusterTest {
 protected:
  void SetUp() override {
    ClusterTest::SetUp();
    admin().create_node(node_in_state("cold-1", ""));  // what a labeler that gets through would write to
  }

  std::string kubeconfig_flag() { return "--kubeconfig=" + cluster().kubeconfig().string(); }

  // A kubeconfig of the test's own; returns the flag.
  std::string with_kubeconfig(const std::string& ca_pem, const std::string& token) {
    return with_kubeconfig_text(fmt::format(R"(apiVersion: v1
kind: Config
current-context: test
contexts: [{{name: test, context: {{cluster: test, user: test}}}}]
clusters: [{{name: test, cluster: {{server: "{}", certificate-authority-data: {}}}}}]
users: [{{name: test, user: {{token: {}}}}}]
)",
                                            cluster().origin(), encode_base64(ca_pem), token));
  }
  std::string with_kubeconfig_text(const std::string& text) {
    const auto file = cluster().folder() / "test.kubeconfig";
    std::ofstream(file) << text;
    return "--kubeconfig=" + file.string();
  }
  LabelerProcess run(std::vector<std::string> flags) { return {cluster().folder(), std::move(flags), {"AUDIT_ENABLED=true"}}; }

  void expect_nothing_written(LabelerProcess& labeler) {
    EXPECT_THAT(labeler.audit(), IsEmpty());
    EXPECT_EQ(state_of(admin().node("cold-1")), "");
  }
  // Exit code 1 and one line that says why.
  void expect_refusal(std::vector<std::string> flags, const testing::Matcher<std::string>& why) {
    LabelerProcess labeler = run(flags);
    EXPECT_EQ(labeler.wait_for_exit(), 1) << fmt::format("{}", flags.back());
    ASSERT_THAT(labeler.log_of("labeler cannot run"), SizeIs(1)) << labeler.output();
    const std::string error = labeler.log_of("labeler cannot run")[0].at("error");
    EXPECT_THAT(error, why);
    EXPECT_THAT(error, Not(HasSubstr("\n")));
    EXPECT_THAT(labeler.printed(), IsEmpty());
    expect_nothing_written(labeler);
  }
};

TEST_F(LabelerBadInput, AKubeconfigThatIsNotThereIsNamed) {
  expect_refusal({"--kubeconfig=/nowhere/kubeconfig"}, AllOf(HasSubstr("/nowhere/kubeconfig"), HasSubstr("No such file")));
}

TEST_F(LabelerBadInput, ABrokenKubeconfigIsNamedWithTheField) {
  expect_refusal({with_kubeconfig_text("clusters: [")}, HasSubstr("test.kubeconfig"));
  expect_refusal({with_kubeconfig_text("apiVersion: v1\nkind: Config\ncurrent-context: other\n")},
                 AllOf(HasSubstr("test.kubeconfig"), HasSubstr("other")));
  expect_refusal({with_kubeconfig("no certificate", kSecret)},
                 AllOf(HasSubstr("test.kubeconfig"), HasSubstr("certificate-authority-data"), Not(HasSubstr(kSecret))));
}

TEST_F(LabelerBadInput, OutsideOfAClusterAKubeconfigIsAskedFor) { expect_refusal({"--print-only"}, HasSubstr("--kubeconfig")); }

TEST_F(LabelerBadInput, AValueThatCannotBeIsRefusedBeforeAnyWrite) {
  const struct {
    const char* flag;
    const char* names;
    const char* would_be_right;
  } cases[] = {
      {"--metrics-port=abc", "--metrics-port", "0 to 65535"},
      {"--metrics-port=70000", "--metrics-port", "0 to 65535"},
      {"--metrics-port=", "--metrics-port", "0 to 65535"},
      {"--kube-api-burst=-1", "--kube-api-burst", "0 (= 10) or more"},
      {"--kube-api-qps=NaN", "--kube-api-qps", "negative is no limit"},
      {"--workers=0", "--workers", "1 to 256"},
      {"--workers=9999999999999", "--workers", "1 to 256"},
      {"--dcgm-app-label=nvidia-dcgm,not/legal", "--dcgm-app-label", "letters, digits"},
      {"--driver-app-label=-x", "--driver-app-label", "letters, digits"},
      {"--gke-installer-app-label=a b", "--gke-installer-app-label", "letters, digits"},
  };
  for (const auto& each : cases) {
    SCOPED_TRACE(each.flag);
    expect_refusal({kubeconfig_flag(), each.flag}, AllOf(HasSubstr(each.names), HasSubstr(each.would_be_right)));
  }
}

TEST_F(LabelerBadInput, AMetricsPortInUseEndsIt) {
  const std::string port = cluster().origin().substr(cluster().origin().rfind(':') + 1);
  expect_refusal({kubeconfig_flag(), "--metrics-port=" + port}, AllOf(HasSubstr(port), HasSubstr("in use")));
}

TEST_F(LabelerBadInput, WhatGosFlagPackageRefusesAndWhatIsNotThereYetExitsTwo) {
  for (const std::string flag : {"--no-such-flag", "--kube-api-burst=many", "--kube-api-qps=fast", "--print-only=perhaps",
                                 "--kubeconfig", "--expected-device-counts-config-file=counts.toml"}) {
    SCOPED_TRACE(flag);
    LabelerProcess labeler = run({flag});
    EXPECT_EQ(labeler.wait_for_exit(), 2);
    ASSERT_THAT(labeler.printed(), Not(IsEmpty()));
    EXPECT_THAT(labeler.printed()[0], HasSubstr(flag.substr(2, flag.find('=') - 2)));
    expect_nothing_written(labeler);
  }
}

TEST_F(LabelerBadInput, NoWordBetweenTheFlagsHidesThatNothingIsToBeWritten) {
  LabelerProcess labeler = run({kubeconfig_flag(), "--leader-elect", "false", "--print-only"});
  EXPECT_EQ(labeler.wait_for_exit(), 2);
  EXPECT_THAT(labeler.output(), testing::StartsWith("\"false\" is no flag; it and what follows would be ignored"));
  expect_nothing_written(labeler);
}

TEST_F(LabelerBadInput, HelpAndVersionExitZero) {
  for (const char* flag : {"--help", "-h"}) {
    LabelerProcess labeler = run({flag});
    EXPECT_EQ(labeler.wait_for_exit(), 0);
    EXPECT_THAT(labeler.output(), AllOf(HasSubstr("-kubeconfig"), HasSubstr("-print-only")));
  }
  LabelerProcess labeler = run({"--version"});
  EXPECT_EQ(labeler.wait_for_exit(), 0);
  EXPECT_EQ(labeler.output(), fmt::format("labeler {}\n", version()));
}

TEST_F(LabelerBadInput, AServerThatIsAwayAtTheStartIsAskedForEverAndNamedOnce) {
  cluster().stop_api_server();
  LabelerProcess labeler = run({kubeconfig_flag()});
  labeler.await("every watch tried several times",
                [&] { return labeler.metric(R"(labeler_api_requests_total{code="0",verb="GET"})") >= 4 * kWatches; });
  EXPECT_THAT(labeler.log_of(kCannotRead), SizeIs(kWatches)) << labeler.output();
  EXPECT_THAT(to_text(labeler.log_of(kCannotRead)[0]), AllOf(HasSubstr("Connection refused"), HasSubstr("127.0.0.1")));
  EXPECT_EQ(labeler.get("/healthz").status, 200);
  const Answer readyz = labeler.get("/readyz");
  EXPECT_EQ(readyz.status, 503);
  EXPECT_THAT(readyz.body, AllOf(HasSubstr("not read yet: nodes"), HasSubstr("cannot be read now: nodes: GET "),
                                 HasSubstr("Connection refused")));

  cluster().start_api_server();
  labeler.await_ready();
  EXPECT_EQ(state_of(admin().node("cold-1")), "K=false");
  EXPECT_THAT(labeler.log_of(kReadsAgain), SizeIs(kWatches)) << labeler.output();
  EXPECT_EQ(labeler.stop(), 0);
}

TEST_F(LabelerBadInput, AStopBeforeTheFirstListIsAnOrderlyOne) {
  cluster().stop_api_server();
  for (const char* flag : {"--print-only=false", "--print-only"}) {
    LabelerProcess labeler = run({kubeconfig_flag(), flag});
    labeler.await("trouble", [&] { return !labeler.log_of(kCannotRead).empty(); });
    EXPECT_EQ(labeler.stop(), 0);
    EXPECT_THAT(labeler.printed(), IsEmpty());
  }
  cluster().start_api_server();
}

TEST_F(LabelerBadInput, AServerWithACertificateOfAnotherAuthorityIsNotBelieved) {
  LabelerProcess labeler = run({with_kubeconfig(make_certificates().ca_cert, kSecret)});
  labeler.await("every watch in trouble", [&] { return labeler.log_of(kCannotRead).size() >= kWatches; });
  EXPECT_THAT(to_text(labeler.log_of(kCannotRead)[0]), HasSubstr("not signed by the CA given"));
  EXPECT_THAT(labeler.get("/readyz").body, HasSubstr("not signed by the CA given"));
  expect_nothing_written(labeler);
  EXPECT_EQ(labeler.stop(), 0);
  EXPECT_THAT(labeler.output(), Not(HasSubstr(kSecret)));
}

TEST_F(LabelerBadInput, ARefusedTokenIsSaidAndNeverShown) {
  LabelerProcess labeler = run({with_kubeconfig(cluster().ca_cert(), kSecret)});
  labeler.await("every watch in trouble", [&] { return labeler.log_of(kCannotRead).size() >= kWatches; });
  EXPECT_THAT(to_text(labeler.log_of(kCannotRead)[0]), HasSubstr("401 Unauthorized"));
  EXPECT_EQ(labeler.get("/readyz").status, 503);
  EXPECT_THAT(labeler.get("/readyz").body + labeler.get("/metrics").body, Not(HasSubstr(kSecret)));
  expect_nothing_written(labeler);
  EXPECT_EQ(labeler.stop(), 0);
  EXPECT_THAT(labeler.output(), Not(HasSubstr(kSecret)));
}

TEST_F(LabelerBadInput, AnAccountWithoutRightsIsSaidPerResource) {
  LabelerProcess labeler = run({with_kubeconfig(cluster().ca_cert(), cluster().powerless_token()), "--print-only"});
  labeler.await("every watch in trouble", [&] { return labeler.log_of(kCannotRead).size() >= kWatches; });
  const std::string output = labeler.output();
  EXPECT_THAT(output,
              AllOf(HasSubstr("403 Forbidden"), HasSubstr("cannot watch resource"), Not(HasSubstr(cluster().powerless_token()))));
  expect_nothing_written(labeler);
  EXPECT_EQ(labeler.stop(), 0);
}

}  // namespace
}  // namespace nodeward::api
