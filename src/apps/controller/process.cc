#include "apps/controller/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <pthread.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <cstdlib>

#include "base/text.h"
#include "base/version.h"
#include "telemetry/log.h"

namespace nodeward::apps {
namespace {

sigset_t stop_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  return set;
}

// A closed standard stream is opened on /dev/null, or the next file or connection would get its number, and with it the log or what
// --print-only prints.
void fill_standard_streams() {
  for (int number = open("/dev/null", O_RDWR); number >= 0; number = open("/dev/null", O_RDWR)) {
    if (number <= STDERR_FILENO) continue;
    close(number);
    return;
  }
}

void start_log(const std::string& name) {
  const char* given = std::getenv("LOG_LEVEL");
  const std::string wanted = lowered(trimmed(given == nullptr ? "" : given));
  const telemetry::Level level = telemetry::level_from(wanted);
  telemetry::start_log({.module = name, .version = std::string(version()), .level = level});
  if (level == telemetry::Level::kInfo && !wanted.empty() && wanted != "info") {
    telemetry::warn("LOG_LEVEL counts as info: it takes debug, info, warn or error", {{"given", wanted}});
  }
}

}  // namespace

StopOnSignal::StopOnSignal() {
  const sigset_t set = stop_signals();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  waiter_ = std::jthread([this, set](const std::stop_token& end) {
    int number = 0;
    sigwait(&set, &number);
    if (end.stop_requested()) return;
    telemetry::info("stopping", {{"signal", number == SIGTERM ? "SIGTERM" : "SIGINT"}});
    stop_.request_stop();
  });
}

StopOnSignal::~StopOnSignal() {
  waiter_.request_stop();
  pthread_kill(waiter_.native_handle(), SIGTERM);  // ends its wait; the signal is blocked everywhere else
}

Result<std::unique_ptr<net::Server>> serve_health(const std::string& metrics_port, Health health) {
  const auto port = parse_int(metrics_port);
  if (!port || *port < 0 || *port > 65535) {
    return fail(ErrorCode::kInvalid,
                fmt::format("--metrics-port: \"{}\" is no port; it takes a number from 0 to 65535", metrics_port));
  }
  const std::map<std::string, std::function<net::Page()>> pages = {
      {"/healthz",
       [] {
         return net::Page{200, "ok"};
       }},
      {"/readyz", std::move(health.ready)},
      {"/metrics", [text = std::move(health.metrics)] {
         return net::Page{200, text(), "text/plain; version=0.0.4; charset=utf-8"};
       }}};
  auto both_families = net::Server::listen("::", static_cast<int>(*port), pages);
  if (both_families) return both_families;
  return net::Server::listen("0.0.0.0", static_cast<int>(*port), pages);  // a kernel without IPv6
}

Result<Rate> rate_from_flags(double qps, int burst) {
  if (!std::isfinite(qps)) {
    return fail(ErrorCode::kInvalid,
                fmt::format("--kube-api-qps: {} is no rate; it takes a number: 0 is 5, negative is no limit", qps));
  }
  if (burst < 0)
    return fail(ErrorCode::kInvalid,
                fmt::format("--kube-api-burst: {} is negative; it takes a number of 0 (= 10) or more", burst));
  return Rate{qps == 0 ? 5 : qps, burst == 0 ? 10.0 : burst};
}

Result<int> workers_from_flag(int workers) {
  if (workers >= 1 && workers <= 256) return workers;
  return fail(ErrorCode::kInvalid, fmt::format("--workers: {} is out of range; it takes a number from 1 to 256", workers));
}

int run_controller(const std::string& name, const std::function<Result<int>(Clock&, const std::stop_token&)>& run) {
  fill_standard_streams();
  start_log(name);
  const StopOnSignal signals;
  const Result<int> result = run(Clock::real(), signals.token());
  if (result) return *result;
  // Asked to end before it had begun, while a credential plugin ran say: that is no failure.
  if (result.error().code == ErrorCode::kCancelled && signals.token().stop_requested()) return 0;
  telemetry::error(name + " cannot run", {{"error", result.error().message}});
  return 1;
}

}  // namespace nodeward::apps
