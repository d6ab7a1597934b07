#include "api/real_cluster.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <thread>

#include "base/base64.h"
#include "base/clock.h"
#include "base/text.h"

namespace nodeward::api {
namespace {

namespace fs = std::filesystem;

constexpr auto kStartPatience = 60s;  // 4 s on an idle machine with two cores
// They would add taints, tolerations and priorities to what a test creates, or ask for objects that controllers make.
constexpr std::string_view kUnwantedPlugins =
    "DefaultTolerationSeconds,LimitRanger,NamespaceLifecycle,PodSecurity,Priority,ServiceAccount,TaintNodesByCondition";

// NODEWARD_TESTBED, else what scripts/testbed.sh says (and builds when it has to).
fs::path find_programs() {
  std::string folder;
  if (const char* given = std::getenv("NODEWARD_TESTBED"); given != nullptr) {
    folder = given;
  } else {
    const std::unique_ptr<FILE, int (*)(FILE*)> script(::popen(NW_SOURCE_DIR "/scripts/testbed.sh", "r"), ::pclose);
    char part[256];
    while (script && std::fgets(part, sizeof part, script.get()) != nullptr) folder += part;
    folder = std::string(trimmed(folder));
  }
  for (const char* program : {"kube-apiserver", "etcd"}) {
    if (::access((fs::path(folder) / program).c_str(), X_OK) == 0) continue;
    throw std::runtime_error(
        fmt::format("the real API server of the tests is not there: no {} in \"{}\" (NODEWARD_TESTBED, or the "
                    "answer of scripts/testbed.sh); run: make setup, then scripts/testbed.sh",
                    program, folder));
  }
  return folder;
}

void write_file(const fs::path& file, std::string_view text) {
  std::ofstream(file) << text;
  fs::permissions(file, fs::perms::owner_read | fs::perms::owner_write);
}

std::string last_lines(const fs::path& log) {
  constexpr std::size_t kMost = 2000;
  const std::string text = read_file(log).value_or("(no log)");
  return text.substr(text.size() - std::min(kMost, text.size()));
}

}  // namespace

const std::string RealCluster::kAdminToken = "test-admin-token";
const std::string RealCluster::kPowerlessToken = "test-powerless-token";
const std::string RealCluster::kControllerToken = "test-controller-token";

RealCluster::RealCluster() : programs_(find_programs()), certificates_(make_certificates()) {
  origin_ = fmt::format("https://127.0.0.1:{}", free_port());
  admin_ = std::make_unique<Admin>(origin_, certificates_.ca_cert, kAdminToken);
  write_files();
  start_etcd();
  start_api_server();
}

void RealCluster::write_files() const {
  write_file(folder() / "ca.pem", certificates_.ca_cert);
  write_file(folder() / "server.pem", certificates_.server_cert);
  write_file(folder() / "server.key", certificates_.server_key);
  write_file(folder() / "service-account.key", certificates_.service_account_key);
  write_file(folder() / "tokens.csv",
             fmt::format("{},admin,admin-id,\"system:masters\"\n{},powerless,powerless-id\n{},{},controller-id\n", kAdminToken,
                         kPowerlessToken, kControllerToken, kControllerUser));
  write_file(folder() / "record-policy.yaml", fmt::format(R"(apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- {{level: Request, users: [{}], resources: [{{group: "", resources: [nodes, pods]}}]}}
- {{level: None}}
)",
                                                          kControllerUser));
  write_kubeconfig(kubeconfig(), fmt::format("{{client-certificate-data: {}, client-key-data: {}}}",
                                             encode_base64(certificates_.client_cert), encode_base64(certificates_.client_key)));
  write_kubeconfig(controller_kubeconfig(), fmt::format("{{token: {}}}", kControllerToken));
}

void RealCluster::write_kubeconfig(const fs::path& file, const std::string& user) const {
  write_file(file, fmt::format(R"(apiVersion: v1
kind: Config
current-context: test
contexts:
- name: test
  context: {{cluster: test, user: test}}
clusters:
- name: test
  cluster:
    server: {}
    certificate-authority-data: {}
users:
- name: test
  user: {}
)",
                               origin_, encode_base64(certificates_.ca_cert), user));
}

