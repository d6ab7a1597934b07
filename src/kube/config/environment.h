// The process's environment as a parameter, so that a test can give its own.
#pragma once

#include <cstdlib>
#include <functional>
#include <string>

namespace nodeward::kube {

using EnvLookup = std::function<const char*(const char* name)>;  // nullptr: not set

inline EnvLookup process_environment() {
  return [](const char* name) { return std::getenv(name); };
}

// "" also when it is not set.
inline std::string env_value(const EnvLookup& env, const char* name) {
  const char* value = env(name);
  return value == nullptr ? "" : value;
}

}  // namespace nodeward::kube
