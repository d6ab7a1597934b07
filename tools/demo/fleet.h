// The demo of a fleet: thousands of simulated nodes labelled, then a tenth of them taken out of service, with a progress bar, the
// rates, the calls and the memory that took.
#pragma once

#include "api/sim_cluster.h"

namespace nodeward::demo {

// Throws std::runtime_error when a controller does not get to its end.
void show_fleet(api::SimCluster& cluster, int nodes);

}  // namespace nodeward::demo