void RealCluster::start_etcd() {
  etcd_origin_ = fmt::format("http://127.0.0.1:{}", free_port());
  const std::string peers = fmt::format("http://127.0.0.1:{}", free_port());
  const fs::path log = folder() / "etcd.log";
  etcd_ = Child({programs_ / "etcd", "--name=test", "--data-dir=" + (folder() / "etcd").string(), "--unsafe-no-fsync",
                 "--listen-client-urls=" + etcd_origin_, "--advertise-client-urls=" + etcd_origin_, "--listen-peer-urls=" + peers,
                 "--initial-advertise-peer-urls=" + peers, "--initial-cluster=test=" + peers, "--quota-backend-bytes=8589934592",
                 "--log-level=warn"},
                log);
  await(etcd_, "etcd", etcd_origin_, log);
  give_it_a_past();
}

// A cluster that has lived for a while: version 1 is long gone, and whoever asks for it is told so.
void RealCluster::give_it_a_past() const {
  constexpr int kVersions = 10;
  Admin etcd(etcd_origin_, "", "");
  for (int i = 0; i < kVersions; ++i) etcd.post("/v3/kv/put", {{"key", encode_base64("past")}, {"value", encode_base64("x")}});
  compact(kVersions);
}

void RealCluster::forget_the_past() const {
  const Json now = Admin(etcd_origin_, "", "").post("/v3/kv/range", {{"key", encode_base64("past")}}).json();
  compact(std::stoll(now.at("header").at("revision").get<std::string>()));
}

void RealCluster::compact(std::int64_t revision) const {
  const Answer answer = Admin(etcd_origin_, "", "").post("/v3/kv/compaction", {{"revision", revision}, {"physical", true}});
  if (answer.status != 200) throw std::runtime_error("etcd does not forget: " + answer.body);
}

std::vector<std::string> RealCluster::api_server_arguments() const {
  const auto file = [&](const char* name) { return (folder() / name).string(); };
  return {
      programs_ / "kube-apiserver",
      "--etcd-servers=" + etcd_origin_,
      "--bind-address=127.0.0.1",
      "--secure-port=" + origin_.substr(origin_.rfind(':') + 1),
      // Written into objects nobody reads here; without it the server insists on a network card with a default route.
      "--advertise-address=192.0.2.1",
      "--endpoint-reconciler-type=none",
      "--service-cluster-ip-range=10.0.0.0/24",
      "--tls-cert-file=" + file("server.pem"),
      "--tls-private-key-file=" + file("server.key"),
      "--client-ca-file=" + file("ca.pem"),
      "--token-auth-file=" + file("tokens.csv"),
      "--service-account-issuer=https://kubernetes.default.svc",
      "--service-account-key-file=" + file("service-account.key"),
      "--service-account-signing-key-file=" + file("service-account.key"),
      "--authorization-mode=RBAC",
      "--disable-admission-plugins=" + std::string(kUnwantedPlugins),
      // No limit of the server's own: a test that wants a 429 scripts it.
      "--enable-priority-and-fairness=false",
      "--max-requests-inflight=0",
      "--max-mutating-requests-inflight=0",
      "--profiling=false",
      "--audit-policy-file=" + file("record-policy.yaml"),
      "--audit-log-path=" + file("served-calls.jsonl"),
  };
}

void RealCluster::start_api_server() {
  const fs::path log = folder() / "kube-apiserver.log";
  api_server_.kill();
  api_server_ = Child(api_server_arguments(), log);
  admin_->forget_own_calls();
  await(api_server_, "kube-apiserver", origin_, log);
}

void RealCluster::restore_empty_storage() {
  api_server_.kill();
  etcd_.kill();
  fs::remove_all(folder() / "etcd");
  start_etcd();
  start_api_server();
}

void RealCluster::kill_api_server() { api_server_.kill(); }

void RealCluster::await(Child& child, const std::string& what, const std::string& origin, const fs::path& log) const {
  Admin probe(origin, certificates_.ca_cert, kAdminToken);
  const MonoTime deadline = Clock::real().now() + kStartPatience;
  while (Clock::real().now() < deadline && child.running()) {
    try {
      if (probe.get("/readyz").status == 200) return;
    } catch (const std::runtime_error&) {  // not listening yet
    }
    std::this_thread::sleep_for(20ms);  // another process: no clock to fake
  }
  throw std::runtime_error(fmt::format("{} did not get ready on {}; its log ends with:\n{}", what, origin, last_lines(log)));
}

}  // namespace nodeward::api
