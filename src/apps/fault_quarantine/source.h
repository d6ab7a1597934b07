// Which source of events the flags and the environment mean, and what this version has to refuse. Pure but for the one file that
// DATASTORE_YAML_PATH names.
#pragma once

#include <cstdlib>
#include <functional>
#include <optional>
#include <string>

#include "apps/fault_quarantine/flags.h"

namespace nodeward::apps {

struct Refusal {
  int exit_code;  // 2: what this version does not have; 1: no source is named, or none that there is
  std::string sentence;
};

using EnvLookup = std::function<const char*(const char* name)>;   // nullptr: not set

// nullopt: --event-source names lines of JSON, and nothing that is not built yet was asked for.
std::optional<Refusal> refusal_of(
    const FaultQuarantineFlags& flags, const EnvLookup& env = [](const char* name) { return std::getenv(name); });

}  // namespace nodeward::apps
