// Which data store the environment means (FQ spec, section 2.2): DATASTORE_PROVIDER, else the member `provider` of the YAML in
// DATASTORE_YAML, else of the file that DATASTORE_YAML_PATH names.
#pragma once

#include <functional>
#include <string>

#include "base/error.h"

namespace nodeward::config {

struct Datastore {
  std::string provider;   // in small letters; empty: none is named
  std::string source;     // the variable that named it
};

// An error names the variable, never its value: the YAML holds a password.
Result<Datastore> datastore_provider(const std::function<const char*(const char* name)>& env);

}  // namespace nodeward::config
