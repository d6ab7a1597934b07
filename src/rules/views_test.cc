#include "rules/views.h"

#include <gtest/gtest.h>

namespace nodeward::rules {
namespace {

std::string shown(const events::HealthEvent& event) {
  cel::Arena arena;
  return cel::to_cel_text(event_view(event, arena));
}

TEST(EventView, HasEveryMemberAndNullForWhatIsAbsent) {
  EXPECT_EQ(
      shown({}),
      R"({"version": 0.0, "agent": "", "componentClass": "", "checkName": "", "isFatal": false, "isHealthy": false, "message": "", )"
      R"("recommendedAction": 0.0, "errorCode": null, "entitiesImpacted": null, "metadata": null, "generatedTimestamp": null, )"
      R"("nodeName": "", "quarantineOverrides": null, "drainOverrides": null, "processingStrategy": 0.0, "id": "", )"
      R"("customRecommendedAction": ""})");
}

TEST(EventView, ShowsWhatIsThere) {
  const events::HealthEvent event{.version = 1,
                                  .agent = "a",
                                  .component_class = "c",
                                  .check_name = "k",
                                  .is_fatal = true,
                                  .is_healthy = true,
                                  .message = "m",
                                  .recommended_action = 24,
                                  .error_codes = {{"79"}},
                                  .entities = {{{"GPU", "0"}}},
                                  .metadata = {{{"b", "2"}}},
                                  .generated = events::Timestamp{5, 7},
                                  .node_name = "n",
                                  .quarantine_overrides = events::Overrides{.force = true},
                                  .drain_overrides = events::Overrides{},
                                  .processing_strategy = 3,
                                  .id = "i",
                                  .custom_recommended_action = "u"};
  EXPECT_EQ(
      shown(event),
      R"({"version": 1.0, "agent": "a", "componentClass": "c", "checkName": "k", "isFatal": true, "isHealthy": true, "message": "m", )"
      R"("recommendedAction": 24.0, "errorCode": ["79"], "entitiesImpacted": [{"entityType": "GPU", "entityValue": "0"}], )"
      R"("metadata": {"b": "2"}, "generatedTimestamp": {"seconds": 5.0, "nanos": 7.0}, "nodeName": "n", )"
      R"("quarantineOverrides": {"force": true, "skip": false}, "drainOverrides": {"force": false, "skip": false}, )"
      R"("processingStrategy": 3.0, "id": "i", "customRecommendedAction": "u"})");
}

TEST(NodeView, LeavesOutWhatTheApiLeavesOut) {
  cel::Arena arena;
  kube::Node node;
  node.name = kube::NodeName("n");
  node.version = kube::ResourceVersion("7");
  EXPECT_EQ(cel::to_cel_text(node_view(node, true, arena)), R"({"metadata": {"name": "n", "resourceVersion": "7"}, "spec": {}})");
  node.labelled = true;
  node.annotation_bytes = 3;
  node.unschedulable = true;
  node.members.set("spec.x", "[1, {\"y\": null}]");
  node.taints = {{"k", "", "NoSchedule", R"({"key":"k","effect":"NoSchedule","more":1})"}};
  EXPECT_EQ(
      cel::to_cel_text(node_view(node, true, arena)),
      R"({"metadata": {"name": "n", "resourceVersion": "7", "labels": {}, "annotations": {}}, )"
      R"("spec": {"unschedulable": true, "taints": [{"effect": "NoSchedule", "key": "k", "more": 1}], "x": [1, {"y": null}]}})");
  EXPECT_NE(cel::to_cel_text(node_view(node, false, arena)).find(R"("taints": [{"key": "k", "effect": "NoSchedule"}])"),
            std::string::npos);
}

}  // namespace
}  // namespace nodeward::rules
