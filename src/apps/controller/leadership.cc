#include "apps/controller/leadership.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <random>
#include <thread>

#include "base/go_duration.h"
#include "base/text.h"
#include "telemetry/log.h"

namespace nodeward::apps {
namespace {

constexpr Duration kLateWrites = 60s;  // longer than a node write of the copy before us may be under way
constexpr const char* kPodNamespace = "/var/run/secrets/kubernetes.io/serviceaccount/namespace";

// Host name and a random part: two copies on one machine are two.
std::string identity() {
  std::array<char, 256> host{};
  if (gethostname(host.data(), host.size() - 1) != 0) host[0] = '\0';
  std::random_device random;
  return fmt::format("{}_{:08x}{:08x}", host.data(), random(), random());
}

Result<Duration> duration_of(const char* flag, const std::string& text) {
  if (const auto duration = parse_go_duration(text)) return *duration;
  return fail(ErrorCode::kInvalid, fmt::format("{}: \"{}\" is no duration; it takes one like 15s or 1m30s", flag, text));
}

Result<kube::LeaseOptions> lease_options(const LeaseFlags& flags, const std::string& program) {
  kube::LeaseOptions options;
  options.name = flags.name.empty() ? program : flags.name;
  options.name_space = flags.name_space;
  if (options.name_space.empty()) options.name_space = std::string(trimmed(read_file(kPodNamespace).value_or("default")));
  options.identity = identity();
  NW_TRY_ASSIGN(options.duration, duration_of("--lease-duration", flags.duration));
  NW_TRY_ASSIGN(options.renew_deadline, duration_of("--lease-renew-deadline", flags.renew_deadline));
  NW_TRY_ASSIGN(options.retry_period, duration_of("--lease-retry-period", flags.retry_period));
  NW_TRY(kube::validate(options));
  return options;
}

}  // namespace

void add_lease_flags(FlagTable& table, LeaseFlags& flags, const std::string& program) {
  table.add("leader-elect", flags.leader_elect, "false",
            "run several copies: the one that holds a lease writes, the others stand by");
  table.add("lease-name", flags.name, program, "name of the lease");
  table.add("lease-namespace", flags.name_space, "",
            "its namespace; empty means the pod's own, outside of a cluster \"default\"");
  table.add("lease-duration", flags.duration, flags.duration, "how long the others wait for a holder that is silent");
  table.add("lease-renew-deadline", flags.renew_deadline, flags.renew_deadline,
            "how long after its last renewal the holder stops writing");
  table.add("lease-retry-period", flags.retry_period, flags.retry_period, "how often the lease is renewed, or looked at");
}

Result<std::unique_ptr<Leadership>> Leadership::open(const LeaseFlags& flags, const std::string& program, kube::Client& client,
                                                     Clock& clock) {
  NW_TRY_ASSIGN(kube::LeaseOptions options, lease_options(flags, program));
  return std::unique_ptr<Leadership>(new Leadership(flags.leader_elect, std::move(options), client, clock));
}

Leadership::Leadership(bool elects, kube::LeaseOptions options, kube::Client& client, Clock& clock)
    : elects_(elects),
      identity_(options.identity),
      lease_(
          client,
          [&] {
            options.on_change = [this](bool held) {
              if (held) on_lead_();
            };
            return std::move(options);
          }(),
          clock) {}

nodes::Fence Leadership::fence() const {
  if (!elects_) return {};
  return {.may_write = [this] { return lease_.held(); }, .guard_all = [this] { return lease_.taken_within(kLateWrites); }};
}

std::string Leadership::readiness() const {
  if (!elects_ || lease_.held()) return {};
  const std::string holder = lease_.holder();
  if (holder == identity_) return "does not write: its lease could not be renewed\n";
  return fmt::format("stands by: the lease is held by {}\n", holder.empty() ? "nobody yet" : holder);
}

Result<> Leadership::run(const std::stop_token& stop, std::function<void()> on_lead,
                         const std::function<void(const std::stop_token&)>& work) {
  if (!elects_) return work(stop), Result<>{};
  on_lead_ = std::move(on_lead);
  std::stop_source over;
  const std::stop_callback outer(stop, [&] { over.request_stop(); });
  Result<> elected;
  {
    const std::jthread election([&](const std::stop_token& end) {
      elected = lease_.run(end);
      if (!elected) over.request_stop();
    });
    work(over.get_token());
  }
  lease_.release({});
  return elected;
}

}  // namespace nodeward::apps
