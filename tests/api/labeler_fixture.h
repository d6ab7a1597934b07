// The labeler on the real API server, whose own counters say what it asked for. Each test begins without nodes and pods but for
// the pair below. Main thread.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/cluster.h"
#include "api/labeler_objects.h"
#include "api/labeler_process.h"

namespace nodeward::api {

// "Nothing happens" can only be seen once the labeler has seen what there was to see. settle() changes a node and a pod of our
// own that cost the labeler exactly one write each: when that write is there, everything earlier on those watches is worked off.
class LabelerOnTheServer : public ClusterTest {
 protected:
  void SetUp() override;
  void TearDown() override;

  void start(std::vector<std::string> flags = {});   // ready, and settled
  void launch(std::vector<std::string> flags = {});  // at once
  LabelerProcess& labeler() { return *labeler_; }
  void stop();                              // expects exit code 0, and no write that was not counted before

  void node(const std::string& name, std::string_view state = "K=false") { admin().create_node(node_in_state(name, state)); }
  void pod(const Json& pod) { admin().create_pod(pod); }
  void set(std::string_view key, const std::optional<std::string>& value, const std::string& node = "n1");
  void set_ready(const std::string& pod, bool ready);
  void delete_pod(const std::string& name);

  void await_state(std::string_view wanted, const std::string& node = "n1");
  std::string state(const std::string& node = "n1") { return state_of(admin().node(node)); }

  void settle();
  // PATCHes of nodes since the last call, or since the start; writes() settles first. Expects that no node was read alone or put.
  long writes();
  long writes_so_far();
  long skipped();  // growth of the opt-out counter since the last call

 private:
  std::unique_ptr<LabelerProcess> labeler_;
  Counters seen_;
  long our_writes_ = 0;  // made for settle() since then
  bool flip_ = false;
  double skipped_ = 0;
};

}  // namespace nodeward::api
