// Fills the store of a simulated server: with what `kubectl get -o json` wrote, with copies of that, and with heartbeats.
// The server's thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "sim/store.h"
#include "sim/writer.h"

namespace nodeward::sim {

class Fleet {
 public:
  Fleet(Store& store, Writer& writer, const Clock& clock) : store_(store), writer_(writer), clock_(clock) {}

  void create_namespaces();                       // those that every cluster has
  // One object or a list of any kind. `source` opens the message of an error, which names the item.
  Result<> load(const Json& document, std::string_view source);
  // Copies the nodes that are there, in turns, until there are `wanted`.
  Result<> multiply_nodes(std::size_t wanted);
  // Gives each node so many pods, copies of the loaded ones in turns; of a plain one where there is none.
  Result<> add_pods(std::size_t per_node);
  // What `count` kubelets report of their nodes: the conditions' lastHeartbeatTime, node after node.
  void heartbeat(std::size_t count);

 private:
  Result<> load_one(const Json& object, std::string_view kind, std::string_view api_version, const std::string& where);
  void need_namespace(std::string_view name);

  Store& store_;
  Writer& writer_;
  const Clock& clock_;
  std::vector<Doc> pod_templates_;
  std::string last_beat_;                         // the key of the node that reported last
};

}  // namespace nodeward::sim
