#include "kube/config/exec_source.h"

#include <algorithm>
#include <utility>

#include "base/backoff.h"
#include "telemetry/log.h"

namespace nodeward::kube {
namespace {

constexpr BackoffShape kPause{.first = 1s, .most = 60s, .factor = 2.0, .jitter = 0};
constexpr Duration kMostAhead = 30s;  // of the 15 minutes of EKS or the hour of GKE; a short-lived one: a fifth of its life

}  // namespace

ExecSource::ExecSource(Run run, Clock& clock) : run_(std::move(run)), clock_(clock) {
  thread_ = std::jthread([this](const std::stop_token& stop) { serve(stop); });
}

Result<ExecSource::Credential> ExecSource::current(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  if (!due(ahead_)) return credential_;
  if (may_run()) {
    wanted_ = true;
    changed_.notify_all();
  }
  if (!due(0s)) return credential_;  // it is renewed behind our back
  if (wanted_ && !wait_for_run(lock, stop)) return fail(ErrorCode::kCancelled, "stopped while a credential plugin ran");
  if (failure_) return tl::unexpected(*failure_);
  return credential_;  // expired as it may be: the server's clock counts
}

ExecSource::Credential ExecSource::latest() const {
  const std::lock_guard lock(mutex_);
  return credential_;
}

bool ExecSource::renew(const Credential& refused, const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  if (credential_ != refused) return credential_ != nullptr;
  if (!may_run()) return false;
  wanted_ = refused_ = true;
  changed_.notify_all();
  return wait_for_run(lock, stop) && !failure_ && (refused == nullptr || *credential_ != *refused);
}

bool ExecSource::due(Duration ahead) const {
  return credential_ == nullptr || (credential_->expiry && clock_.wall_now() + ahead >= *credential_->expiry);
}

bool ExecSource::wait_for_run(std::unique_lock<std::mutex>& lock, const std::stop_token& stop) {
  return clock_.wait_until(lock, changed_, MonoTime::max(), stop, [this, seen = runs_] { return runs_ != seen; });
}

void ExecSource::serve(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  // The real clock also in tests: this waits for no time.
  while (Clock::real().wait_until(lock, changed_, MonoTime::max(), stop, [this] { return wanted_; })) {
    lock.unlock();
    auto result = run_(stop);
    lock.lock();
    take(std::move(result));
    changed_.notify_all();
  }
}

void ExecSource::take(Result<ExecCredential> result) {
  const WallTime now = clock_.wall_now();
  const bool expired = result && result->expiry && *result->expiry <= now;
  const bool was_good = fruitless_ == 0;
  fruitless_ = result && !expired && !refused_ ? 0 : fruitless_ + 1;
  not_before_ = clock_.now() + backoff_delay(kPause, std::max(1, fruitless_), 0);
  wanted_ = refused_ = false;
  ++runs_;
  failure_.reset();
  if (!result) {
    failure_ = result.error();
    if (credential_ != nullptr && was_good && failure_->code != ErrorCode::kCancelled)  // else whoever asked says so
      telemetry::warn("no new credentials; the plugin is run again at growing intervals", {{"error", failure_->message}});
    return;
  }
  if (expired && was_good)
    telemetry::warn("the credential plugin gave credentials that have expired already; is this machine's clock right?");
  ahead_ = result->expiry && !expired ? std::min<Duration>(kMostAhead, (*result->expiry - now) / 5) : 0s;
  if (credential_ == nullptr || *credential_ != *result) credential_ = std::make_shared<const ExecCredential>(std::move(*result));
}

}  // namespace nodeward::kube
