#include "labels/wanted.h"

#include <gtest/gtest.h>

#include "labels/keys.h"
#include "labels/scenario.h"

namespace nodeward::labels::testing {
namespace {

TEST(Describe, NamesBeforeAfterAndThePodThatLedToIt) {
  Scenario s;
  s.node("gpu-a-002", "M=false");
  PodSpec pod = dcgm(3, R, "nvidia-dcgm-bb222");
  pod.node = "gpu-a-002";
  s.pod(pod);
  s.start();
  EXPECT_EQ(s.describe("gpu-a-002"), "gpu-a-002: nothing to change");

  kube::Node node;
  node.name = kube::NodeName("gpu-a-002");
  node.labels.set(kDcgmVersion, "4.x");
  node.labels.set(kDriverInstalled, "true");
  node.labels.set(kKataEnabled, "false");
  const auto facts = s.table().facts_of(node.name);
  EXPECT_EQ(describe(node, wanted(node, facts, {})),
            "gpu-a-002: dcgm.version 4.x -> 3.x (pod nvidia-dcgm-bb222), driver.installed true -> (none) (no driver pod), "
            "dcgm-bootstrap-completed (none) -> true (the node has a DCGM version)");
  node.annotations.set(kBootstrapped, "");
  node.labels.set(kManaged, "false");
  EXPECT_EQ(describe(node, wanted(node, facts, {})),
            "gpu-a-002: dcgm.version 4.x -> (none) (managed=false), driver.installed true -> (none) (managed=false), "
            "kata.enabled false -> (none) (managed=false)");
}

kube::Node node_of(std::string_view version) {
  kube::Node node;
  node.labels.set(kKataEnabled, "false");
  node.labels.set(kDcgmVersion, version);
  return node;
}

TEST(Wanted, BeforeTheSyncOnlyAnOptOutIsActedOn) {
  kube::Node node = node_of("4.x");
  EXPECT_TRUE(wanted(node, {}, {}, Phase::kBeforeSync).edits.empty());
  node.labels.set(kManaged, "false");
  const WantedLabels strip = wanted(node, {}, {}, Phase::kBeforeSync);
  EXPECT_TRUE(strip.opted_out);
  EXPECT_EQ(strip.edits.size(), 2U);
}

TEST(Wanted, OfTwoReadyMajorsTheHigherWinsAndThenTheLowerUid) {
  const PodFact three{.uid = {1, 1}, .roles = kDcgm, .ready = true, .major = DcgmMajor::k3, .name = "three"};
  const PodFact four{.uid = {1, 2}, .roles = kDcgm, .ready = true, .major = DcgmMajor::k4, .name = "four"};
  const PodFact other_four{.uid = {1, 3}, .roles = kDcgm, .ready = true, .major = DcgmMajor::k4, .name = "other"};
  for (const PodFacts& facts : {PodFacts{three, four, other_four}, PodFacts{other_four, four, three}}) {
    const WantedLabels labels = wanted(node_of("3.x"), facts, {});
    ASSERT_EQ(labels.edits.size(), 2U);
    EXPECT_EQ(labels.edits[0].value, "4.x");
    EXPECT_EQ(labels.edits[0].because, "pod four");
  }
}

TEST(Wanted, AnEmptyVersionWithoutPodIsLeftAsItIs) { EXPECT_TRUE(wanted(node_of(""), {}, {}).edits.empty()); }

TEST(Wanted, AnEmptyDriverLabelIsRemoved) {
  kube::Node node = node_of("");
  node.labels.set(kDriverInstalled, "");
  const WantedLabels labels = wanted(node, {}, {});
  ASSERT_EQ(labels.edits.size(), 1U);
  EXPECT_EQ(labels.edits[0].key, kDriverInstalled);
  EXPECT_EQ(labels.edits[0].value, std::nullopt);
}

// Whatever the node and its pods are, what is wanted once is content: the decision never chases its own writes.
TEST(Wanted, IsContentWithItsOwnResult) {
  const std::string versions[] = {"", "D=", "D=3.x", "D=4.x", "D=5.x"};
  const std::string drivers[] = {"", "I=", "I=true", "I=false"};
  const std::string others[] = {"", "K=true", "B=", "B=true", "M=false", "G=true", "kata=1"};
  const std::vector<PodSpec> pods[] = {
      {}, {dcgm(3, N)}, {dcgm(4, R), driver(R)}, {dcgm(3, R, "a"), dcgm(4, N, "b"), installer(N)}};
  for (const auto& version : versions) {
    for (const auto& driver_label : drivers) {
      for (const auto& other : others) {
        for (const auto& on_node : pods) {
          for (int flags = 0; flags < 8; ++flags) {
            Scenario s({.assume_dcgm_available = (flags & 1) != 0,
                        .assume_driver_installed = (flags & 2) != 0,
                        .require_dcgm_ready = (flags & 4) != 0});
            s.node("n1", version + " " + driver_label + " " + other);
            for (const PodSpec& pod : on_node) s.pod(pod);
            s.start();
            EXPECT_LE(s.writes(), 1) << version << ' ' << driver_label << ' ' << other << " flags " << flags;
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace nodeward::labels::testing
