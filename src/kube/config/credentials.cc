#include "kube/config/credentials.h"

#include "kube/config/token.h"
#include "telemetry/log.h"

namespace nodeward::kube {
namespace {

constexpr Duration kTokenAge = 60s;  // as client-go: a token is replaced long before its end, so a minute late is early

}  // namespace

Credentials::Credentials(const ClusterConfig& config, Clock& clock)
    : source_(config.source), token_file_(config.token_file), clock_(clock), state_(State{config.token, clock.now(), false}) {
  reload();
}

std::string Credentials::authorization() {
  const MonoTime now = clock_.now();
  // Whoever finds the token too old takes the turn to read it; the others go on with the old one and do not wait.
  const bool my_turn = state_.with([&](State& state) {
    if (token_file_.empty() || now < state.read_again) return false;
    state.read_again = now + kTokenAge;
    return true;
  });
  if (my_turn) reload();
  return state_.with([](const State& state) { return state.token.empty() ? std::string() : "Bearer " + state.token; });
}

bool Credentials::reload() {
  if (token_file_.empty()) return false;
  auto token = read_token(token_file_);
  bool warn_now = false;
  const bool changed = state_.with([&](State& state) {
    state.read_again = clock_.now() + kTokenAge;
    warn_now = !token && !state.warned;
    state.warned = !token;
    if (!token || *token == state.token) return false;
    state.token = std::move(*token);
    return true;
  });
  if (warn_now) {
    telemetry::warn("the token file gives no token; the old token stays in use",
                    {{"source", source_}, {"error", token.error().message}});
  }
  return changed;
}

}  // namespace nodeward::kube
