// A real cluster's control plane, kube-apiserver over etcd, on loopback with certificates of its own and an empty, temporary
// data folder: nodes and pods come out exactly as they were put in, because no controller and no kubelet runs and the admission
// plugins that would decorate them are off. Gone with the process that made it, however that ends.
// In a test: derive from ClusterTest. In a program: make a RealCluster.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "api/admin.h"
#include "api/certificates.h"
#include "api/child.h"

namespace nodeward::api {

// A port on 127.0.0.1 that nothing listens on, below the range that outgoing connections take theirs from. Main thread.
int free_port();

// A new empty folder, in memory where there is room; removed at the end, or by the next one made when its process was killed.
class TempFolder {
 public:
  TempFolder();
  ~TempFolder();
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  int lock_ = -1;    // a locked file inside says that the folder is in use
};

// Made, stopped and started by the main thread; the rest from any thread. Throws std::runtime_error with a sentence that says
// what is missing or ends with what the server logged last.
class RealCluster {
 public:
  RealCluster();                                  // ready to serve
  RealCluster(const RealCluster&) = delete;
  RealCluster& operator=(const RealCluster&) = delete;

  // The one cluster of a test binary, made at the first call.
  static RealCluster& shared();

  const std::string& origin() const { return origin_; }    // "https://127.0.0.1:<port>"
  const Certificates& certificates() const { return certificates_; }
  const std::string& token() const { return kAdminToken; }                  // of group system:masters: may do everything
  const std::string& powerless_token() const { return kPowerlessToken; }    // known, but not allowed anything: 403
  std::filesystem::path kubeconfig() const { return folder() / "kubeconfig"; }  // of the administrator, by client certificate
  const std::filesystem::path& folder() const { return folder_.path(); }  // for files of the test, gone with the cluster
  Admin& admin() { return *admin_; }
  pid_t api_server_pid() const { return api_server_.pid(); }

  void kill_api_server();  // SIGKILL: answers under way are lost
  void stop_api_server();  // SIGTERM: answers under way are finished
  void start_api_server();  // again, or for the first time: same port, data and certificates; ready to serve

 private:
  static const std::string kAdminToken;
  static const std::string kPowerlessToken;

  void start_etcd();
  void give_it_a_past() const;
  void write_files() const;
  std::vector<std::string> api_server_arguments() const;
  void await(Child& child, const std::string& what, const std::string& origin, const std::filesystem::path& log) const;

  std::filesystem::path programs_;
  TempFolder folder_;
  Certificates certificates_;
  std::string etcd_origin_;
  std::string origin_;
  std::unique_ptr<Admin> admin_;
  Child etcd_;  // both end before the folder goes
  Child api_server_;
};

// Each test begins with a server that answers, no nodes and no pods; objects of other kinds stay until the test removes them.
class ClusterTest : public testing::Test {
 protected:
  void SetUp() override {
    if (cluster().api_server_pid() == 0) cluster().start_api_server();  // a test that failed left it stopped
    admin().clear();
  }
  RealCluster& cluster() { return RealCluster::shared(); }
  Admin& admin() { return cluster().admin(); }
};

}  // namespace nodeward::api
