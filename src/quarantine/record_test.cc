#include "quarantine/record.h"

#include <gtest/gtest.h>

#include "quarantine/keys.h"

namespace nodeward::quarantine {
namespace {

kube::Node node_with(std::string_view key, std::string_view value) {
  kube::Node node;
  node.name = kube::NodeName("n1");
  node.annotations.set(key, value);
  return node;
}

TEST(Record, BlankAndEmptyAnnotationsAreNoRecord) {
  for (const std::string_view text : {"", "  \n", "[]", " [] ", "null"}) {
    const ReadRecord read = read_record(node_with(kEvents, text));
    EXPECT_FALSE(read.present) << '"' << text << '"';
    EXPECT_TRUE(read.record.events.empty());
    EXPECT_TRUE(read.unreadable.empty());
  }
}

TEST(Record, ReadsWhatOlderWritersLeft) {
  kube::Node node = node_with(kEvents, R"({"version":1,"agent":"a","checkName":"c","nodeName":"n1"})");
  node.annotations.set(kAppliedTaints, R"([{"Key":"k","Value":"v","Effect":"NoSchedule"}])");
  node.annotations.set(kAppliedLabels, R"([{"key":"l","value":"v"}])");
  const ReadRecord read = read_record(node);
  ASSERT_EQ(read.record.events.size(), 1U);
  EXPECT_EQ(read.record.events[0].check_name, "c");
  EXPECT_EQ(read.record.taints, (std::vector<AppliedTaint>{{"k", "v", "NoSchedule", false}}));
  EXPECT_EQ(read.record.labels, (std::vector<rules::RuleLabel>{{"l", "v", 0, 0}}));
  EXPECT_TRUE(read.unreadable.empty());
  EXPECT_TRUE(read.present);
}

TEST(Record, WritesTheBytesOfTheFamily) {
  EXPECT_EQ(annotation_text(
                std::vector<AppliedTaint>{{"gpu.example.com/fault", "fatal", "NoSchedule", false}, {"k", "", "NoExecute", true}}),
            R"([{"key":"gpu.example.com/fault","value":"fatal","effect":"NoSchedule","preExisting":false},)"
            R"({"key":"k","value":"","effect":"NoExecute","preExisting":true}])");
  EXPECT_EQ(
      annotation_text(std::vector<rules::RuleLabel>{{"a", "x", 100, 0}, {"b", "y", 70, 7}, {"c", "z", 0, 1}, {"d", "", 0, 0}}),
      R"([{"key":"a","value":"x","priority":100},{"key":"b","value":"y","priority":70,"order":7},)"
      R"({"key":"c","value":"z","order":1},{"key":"d","value":""}])");
}

TEST(Record, WhatCannotBeReadIsNamedAndCountsAsEmpty) {
  struct Case {
    std::string_view key;
    std::string_view text;
  };
  for (const auto& [key, text] :
       {Case{kEvents, "{broken"}, Case{kAppliedTaints, "[{broken"}, Case{kAppliedTaints, R"([{"key":1}])"},
        Case{kAppliedTaints, R"({"key":"k"})"}, Case{kAppliedLabels, R"(["a"])"}, Case{kAppliedLabels, R"([{"priority":"x"}])"},
        Case{kAppliedLabels, R"([{"priority":1e999}])"}, Case{kAppliedLabels, R"([{"priority":4294967297}])"},
        Case{kAppliedLabels, R"([{"order":-2147483649}])"}, Case{kAppliedLabels, R"([{"order":18446744073709551615}])"},
        Case{kEvents, "{}"}, Case{kEvents, R"([{"nodeName":"n1"},{}])"}, Case{kEvents, R"([{"version":1e999}])"}}) {
    const ReadRecord read = read_record(node_with(key, text));
    ASSERT_EQ(read.unreadable.size(), 1U) << text;
    EXPECT_EQ(read.unreadable[0].annotation, key);
    EXPECT_EQ(read.unreadable[0].text, text);
    EXPECT_FALSE(read.unreadable[0].why.empty());
    EXPECT_TRUE(read.present);
  }
}

TEST(Record, ALabelGivesWayToHigherPriorityThenToTheLaterPlaceInTheFile) {
  std::vector<rules::RuleLabel> labels{{"k", "first", 5, 1}};
  merge_label(labels, {"k", "lower", 4, 9});
  merge_label(labels, {"k", "earlier", 5, 0});
  EXPECT_EQ(labels[0].value, "first");
  merge_label(labels, {"k", "same place", 5, 1});
  EXPECT_EQ(labels[0].value, "same place");
  merge_label(labels, {"k", "later", 5, 2});
  EXPECT_EQ(labels[0].value, "later");
  merge_label(labels, {"k", "higher", 6, 0});
  EXPECT_EQ(labels[0].value, "higher");
  merge_label(labels, {"a", "sorted by key", 0, 0});
  EXPECT_EQ(labels[0].key, "a");
}

}  // namespace
}  // namespace nodeward::quarantine
