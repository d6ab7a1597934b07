// Another controller on the same nodes, for the race for the taint list (R01): adds and removes taints of its own, one change in
// 5 ms (or as fast as the server takes them), guarded by the node's version as ours are, and looks before each change whether all
// it had put there is still there. Made and stopped by the main thread.
#pragma once

#include <atomic>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "api/cluster.h"

namespace nodeward::api {

class OtherController {
 public:
  // On these nodes, as many as a multiple of four.
  OtherController(Cluster& cluster, std::vector<std::string> nodes);

  static std::set<std::string> taints_of_its_own(const Json& node);  // their keys

  void start();
  void stop() { threads_.clear(); }  // its members may be read afterwards

  std::atomic<int> lost = 0;  // taints that others removed, or brought back
  std::atomic<int> changes = 0;
  std::map<std::string, std::set<std::string>> has;  // by node

 private:
  void change(std::size_t turn);
  bool put_or_take(const std::string& node, const std::string& key);
  void note_losses(const std::string& node, const std::set<std::string>& there);

  Admin admin_;
  const std::vector<std::string> nodes_;
  std::vector<std::jthread> threads_;
};

}  // namespace nodeward::api
