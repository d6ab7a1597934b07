#include "api/sim_cluster.h"

#include <stdexcept>

namespace nodeward::api {
namespace {

template <class T>
T must(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message);
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

}  // namespace

SimCluster::SimCluster() : simulation_(must(sim::Simulation::start({.port = free_port()}))), origin_(simulation_->origin()) {
  admin_ = std::make_unique<Admin>(origin_, simulation_->ca_pem(), simulation_->token());
  must(simulation_->write_kubeconfig(kubeconfig()));
}

void SimCluster::kill_api_server() {
  simulation_->shut();
  serves_ = false;
}

void SimCluster::start_api_server() {
  if (serves_) return;
  must(simulation_->open_again());
  admin_->forget_own_calls();
  serves_ = true;
}

}  // namespace nodeward::api
