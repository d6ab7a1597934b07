// The credentials of a plugin over time. One run at a time, on a thread of its own, shared by all who wait. A credential is
// renewed a little before it expires, while the old one still serves, or when the server refuses it. Runs are at least a second
// apart, and further when they lead to nothing (the plugin fails, prints what has expired, or what the server refuses).
// Any thread. Private to kube/config.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>

#include "base/clock.h"
#include "base/error.h"
#include "kube/config/exec_credential.h"

namespace nodeward::kube {

class ExecSource {
 public:
  using Credential = std::shared_ptr<const ExecCredential>;
  using Run = std::function<Result<ExecCredential>(const std::stop_token&)>;
  ExecSource(Run run, Clock& clock);

  // Waits for a run when there is nothing to use. Never null.
  Result<Credential> current(const std::stop_token& stop);
  Credential latest() const;  // null before the first good run
  // The server refused `refused`: true when there is another one now, which a run may have to find out.
  bool renew(const Credential& refused, const std::stop_token& stop);

 private:
  bool may_run() const { return wanted_ || clock_.now() >= not_before_; }
  bool due(Duration ahead) const;  // there is none, or it expires within `ahead`
  bool wait_for_run(std::unique_lock<std::mutex>& lock, const std::stop_token& stop);
  void serve(const std::stop_token& stop);
  void take(Result<ExecCredential> result);

  const Run run_;
  Clock& clock_;
  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable_any changed_;
  Credential credential_;
  Duration ahead_{};              // how long before its expiry credential_ is renewed
  std::optional<Error> failure_;  // of the last run
  bool wanted_ = false;           // a run is asked for or under way
  bool refused_ = false;          // by the server, and that is why
  int runs_ = 0;
  int fruitless_ = 0;  // runs in a row that led to nothing
  MonoTime not_before_{};
  std::jthread thread_;
};

}  // namespace nodeward::kube
