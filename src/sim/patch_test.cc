// Strategic merge patches as kubectl and kubelets send them; the expected lists are what a kube-apiserver 1.36 makes of them.
#include "sim/patch.h"

#include <gtest/gtest.h>

namespace nodeward::sim {
namespace {

Json strategic(const char* target, const char* patch) {
  const auto made = strategic_patch(Doc::from(Json::parse(target)), Json::parse(patch));
  return made ? made->json() : Json(made.error().message);
}

TEST(StrategicPatch, MergesListsByTheirKey) {
  EXPECT_EQ(strategic(R"({"conditions":[{"type":"Ready","status":"False","x":1},{"type":"Disk"}]})",
                      R"({"conditions":[{"type":"Ready","status":"True"}]})"),
            Json::parse(R"({"conditions":[{"type":"Ready","status":"True","x":1},{"type":"Disk"}]})"));
}

TEST(StrategicPatch, FollowsTheOrderThatIsSent) {
  EXPECT_EQ(strategic(R"({"conditions":[{"type":"A"},{"type":"B"},{"type":"C"}]})",
                      R"({"$setElementOrder/conditions":[{"type":"C"},{"type":"A"}],"conditions":[{"type":"C","x":1}]})"),
            Json::parse(R"({"conditions":[{"type":"B"},{"type":"C","x":1},{"type":"A"}]})"));
}

TEST(StrategicPatch, DeletesAndReplacesByDirective) {
  EXPECT_EQ(strategic(R"({"addresses":[{"type":"A"},{"type":"B"}]})", R"({"addresses":[{"type":"A","$patch":"delete"}]})"),
            Json::parse(R"({"addresses":[{"type":"B"}]})"));
  EXPECT_EQ(strategic(R"({"addresses":[{"type":"A"}]})", R"({"addresses":[{"$patch":"replace"},{"type":"B"}]})"),
            Json::parse(R"({"addresses":[{"type":"B"}]})"));
  EXPECT_EQ(strategic(R"({"labels":{"a":"1"}})", R"({"labels":{"$patch":"replace","b":"2"}})"),
            Json::parse(R"({"labels":{"b":"2"}})"));
  EXPECT_EQ(strategic(R"({"volumes":[{"name":"v","emptyDir":{},"hostPath":{}}]})",
                      R"({"volumes":[{"name":"v","$retainKeys":["name","hostPath"]}]})"),
            Json::parse(R"({"volumes":[{"name":"v","hostPath":{}}]})"));
  EXPECT_EQ(strategic(R"({"finalizers":["a","b"]})", R"({"$deleteFromPrimitiveList/finalizers":["a"]})"),
            Json::parse(R"({"finalizers":["b"]})"));
}

TEST(StrategicPatch, TaintsAreReplacedWhole) {
  EXPECT_EQ(strategic(R"({"spec":{"taints":[{"key":"a","effect":"NoSchedule"}]}})", R"({"spec":{"taints":[{"key":"b"}]}})"),
            Json::parse(R"({"spec":{"taints":[{"key":"b"}]}})"));
  EXPECT_EQ(
      strategic(R"({"spec":{"taints":[{"key":"a"}],"unschedulable":true}})", R"({"spec":{"taints":null,"unschedulable":null}})"),
      Json::parse(R"({"spec":{}})"));
}

TEST(StrategicPatch, AnItemWithoutItsKeyIsRefused) {
  EXPECT_EQ(strategic("{}", R"({"conditions":[{"status":"x"}]})"),
            "map: {\"status\":\"x\"} does not contain declared merge key: type");
}

TEST(Patches, NoChangeIsTheSameDocument) {
  const Doc target = Doc::from(Json::parse(R"({"a":{"b":"1"},"conditions":[{"type":"A","x":1}],"n":[1,2]})"));
  const Json same = Json::parse(R"({"a":{"b":"1","c":null},"conditions":[{"type":"A","x":1}],"n":[1,2]})");
  EXPECT_TRUE(merge_patch(target, same).same(target));
  EXPECT_TRUE(strategic_patch(target, same)->same(target));
  EXPECT_TRUE(json_patch(target, Json::parse(R"([{"op":"test","path":"/a/b","value":"1"}])"))->same(target));
}

}  // namespace
}  // namespace nodeward::sim
