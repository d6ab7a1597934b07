// An endpoint whose CA, client certificate and key may be replaced in their files (a projected volume, cert-manager, kubeadm).
// Each call looks at the files' times, a few microseconds, and reads what is another file or a newer one; the transport makes new
// connections with it. A certificate and a key are taken together, once they are a pair: whoever renews them writes one first.
// What is gone, broken or no pair keeps what it said before, and is warned of once until it is good.
// Any thread. Private to kube/config.
#pragma once

#include <array>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

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
  struct Group {  // what is taken together
    const char* what;
    std::vector<File> files;
    Result<> (*check)(const net::Endpoint& whole);
  };
  using Stamps = std::vector<Stamp>;
  struct State {
    std::shared_ptr<const net::Endpoint> endpoint;
    std::array<std::optional<Stamps>, 2> read;  // what each group's files were when they were read well
    std::array<bool, 2> warned{};
  };

  static std::optional<Stamps> stamps_of(const Group& group);  // nullopt: one is gone
  static Result<> read(const Group& group, net::Endpoint& into);
  void take(std::size_t index, const std::optional<Stamps>& stamps);

  const std::string source_;
  const std::array<Group, 2> groups_;
  Guarded<State> state_;
};

}  // namespace nodeward::kube
