// api_on_sim_test: the same tests on the simulated cluster.
#include "api/sim_cluster.h"

namespace nodeward::api {

std::unique_ptr<Cluster> make_shared_cluster() { return std::make_unique<SimCluster>(); }

}  // namespace nodeward::api
