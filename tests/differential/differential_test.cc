// One list of requests, played against the real API server and against the simulated one: each answer has to be the same, but for
// what docs/sim.md lists with a reason. Both transcripts are left below the build folder, for diff.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "api/real_cluster.h"
#include "base/text.h"
#include "differential/differences.h"
#include "differential/player.h"
#include "differential/steps.h"
#include "sim/simulation.h"

namespace nodeward::differential {
namespace {

namespace fs = std::filesystem;

template <class T>
T value_of(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message);
  return *std::move(result);
}

std::vector<Turn> play_and_keep(const std::string& name, std::span<const Step> steps, const Origin& origin) {
  std::vector<Turn> turns = play(steps, origin);
  const fs::path folder = fs::path(NW_BINARY_DIR) / "differential";
  fs::create_directories(folder);
  std::ofstream(folder / (name + ".txt")) << transcript(turns);
  return turns;
}

// Made by the first test that asks.
struct Played {
  std::vector<Step> steps = value_of(read_steps(fs::path(NW_SOURCE_DIR) / "tests/data/differential"));
  std::map<std::string, std::string> meant = value_of(
      parse_differences(value_of(read_file(fs::path(NW_SOURCE_DIR) / "docs/sim.md"))));
  std::vector<Turn> real;
  std::vector<Turn> simulated;

  Played() {
    const api::RealCluster cluster;
    real = play_and_keep("real", steps,
                         {.endpoint = {.origin = cluster.origin(), .ca_pem = cluster.certificates().ca_cert},
                          .token = cluster.token(),
                          .powerless_token = cluster.powerless_token()});
    const auto simulation = value_of(sim::Simulation::start({}));
    simulation->compact();  // version 1 is long gone, as in a cluster that has lived for a while
    simulated = play_and_keep("sim", steps,
                              {.endpoint = {.origin = simulation->origin(), .ca_pem = simulation->ca_pem()},
                               .token = simulation->token(),
                               .powerless_token = simulation->powerless_token()});
  }
};

const Played& played() {
  static const Played played;
  return played;
}

TEST(Differential, TheSimulatedServerAnswersAsTheRealOneButForWhatIsListed) {
  const Played& both = played();
  for (std::size_t i = 0; i < both.steps.size(); ++i) {
    const Turn& real = both.real[i];
    if (real.answer == both.simulated[i].answer || both.meant.contains(real.id)) continue;
    ADD_FAILURE() << real.id << "\n"
                  << real.request << "\n-- real --\n"
                  << real.answer << "-- sim --\n"
                  << both.simulated[i].answer;
  }
}

TEST(Differential, EachListedDifferenceIsStillThere) {
  const Played& both = played();
  for (const auto& [id, reason] : both.meant) {
    const auto step = std::find_if(both.steps.begin(), both.steps.end(), [&](const Step& one) { return one.id == id; });
    if (step == both.steps.end()) {
      ADD_FAILURE() << "docs/sim.md lists " << id << ", which no request is called";
    } else if (const auto i = static_cast<std::size_t>(step - both.steps.begin());
               both.real[i].answer == both.simulated[i].answer) {
      ADD_FAILURE() << id << " differs no more: take it out of docs/sim.md";
    }
  }
}

}  // namespace
}  // namespace nodeward::differential
