// What both controllers do as processes: stop in order on SIGINT and SIGTERM, read the flags they share, serve /healthz, /readyz and
// /metrics.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>

#include "base/clock.h"
#include "base/error.h"
#include "net/server.h"

namespace nodeward::apps {

// SIGINT and SIGTERM become a stop request. Make it before any other thread, which inherits the blocked signals. SIGPIPE is
// ignored: a peer that went away is an error of that connection.
class StopOnSignal {
 public:
  StopOnSignal();
  ~StopOnSignal();
  std::stop_token token() const { return stop_.get_token(); }

 private:
  std::stop_source stop_;
  std::jthread waiter_;
};

struct Health {
  std::function<net::Page()> ready;  // 200 or 503 and why
  std::function<std::string()> metrics;  // the exposition text
};
// kInvalid for a port that is no number from 0 to 65535; kUnavailable when it is taken.
Result<std::unique_ptr<net::Server>> serve_health(const std::string& metrics_port, Health health);

// --kube-api-qps and --kube-api-burst in upstream's meaning: 0 is the default (5 and 10), a negative rate no limit; a negative
// burst is kInvalid.
struct Rate {
  double qps = 5;
  double burst = 10;
};
Result<Rate> rate_from_flags(double qps, int burst);

// --workers: 1 to 256.
Result<int> workers_from_flag(int workers);

// The rest of main(): log, signals, run; the exit code. An error of `run` is one line of the log and exit code 1.
int run_controller(const std::string& name, const std::function<Result<int>(Clock&, const std::stop_token&)>& run);

}  // namespace nodeward::apps
