// A real cluster's control plane, kube-apiserver over etcd, on loopback with certificates of its own and an empty, temporary
// data folder: nodes and pods come out exactly as they were put in, because no controller and no kubelet runs and the admission
// plugins that would decorate them are off. Gone with the process that made it, however that ends.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "api/certificates.h"
#include "api/child.h"
#include "api/cluster.h"
#include "api/served_calls.h"

namespace nodeward::api {

class RealCluster final : public Cluster {
 public:
  RealCluster();                                  // ready to serve

  const std::string& origin() const override { return origin_; }
  const std::string& ca_cert() const override { return certificates_.ca_cert; }
  const std::string& token() const override { return kAdminToken; }
  const std::string& powerless_token() const override { return kPowerlessToken; }
  std::filesystem::path kubeconfig() const override { return folder() / "kubeconfig"; }  // by client certificate
  Admin& admin() override { return *admin_; }
  const Certificates& certificates() const { return certificates_; }
  // For controllers as they are deployed: an account that may do nothing until a test gives it rights. What it asks of nodes and
  // pods is on the server's record, which outlives a restart.
  static constexpr const char* kControllerUser = "controller";
  std::filesystem::path controller_kubeconfig() const { return folder() / "controller.kubeconfig"; }
  std::vector<ServedCall> calls_of_controllers() const { return read_served_calls(folder() / "served-calls.jsonl"); }
  void forget_the_past() const;  // etcd keeps the present alone: an older version is gone
  pid_t api_server_pid() const { return api_server_.pid(); }

  // As after an old backup was restored: nothing is there, and versions begin below those that were seen.
  void restore_empty_storage();

  bool serves() const override { return api_server_.pid() != 0; }
  void kill_api_server() override;  // SIGKILL
  void stop_api_server() override { stop_api_server_within(30s); }
  // SIGTERM, and SIGKILL after `grace`, as a kubelet does it: while a client watches, the server takes a minute to end.
  void stop_api_server_within(Duration grace) { api_server_.stop(grace); }
  void start_api_server() override;

 private:
  static const std::string kAdminToken;
  static const std::string kPowerlessToken;
  static const std::string kControllerToken;

  void start_etcd();
  void give_it_a_past() const;
  void compact(std::int64_t revision) const;
  void write_files() const;
  void write_kubeconfig(const std::filesystem::path& file, const std::string& user) const;
  std::vector<std::string> api_server_arguments() const;
  void await(Child& child, const std::string& what, const std::string& origin, const std::filesystem::path& log) const;

  std::filesystem::path programs_;
  Certificates certificates_;
  std::string etcd_origin_;
  std::string origin_;
  std::unique_ptr<Admin> admin_;
  Child etcd_;  // both end before the folder goes
  Child api_server_;
};

}  // namespace nodeward::api
