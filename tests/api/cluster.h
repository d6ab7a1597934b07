// The cluster of a test: an API server on loopback, either the real one (real_cluster.h) or the simulated one (sim_cluster.h);
// which, is a matter of the binary: api_test has the real one, api_on_sim_test runs the same tests on the simulated one.
// In a test: derive from ClusterTest.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "api/admin.h"

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
class Cluster {
 public:
  Cluster() = default;
  virtual ~Cluster() = default;
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  // The one cluster of a test binary, made at the first call.
  static Cluster& shared();

  virtual const std::string& origin() const = 0;           // "https://127.0.0.1:<port>"
  virtual const std::string& ca_cert() const = 0;          // PEM
  virtual const std::string& token() const = 0;            // may do everything
  virtual const std::string& powerless_token() const = 0;  // known, but not allowed anything: 403
  virtual std::filesystem::path kubeconfig() const = 0;    // of the administrator
  const std::filesystem::path& folder() const { return folder_.path(); }  // for files of the test, gone with the cluster
  virtual Admin& admin() = 0;

  virtual bool serves() const = 0;
  virtual void kill_api_server() = 0;   // answers under way are lost
  virtual void stop_api_server() = 0;   // answers under way are finished
  virtual void start_api_server() = 0;  // again: same port, data and certificates; ready to serve

 private:
  TempFolder folder_;
};

// Of api_test and api_on_sim_test, each its own.
std::unique_ptr<Cluster> make_shared_cluster();

// Each test begins with a server that answers, no nodes and no pods; objects of other kinds stay until the test removes them.
class ClusterTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!cluster().serves()) cluster().start_api_server();  // a test that failed left it stopped
    admin().clear();
  }
  Cluster& cluster() { return Cluster::shared(); }
  Admin& admin() { return cluster().admin(); }
};

}  // namespace nodeward::api
