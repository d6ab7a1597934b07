// The simulated cluster (src/sim) as the cluster of a test: in this process, over TLS on a free port of 127.0.0.1. Killing it
// closes every connection and refuses new ones until it is started again; what it held stays, as behind a real one's etcd.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "api/cluster.h"

namespace nodeward::api {

class SimCluster final : public Cluster {
 public:
  SimCluster();
  ~SimCluster() override;

  const std::string& origin() const override { return origin_; }
  const std::string& ca_cert() const override { return ca_cert_; }
  const std::string& token() const override { return kAdminToken; }
  const std::string& powerless_token() const override { return kPowerlessToken; }
  std::filesystem::path kubeconfig() const override { return folder() / "kubeconfig"; }
  Admin& admin() override { return *admin_; }

  bool serves() const override { return serves_; }
  void kill_api_server() override;
  void stop_api_server() override { kill_api_server(); }
  void start_api_server() override;

 private:
  static const std::string kAdminToken;
  static const std::string kPowerlessToken;

  struct Parts;                       // of src/sim
  const std::unique_ptr<Parts> parts_;
  std::string origin_;
  std::string ca_cert_;
  std::unique_ptr<Admin> admin_;
  bool serves_ = true;
};

}  // namespace nodeward::api
