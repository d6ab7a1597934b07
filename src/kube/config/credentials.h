// Who we are to the API server, over time: the value of the Authorization header, and the endpoint with its client certificate
// and CA. Any thread.
// A service account's token is replaced in its file about every 48 minutes, so the file is read again when what we hold is
// older than 60 s; at a 401 call reload() and repeat the request only when it says that there are other credentials.
// A file that is missing or holds no token keeps the old token, and is warned of once until it is good again.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "base/clock.h"
#include "base/error.h"
#include "base/guarded.h"
#include "kube/authorization.h"
#include "kube/config/cluster_config.h"
#include "net/http.h"

namespace nodeward::kube {

class EndpointFiles;
class ExecSource;

class Credentials {
 public:
  Credentials(const ClusterConfig& config, Clock& clock);  // reads the token file
  ~Credentials();

  // "Bearer <token>"; "" when there is no token. Waits for the credential plugin when it has to; only its failures are errors.
  Result<Authorization> authorization(const std::stop_token& stop);
  // The server answered 401 to `refused`: true when there are other credentials now. One reading of the file, or one run of the
  // plugin, serves all that were refused meanwhile.
  bool reload(const Authorization& refused, const std::stop_token& stop);
  // With the newest CA and client certificate; another pointer when they changed. As net's EndpointSource.
  std::shared_ptr<const net::Endpoint> endpoint();

 private:
  struct State {
    std::string token;
    MonoTime read_again;
    bool warned = false;
  };
  struct Joined {
    std::shared_ptr<const net::Endpoint> of_files, whole;
    std::shared_ptr<const ExecCredential> credential;
  };

  std::string token_now();
  void read_token_file();

  const std::string source_;
  const std::filesystem::path token_file_;
  Clock& clock_;
  Guarded<State> state_;
  Guarded<Joined> joined_;  // the files' endpoint with the plugin's certificate
  const std::unique_ptr<EndpointFiles> files_;
  const std::unique_ptr<ExecSource> exec_;  // null: no plugin
};

}  // namespace nodeward::kube
