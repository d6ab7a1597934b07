#include "kube/lease.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "telemetry/log.h"

namespace nodeward::kube {
namespace {

// metav1.MicroTime
std::string micro_time(WallTime time) {
  const auto micros = std::chrono::duration_cast<std::chrono::microseconds>(time.time_since_epoch()).count();
  const auto seconds = static_cast<std::time_t>(micros / 1'000'000);
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:06}Z", fmt::gmtime(seconds), micros % 1'000'000);
}

std::int64_t number_at(const Json& object, std::string_view name) {
  const auto place = object.find(name);
  return place != object.end() && place->is_number_integer() ? place->get<std::int64_t>() : 0;
}

const Json& member(const Json& object, std::string_view name) {
  static const Json kNone = Json::object();
  const auto place = object.find(name);
  return place != object.end() && place->is_object() ? *place : kNone;
}

}  // namespace

LeaseRecord lease_record(const Json& lease) {
  const Json& spec = member(lease, "spec");
  return {.holder = text_at(spec, "holderIdentity"),
          .duration_s = number_at(spec, "leaseDurationSeconds"),
          .renewed = text_at(spec, "renewTime"),
          .transitions = number_at(spec, "leaseTransitions")};
}

bool can_take(const LeaseSighting& seen, const std::string& identity, Duration own_duration, MonoTime now) {
  if (seen.record.holder.empty() || seen.record.holder == identity) return true;
  // An absurd duration must not overflow, nor keep a dead holder's lease for a year.
  constexpr std::int64_t kMost = 3600;
  const std::int64_t said = std::min(seen.record.duration_s, kMost);
  return now > seen.since + (said > 0 ? Duration(std::chrono::seconds(said)) : own_duration);
}

Result<> validate(const LeaseOptions& options) {
  if (options.name.empty() || options.name_space.empty()) {
    return fail(ErrorCode::kInvalid, "the lease needs a name and a namespace (--lease-name, --lease-namespace)");
  }
  constexpr std::string_view kNameCharacters = "abcdefghijklmnopqrstuvwxyz0123456789-.";
  for (const std::string* name : {&options.name, &options.name_space}) {
    if (name->size() <= 253 && name->find_first_not_of(kNameCharacters) == name->npos) continue;
    return fail(ErrorCode::kInvalid,
                fmt::format("{}: \"{}\" is no name of an object; it takes lower case letters, digits, '-' and '.'",
                            name == &options.name ? "--lease-name" : "--lease-namespace", *name));
  }
  if (options.retry_period <= 0s || options.renew_deadline <= options.retry_period ||
      options.duration <= options.renew_deadline) {
    return fail(ErrorCode::kInvalid,
                "the times of the lease must satisfy 0 < --lease-retry-period < --lease-renew-deadline < --lease-duration");
  }
  if (options.duration % 1s != 0s || options.duration > 1h) {
    return fail(ErrorCode::kInvalid, "--lease-duration: it takes whole seconds, at most an hour");
  }
  return {};
}

Lease::Lease(Client& client, LeaseOptions options, Clock& clock) : client_(client), options_(std::move(options)), clock_(clock) {}

bool Lease::held() const { return clock_.boot_now() < valid_until_.load(); }

bool Lease::taken_within(Duration span) const {
  const MonoTime taken = taken_.load();
  return taken != MonoTime::min() && clock_.boot_now() < taken + span;
}

std::string Lease::holder() const {
  return holder_.with([](const std::string& holder) { return holder; });
}

Result<> Lease::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    NW_TRY_ASSIGN(const Duration wait, step(stop));
    clock_.sleep_for(wait, stop);
  }
  return {};
}

Result<Duration> Lease::step(const std::stop_token& stop) {
  note();                                            // its time may have run out since the last round
  const Result<bool> ours = take_or_renew(stop);
  if (!ours && ours.error().code == ErrorCode::kDenied && !answered_) return tl::unexpected(denied(ours.error()));
  if (ours) answered_ = true;
  if (!ours && ours.error().code != ErrorCode::kCancelled && !std::exchange(in_trouble_, true)) {
    telemetry::warn("the lease cannot be read or renewed; trying again", {{"error", ours.error().message}});
  }
  if (ours && std::exchange(in_trouble_, false)) telemetry::info("the lease can be read and renewed again");
  note();
  note_standby();
  return until_next_try();
}

void Lease::release(const std::stop_token& stop) {
  if (!held()) return;
  valid_until_ = MonoTime::min();
  if (!ours_) {                                      // a renewal was cut short: what became of it?
    const auto answer = client_.send({.path = path(), .timeout = 5s}, stop);
    const Json found = answer ? parse_json(answer->body).value_or(Json()) : Json();
    if (found.is_object() && lease_record(found).holder == options_.identity) ours_ = found;
  }
  if (!ours_) return;
  Json lease = std::exchange(ours_, std::nullopt).value();
  lease["spec"]["holderIdentity"] = "";
  lease["spec"]["leaseDurationSeconds"] = 1;
  lease["spec"]["renewTime"] = micro_time(clock_.wall_now());
  const auto answer = client_.send(
      {.method = "PUT", .path = path(), .headers = {{"Content-Type", "application/json"}}, .body = to_text(lease), .timeout = 5s},
      stop);
  if (!answer) telemetry::warn("the lease could not be given back; it runs out", {{"error", answer.error().message}});
}

// While it is ours one PUT keeps it: its version says whether anybody else has touched it.
Result<bool> Lease::take_or_renew(const std::stop_token& stop) {
  if (!ours_) return look(stop);
  Json lease = with_us(*ours_);
  Result<bool> renewed = write(std::move(lease), stop);
  if (renewed && !*renewed) return look(stop);       // changed under our hands
  return renewed;
}

