#include "apps/fault_quarantine/source.h"

#include <fmt/format.h>

#include "config/datastore.h"

namespace nodeward::apps {
namespace {

constexpr std::string_view kChoices =
    "name a source of events: --event-source file:PATH, file:PATH?follow or file:- (standard input)";

Refusal no_postgres(std::string_view asked_by) {
  return {2, fmt::format("{}: this version does not read PostgreSQL yet; {}", asked_by, kChoices)};
}

// Without --event-source the environment says where events come from, as it does upstream.
Refusal by_environment(const EnvLookup& env) {
  const auto store = config::datastore_provider(env);
  if (!store) return {1, store.error().message};
  if (store->provider == "postgresql" || store->provider == "postgres") return no_postgres(store->source);
  if (!store->provider.empty()) {
    return {1, fmt::format("{}: provider \"{}\" is not supported; PostgreSQL is (in a later version), or {}", store->source,
                           store->provider, kChoices)};
  }
  return {
      1,
      "--event-source file:PATH, file:PATH?follow or file:- (standard input) is missing: where health events come from; "
      "PostgreSQL (DATASTORE_PROVIDER, DATASTORE_YAML, DATASTORE_YAML_PATH) is for a later version, MongoDB is not supported"};
}

}  // namespace

std::optional<Refusal> refusal_of(const FaultQuarantineFlags& flags, const EnvLookup& env) {
  if (flags.dry_run) return Refusal{2, "--dry-run: not in this version yet; --print-only shows what would be written"};
  if (flags.event_source == "postgres") return no_postgres("--event-source postgres");
  if (flags.event_source.empty()) return by_environment(env);
  if (flags.lease.leader_elect && !flags.event_source.ends_with("?follow")) {
    return Refusal{2, "--leader-elect: a source that ends is read by one copy alone; it goes with file:PATH?follow"};
  }
  return std::nullopt;
}

}  // namespace nodeward::apps
