// The simulated cluster (src/sim) as the cluster of a test: in this process, over TLS on a free port of 127.0.0.1. Killing it
// closes every connection and refuses new ones until it is started again; what it held stays, as behind a real one's etcd.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "api/cluster.h"
#include "sim/simulation.h"

namespace nodeward::api {

class SimCluster final : public Cluster {
 public:
  SimCluster();

  const std::string& origin() const override { return origin_; }
  const std::string& ca_cert() const override { return simulation_->ca_pem(); }
  const std::string& token() const override { return simulation_->token(); }
  const std::string& powerless_token() const override { return simulation_->powerless_token(); }
  std::filesystem::path kubeconfig() const override { return folder() / "kubeconfig"; }
  Admin& admin() override { return *admin_; }
  sim::Simulation& simulation() { return *simulation_; }

  bool serves() const override { return serves_; }
  void kill_api_server() override;
  void stop_api_server() override { kill_api_server(); }
  void start_api_server() override;

 private:
  std::unique_ptr<sim::Simulation> simulation_;
  std::string origin_;
  std::unique_ptr<Admin> admin_;
  bool serves_ = true;
};

}  // namespace nodeward::api
