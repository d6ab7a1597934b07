// Of test binaries alone, which say what make_shared_cluster() makes.
#include "api/cluster.h"

namespace nodeward::api {

Cluster& Cluster::shared() {
  static const std::unique_ptr<Cluster> cluster = make_shared_cluster();
  return *cluster;
}

}  // namespace nodeward::api
