// For tests only: a cluster in memory that plays "given, when, then" against the real pod table, decision and patch. It
// evaluates the label selectors as the API server does, keeps a node cache of what node_selection() asks for, marks nodes
// dirty and works them off, merges the bodies into its nodes, and counts them. One thread.
//
// Nodes are written as in the acceptance rows: "D=4.x I=true K=false B=true G=true M=false kata=Yes"; another word before '='
// is a label key as it stands.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "kube/objects.h"
#include "labels/options.h"
#include "labels/pod_table.h"
#include "labels/wanted.h"

namespace nodeward::labels::testing {

struct PodSpec {
  std::string name;
  std::map<std::string, std::string> labels = {};
  bool ready = true;
  std::vector<std::string> images = {};
  std::string node = "n1";
  std::string name_space = "gpu-operator";
};

constexpr bool R = true;    // Ready, as in the rows
constexpr bool N = false;   // not Ready
PodSpec dcgm(int major, bool ready, std::string name = "dcgm");
PodSpec driver(bool ready, std::string name = "driver");
PodSpec installer(bool ready, std::string name = "installer");

class Scenario {
 public:
  enum class Late { kPods, kNodes };        // which lists come in last at a start
  enum class Watches { kPods, kNodes };

  explicit Scenario(Options options = {});

  // State of the cluster; events follow when the labeler runs, and are worked off at once (outside batch()).
  void node(const std::string& name, std::string_view state = "K=false");
  void set_label(const std::string& node, std::string_view key, std::optional<std::string> value);
  void set_annotation(const std::string& node, std::string_view key, const std::string& value);
  void heartbeat(const std::string& node);  // a new version, nothing else
  void pod(const PodSpec& spec);
  void pod(const kube::Pod& pod);
  void set_ready(const std::string& pod, bool ready);
  void set_image(const std::string& pod, const std::string& image);
  void set_pod_label(const std::string& pod, const std::string& key, std::optional<std::string> value);
  void bind(const std::string& pod, const std::string& node);
  void delete_pod(const std::string& pod);

  void start(Late late = Late::kPods);      // with empty caches; also a restart
  void batch(const std::function<void()>& changes);                           // no worker runs in between
  void while_watch_is_down(Watches watches, const std::function<void()>& changes);   // then the lists are read again

  // "D=4.x K=false": our keys that are there now, in the order D I K B.
  std::string state(const std::string& node = "n1") const;
  using KeysAndValues = std::map<std::string, std::string, std::less<>>;
  const KeysAndValues& labels_of(const std::string& node) const { return server_nodes_.at(node).labels; }
  const KeysAndValues& annotations_of(const std::string& node) const { return server_nodes_.at(node).annotations; }
  std::optional<std::string> label(const std::string& node, std::string_view key) const;
  std::optional<std::string> annotation(const std::string& node, std::string_view key) const;
  std::string describe(const std::string& node = "n1") const;                 // what would be done now

  // Since the last call.
  int writes();
  int removals();                           // keys taken away
  int skipped();                            // attempts on opted-out nodes
  int decisions();
  std::vector<std::string> unversioned_images();
  PodTable& table() { return *table_; }

 private:
  struct ServerNode {
    KeysAndValues labels;
    KeysAndValues annotations;
    int version = 1;
  };
  kube::Node cached_form(const std::string& name, const ServerNode& node) const;
  void node_changed(const std::string& name);
  void list_nodes();
  void list_pods();
  void pod_changed(const std::string& name, const std::function<void(kube::Pod&)>& change);
  void deliver(const kube::Pod* before, const kube::Pod* after);
  void work();
  void work_on(const std::string& node);
  void merge(const std::string& node, std::string_view body);

  Options options_;
  std::array<PodWatch, kPodWatches> watches_;
  std::map<std::string, ServerNode> server_nodes_;
  std::map<std::string, kube::Pod> server_pods_;

  bool running_ = false;
  bool synced_ = false;
  bool in_batch_ = false;
  bool pod_watch_up_ = true;
  bool node_watch_up_ = true;
  std::map<std::string, kube::Node> cache_;
  std::unique_ptr<PodTable> table_;
  std::set<std::string> dirty_;

  int writes_ = 0;
  int removals_ = 0;
  int skipped_ = 0;
  int decisions_ = 0;
  int pods_made_ = 0;
  std::vector<std::string> unversioned_;
};

}  // namespace nodeward::labels::testing
