#include "nodes/node_patch.h"

#include <gtest/gtest.h>

#include <regex>

namespace nodeward::nodes {
namespace {

using kube::Node;
using kube::NodeName;
using kube::ResourceVersion;
using kube::Taint;

Node bare() {
  Node node;
  node.name = NodeName{"gpu-07"};
  node.version = ResourceVersion{"41"};
  return node;
}

Taint foreign(std::string key, std::string raw) { return Taint{std::move(key), "", "NoSchedule", std::move(raw)}; }
constexpr auto kNotReady =
    R"({"key":"node.kubernetes.io/not-ready","effect":"NoSchedule","timeAdded":"2026-08-31T08:30:00Z","later":1})";

TEST(NodePatch, SendsOnlyTheKeysThatDifferSortedAndStable) {
  Node node = bare();
  node.labels.set("b", "same");
  node.labels.set("c", "old");
  node.labels.set("gone", "x");
  NodePatch patch(node.name);
  patch.label("c", "new")
      .label("b", "same")
      .label("a", "first")
      .drop_label("gone")
      .drop_label("never-there")
      .annotation("note", "yes");
  EXPECT_EQ(patch.body(node)->json,
            R"({"metadata":{"annotations":{"note":"yes"},"labels":{"a":"first","c":"new","gone":null}}})");
  EXPECT_FALSE(patch.body(node)->guarded);
}

TEST(NodePatch, SaysNothingWhenNothingDiffers) {
  Node node = bare();
  node.labels.set("a", "1");
  NodePatch patch(node.name);
  patch.label("a", "1").drop_label("b").drop_annotation("c").unschedulable(false).drop_taint({"t", "NoSchedule"});
  EXPECT_FALSE(patch.body(node).has_value());
}

TEST(NodePatch, RemovesALabelUnseenOnlyAlongWithSomethingElse) {
  const Node node = bare();
  NodePatch patch(node.name);
  patch.drop_label_unseen("b");
  EXPECT_FALSE(patch.body(node));
  EXPECT_EQ(patch.label("a", "1").body(node)->json, R"({"metadata":{"labels":{"a":"1","b":null}}})");
}

TEST(NodePatch, TellsTheNodeAsItWouldBe) {
  Node node = bare();
  node.labels.set("gone", "x");
  node.taints = {foreign("dedicated", "{}")};
  NodePatch patch(node.name);
  patch.drop_label("gone")
      .label("a", "1")
      .annotation("note", "yes")
      .unschedulable(true)
      .add_taint({"gpu/fault", "fatal", "NoSchedule", ""});
  const Node after = patch.applied(node);
  EXPECT_FALSE(after.labels.get("gone"));
  EXPECT_EQ(after.labels.get("a"), "1");
  EXPECT_EQ(after.annotations.get("note"), "yes");
  EXPECT_TRUE(after.unschedulable);
  ASSERT_EQ(after.taints.size(), 2U);
  EXPECT_EQ(after.taints[1].key, "gpu/fault");
  EXPECT_FALSE(patch.body(after));
}

TEST(NodePatch, AnEmptyValueIsNotAnAbsentKey) {
  Node node = bare();
  EXPECT_EQ(NodePatch(node.name).label("a", "").body(node)->json, R"({"metadata":{"labels":{"a":""}}})");
  node.labels.set("a", "");
  EXPECT_FALSE(NodePatch(node.name).label("a", "").body(node));
  EXPECT_EQ(NodePatch(node.name).drop_label("a").body(node)->json, R"({"metadata":{"labels":{"a":null}}})");
}

TEST(NodePatch, KeepsForeignTaintsInPlaceAsTheyCameAndNamesTheVersion) {
  Node node = bare();
  node.taints = {foreign("node.kubernetes.io/not-ready", kNotReady),
                 foreign("dedicated", R"({"effect":"NoSchedule","key":"dedicated"})")};
  const auto body = NodePatch(node.name).add_taint({"gpu/fault", "fatal", "NoSchedule", ""}).body(node);
  EXPECT_EQ(body->json,
            std::string(R"({"metadata":{"resourceVersion":"41"},"spec":{"taints":[)") + kNotReady +
                R"(,{"effect":"NoSchedule","key":"dedicated"},{"effect":"NoSchedule","key":"gpu/fault","value":"fatal"}]}})");
  EXPECT_TRUE(body->guarded);
}

TEST(NodePatch, ATaintIsKeyAndEffect) {
  Node node = bare();
  node.taints = {
      Taint{"gpu/fault", "watch", "NoSchedule", R"({"effect":"NoSchedule","key":"gpu/fault","value":"watch"})"},
      Taint{"gpu/fault", "watch", "PreferNoSchedule", R"({"effect":"PreferNoSchedule","key":"gpu/fault","value":"watch"})"}};
  EXPECT_EQ(NodePatch(node.name).add_taint({"gpu/fault", "fatal", "NoSchedule", ""}).body(node)->json,
            R"({"metadata":{"resourceVersion":"41"},"spec":{"taints":[{"effect":"NoSchedule","key":"gpu/fault","value":"fatal"},)"
            R"({"effect":"PreferNoSchedule","key":"gpu/fault","value":"watch"}]}})");
  EXPECT_EQ(
      NodePatch(node.name).drop_taint({"gpu/fault", "NoSchedule"}).body(node)->json,
      R"({"metadata":{"resourceVersion":"41"},"spec":{"taints":[{"effect":"PreferNoSchedule","key":"gpu/fault","value":"watch"}]}})");
  EXPECT_FALSE(NodePatch(node.name).add_taint({"gpu/fault", "watch", "NoSchedule", ""}).body(node));
}

TEST(NodePatch, TheLastTaintLeavesAnEmptyList) {
  Node node = bare();
  node.taints = {foreign("t", "{}")};
  EXPECT_EQ(NodePatch(node.name).drop_taint({"t", "NoSchedule"}).body(node)->json,
            R"({"metadata":{"resourceVersion":"41"},"spec":{"taints":[]}})");
}

TEST(NodePatch, ACordonAloneCarriesNoVersionUnlessAsked) {
  const Node node = bare();
  EXPECT_EQ(NodePatch(node.name).unschedulable(true).body(node)->json, R"({"spec":{"unschedulable":true}})");
  const auto body = NodePatch(node.name).unschedulable(true).guarded().body(node);
  EXPECT_EQ(body->json, R"({"metadata":{"resourceVersion":"41"},"spec":{"unschedulable":true}})");
  EXPECT_EQ(body->identity, R"({"spec":{"unschedulable":true}})");
}

TEST(NodePatch, LeavesOutWhatWeighsLess) {
  const Node node = bare();
  NodePatch patch(node.name);
  patch.label("why", "x", Weight::kOrnament).label("state", "q", Weight::kMark).annotation("record", "r").unschedulable(true);
  EXPECT_EQ(patch.lightened(Weight::kMark).body(node)->json,
            R"({"metadata":{"annotations":{"record":"r"},"labels":{"state":"q"}},"spec":{"unschedulable":true}})");
  EXPECT_EQ(patch.lightened(Weight::kVital).body(node)->json,
            R"({"metadata":{"annotations":{"record":"r"}},"spec":{"unschedulable":true}})");
}

TEST(NodePatch, EscapesKeysAndValues) {
  const Node node = bare();
  EXPECT_EQ(NodePatch(node.name).annotation("a/~0.b", "say \"hi\"\n\xff").body(node)->json,
            "{\"metadata\":{\"annotations\":{\"a/~0.b\":\"say \\\"hi\\\"\\n\xEF\xBF\xBD\"}}}");
}

TEST(R07LegalLabelValue, IsAlwaysEmptyOrLegal) {
  struct Case {
    std::string given, wanted;
  };
  const Case cases[] = {{"gpu-fatal.", "gpu-fatal"},
                        {"gr\xC3\xB6\xC3\x9F"
                         "e",
                         "gr--e"},
                        {std::string(80, 'x'), std::string(63, 'x')},
                        {"--", ""},
                        {"_", ""},
                        {"", ""},
                        {"ops@example.org", "ops-example.org"},
                        {"-", ""},
                        {std::string(62, 'a') + "_b", std::string(62, 'a')},
                        {std::string(200, 'q'), std::string(63, 'q')},
                        {".a.", "a"},
                        {"3.x", "3.x"}};
  const std::regex legal("([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?");
  for (const Case& one : cases) {
    EXPECT_EQ(legal_label_value(one.given), one.wanted);
    EXPECT_TRUE(std::regex_match(legal_label_value(one.given), legal)) << one.given;
  }
}

}  // namespace
}  // namespace nodeward::nodes
