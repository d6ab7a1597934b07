#include "kube/config/credentials.h"

#include "kube/config/endpoint_files.h"
#include "kube/config/exec_plugin.h"
#include "kube/config/exec_source.h"
#include "kube/config/token.h"
#include "telemetry/log.h"

namespace nodeward::kube {
namespace {

constexpr Duration kTokenAge = 60s;  // as client-go: a token is replaced long before its end, so a minute late is early

std::unique_ptr<ExecSource> source_of(const ClusterConfig& config, Clock& clock) {
  if (!config.exec) return nullptr;
  const auto run = [plugin = *config.exec](const std::stop_token& stop) { return run_plugin(plugin, ChildLimits{}, stop); };
  return std::make_unique<ExecSource>(run, clock);
}

std::string bearer(const std::string& token) { return token.empty() ? "" : "Bearer " + token; }

}  // namespace

Credentials::Credentials(const ClusterConfig& config, Clock& clock)
    : source_(config.source),
      token_file_(config.token_file),
      clock_(clock),
      state_(State{config.token, clock.now(), false}),
      files_(std::make_unique<EndpointFiles>(config)),
      exec_(source_of(config, clock)) {
  if (!token_file_.empty()) read_token_file();
}

Credentials::~Credentials() = default;

Result<Authorization> Credentials::authorization(const std::stop_token& stop) {
  if (exec_ != nullptr) {
    return exec_->current(stop).map([](const auto& credential) { return Authorization(bearer(credential->token), credential); });
  }
  const MonoTime now = clock_.now();
  // Whoever finds the token too old takes the turn to read it; the others go on with the old one and do not wait.
  const bool my_turn = state_.with([&](State& state) {
    if (token_file_.empty() || now < state.read_again) return false;
    state.read_again = now + kTokenAge;
    return true;
  });
  if (my_turn) read_token_file();
  return token_now();
}

bool Credentials::reload(const Authorization& refused, const std::stop_token& stop) {
  if (exec_ != nullptr) return exec_->renew(refused.plugins, stop);
  if (token_file_.empty()) return false;
  if (token_now() == refused.header) read_token_file();
  return token_now() != refused.header;  // also when another thread read it meanwhile
}

std::shared_ptr<const net::Endpoint> Credentials::endpoint() {
  auto of_files = files_->endpoint();
  const auto credential = exec_ == nullptr ? nullptr : exec_->latest();
  if (credential == nullptr || credential->client_cert_pem.empty()) return of_files;
  return joined_.with([&](Joined& joined) {
    if (joined.of_files != of_files || joined.credential != credential) {
      net::Endpoint whole = *of_files;
      whole.client_cert_pem = credential->client_cert_pem;
      whole.client_key_pem = credential->client_key_pem;
      joined = {of_files, std::make_shared<const net::Endpoint>(std::move(whole)), credential};
    }
    return joined.whole;
  });
}

std::string Credentials::token_now() {
  return state_.with([](const State& state) { return bearer(state.token); });
}

void Credentials::read_token_file() {
  auto token = read_token(token_file_);
  bool warn_now = false;
  state_.with([&](State& state) {
    state.read_again = clock_.now() + kTokenAge;
    warn_now = !token && !state.warned;
    state.warned = !token;
    if (token) state.token = std::move(*token);
  });
  if (warn_now) {
    telemetry::warn("the token file gives no token; the old token stays in use",
                    {{"source", source_}, {"error", token.error().message}});
  }
}

}  // namespace nodeward::kube
