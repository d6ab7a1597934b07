#include "labels/to_patch.h"

#include <gtest/gtest.h>

#include "labels/keys.h"

namespace nodeward::labels {
namespace {

TEST(ToPatch, CarriesEveryEditOfANodeInOneBody) {
  kube::Node node;
  node.name = kube::NodeName("gpu-07");
  node.labels.set(kDriverInstalled, "true");
  node.labels.set(kKataEnabled, "false");
  const PodFacts pods = {{.uid = {1, 1}, .roles = kDcgm, .ready = true, .major = DcgmMajor::k4}};
  const auto body = to_patch(node.name, wanted(node, pods, {})).body(node);
  ASSERT_TRUE(body);
  EXPECT_EQ(body->json,
            R"({"metadata":{"annotations":{"nvsentinel.dgxc.nvidia.com/dcgm-bootstrap-completed":"true"},)"
            R"("labels":{"nvsentinel.dgxc.nvidia.com/dcgm.version":"4.x","nvsentinel.dgxc.nvidia.com/driver.installed":null}}})");
  EXPECT_FALSE(body->guarded);
}

TEST(ToPatch, R34NoEditsIsNoBodyAndARemovalOfWhatIsGoneIsNone) {
  kube::Node node;
  node.name = kube::NodeName("gpu-07");
  EXPECT_FALSE(to_patch(node.name, {}).body(node));
  const WantedLabels gone = {.edits = {{KeyEdit::Where::kLabel, std::string(kDcgmVersion), std::nullopt, ""},
                                       {KeyEdit::Where::kAnnotation, std::string(kBootstrapped), std::nullopt, ""}}};
  EXPECT_FALSE(to_patch(node.name, gone).body(node));
}

}  // namespace
}  // namespace nodeward::labels
