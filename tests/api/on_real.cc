// api_test: its cluster is the real one.
#include "api/real_cluster.h"

namespace nodeward::api {

std::unique_ptr<Cluster> make_shared_cluster() { return std::make_unique<RealCluster>(); }

}  // namespace nodeward::api
