// An endpoint whose CA, client certificate and key may be replaced in their files (a projected volume, cert-manager, kubeadm).
// Each call looks at the files' times, a few microseconds, and reads what is another file or a newer one; the transport makes new
// connections with it. A file that is gone or broken keeps what it said before, and is warned of once until it is good.
// Any thread. Private to kube/config.
#pragma once

#include <array>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <tuple>

#include "base/guarded.h"
#include "kube/config/cluster_config.h"
#include "net/http.h"

namespace nodeward::kube {

class EndpointFiles {
 public:
  explicit EndpointFiles(const ClusterConfig& config);

  std::shared_ptr<const net::Endpoint> endpoint();  // another pointer when something changed

 private:
  using Stamp = std::tuple<std::uint64_t, std::uint64_t, std::int64_t, std::int64_t, std::int64_t>;  // device, inode, size, time
  struct File {
    const char* what;
    std::filesystem::path path;  // empty: never read
    std::string net::Endpoint::*text;
    Result<> (*check)(std::string_view pem);
  };
  struct State {
    std::shared_ptr<const net::Endpoint> endpoint;
    std::array<std::optional<Stamp>, 3> read;  // what each file was when it was read well
    std::array<bool, 3> warned{};
  };

  static std::optional<Stamp> stamp_of(const std::filesystem::path& file);
  void read(std::size_t index, const std::optional<Stamp>& stamp);

  const std::string source_;
  const std::array<File, 3> files_;
  Guarded<State> state_;
};

}  // namespace nodeward::kube
