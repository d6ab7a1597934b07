// The value of the Authorization header over time. Any thread.
// A service account's token is replaced in its file about every 48 minutes, so the file is read again when what we hold is
// older than 60 s; at a 401 call reload() and repeat the request only when it says that the token is another one.
// A file that is missing or holds no token keeps the old token, and is warned of once until it is good again.
#pragma once

#include <filesystem>
#include <string>

#include "base/clock.h"
#include "base/guarded.h"
#include "kube/config/cluster_config.h"

namespace nodeward::kube {

class Credentials {
 public:
  Credentials(const ClusterConfig& config, Clock& clock);  // reads the token file

  std::string authorization();  // "Bearer <token>"; "" when there is no token
  bool reload();                // reads the token file now; true when the token changed

 private:
  struct State {
    std::string token;
    MonoTime read_again;
    bool warned = false;
  };

  const std::string source_;
  const std::filesystem::path token_file_;
  Clock& clock_;
  Guarded<State> state_;
};

}  // namespace nodeward::kube