Result<bool> Lease::look(const std::stop_token& stop) {
  const auto answer = client_.send({.path = path(), .timeout = options_.renew_deadline / 2}, stop);
  if (!answer && answer.error().code == ErrorCode::kNotFound) return create(stop);
  if (!answer) return tl::unexpected(answer.error());
  NW_TRY_ASSIGN(Json lease, parse_json(answer->body));
  if (!lease.is_object()) return fail(ErrorCode::kUnavailable, "GET " + path() + ": the answer is no object");
  observe(lease);
  if (!can_take(*seen_, options_.identity, options_.duration, clock_.boot_now())) return false;
  return write(with_us(std::move(lease)), stop);
}

// False: somebody else was quicker.
Result<bool> Lease::write(Json lease, const std::stop_token& stop) {
  const MonoTime sent = clock_.boot_now();
  const auto answer = client_.send({.method = "PUT",
                                    .path = path(),
                                    .headers = {{"Content-Type", "application/json"}},
                                    .body = to_text(lease),
                                    .timeout = options_.renew_deadline / 2},
                                   stop);
  ours_.reset();
  if (!answer) {
    const ErrorCode code = answer.error().code;
    if (code == ErrorCode::kConflict || code == ErrorCode::kNotFound) return false;
    return tl::unexpected(answer.error());
  }
  return written(*answer, sent);
}

// From the moment it was sent: the server may have done it any time since, and others count from there.
Result<bool> Lease::written(const net::Response& answer, MonoTime sent) {
  NW_TRY_ASSIGN(Json lease, parse_json(answer.body));
  if (!lease.is_object()) return fail(ErrorCode::kUnavailable, path() + ": the answer is no object");
  observe(lease);
  if (seen_->record.holder != options_.identity) return false;
  ours_ = std::move(lease);
  // It may have run out while the answer was under way. taken_ goes first: whoever sees it held must see since when. The second
  // look is for those who found it closed just before it was open again: note() must tell them.
  const MonoTime end = valid_until_.load();
  if (end <= clock_.boot_now()) taken_ = clock_.boot_now();
  valid_until_ = sent + options_.renew_deadline;
  if (end <= clock_.boot_now()) noted_ = false;
  return true;
}

Result<bool> Lease::create(const std::stop_token& stop) {
  const Json lease = with_us({{"apiVersion", "coordination.k8s.io/v1"},
                              {"kind", "Lease"},
                              {"metadata", {{"name", options_.name}, {"namespace", options_.name_space}}}});
  const MonoTime sent = clock_.boot_now();
  const auto answer = client_.send({.method = "POST",
                                    .path = path().substr(0, path().rfind('/')),
                                    .headers = {{"Content-Type", "application/json"}},
                                    .body = to_text(lease),
                                    .timeout = options_.renew_deadline / 2},
                                   stop);
  if (!answer && answer.error().code == ErrorCode::kConflict) return false;  // AlreadyExists: the next try reads it
  if (!answer && answer.error().code == ErrorCode::kNotFound) {
    return fail(ErrorCode::kUnavailable,
                fmt::format("{} (is there a namespace {}?)", answer.error().message, options_.name_space));
  }
  if (!answer) return tl::unexpected(answer.error());
  return written(*answer, sent);
}

// The lease with our name in it; members that we do not know stay.
Json Lease::with_us(Json lease) const {
  const LeaseRecord before = lease_record(lease);
  const std::string now = micro_time(clock_.wall_now());
  if (!lease["spec"].is_object()) lease["spec"] = Json::object();
  Json& spec = lease["spec"];
  spec["holderIdentity"] = options_.identity;
  spec["leaseDurationSeconds"] = std::chrono::duration_cast<std::chrono::seconds>(options_.duration).count();
  spec["renewTime"] = now;
  if (before.holder != options_.identity) {
    spec["acquireTime"] = now;
    spec["leaseTransitions"] = before.renewed.empty() ? 0 : before.transitions + 1;
  }
  return lease;
}

void Lease::observe(const Json& lease) {
  LeaseRecord record = lease_record(lease);
  holder_.with([&](std::string& holder) { holder = record.holder; });
  if (!seen_ || seen_->record != record) seen_ = LeaseSighting{std::move(record), clock_.boot_now()};
}

void Lease::note() {
  const bool now = held();
  if (now == noted_) return;
  noted_ = now;
  const std::string lease = options_.name_space + "/" + options_.name;
  if (now) {
    telemetry::info("the lease is ours: this copy writes", {{"lease", lease}, {"identity", options_.identity}});
  } else {
    telemetry::warn("the lease is lost: this copy writes no more until it has it again", {{"lease", lease}});
  }
  options_.on_change(now);
}

// Once for as long as it does.
void Lease::note_standby() {
  const std::string holder = this->holder();
  const bool stands_by = !held() && !holder.empty() && holder != options_.identity;
  if (std::exchange(stands_by_, stands_by) || !stands_by) return;
  telemetry::info("stands by: another copy holds the lease and writes", {{"holder", holder}});
}

Duration Lease::until_next_try() const {
  const MonoTime now = clock_.boot_now();
  const MonoTime end = valid_until_.load();
  return now < end ? std::min(options_.retry_period, end - now) : options_.retry_period;
}

std::string Lease::path() const {
  return fmt::format("/apis/coordination.k8s.io/v1/namespaces/{}/leases/{}", url_encoded(options_.name_space),
                     url_encoded(options_.name));
}

Error Lease::denied(const Error& error) const {
  return {
      ErrorCode::kDenied,
      fmt::format("no right to the lease {}/{}: the account needs get, create and update on leases.coordination.k8s.io there; "
                  "or run one copy only, with --leader-elect=false ({})",
                  options_.name_space, options_.name, error.message),
      {}};
}

}  // namespace nodeward::kube
