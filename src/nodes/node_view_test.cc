#include "nodes/node_view.h"

#include <gtest/gtest.h>

#include <string>

namespace nodeward::nodes {
namespace {

using kube::Node;
using kube::NodeName;
using kube::ResourceVersion;
using kube::Uid;

const NodeName n1{"n1"};

Node node(std::string_view version, std::string_view label, std::string_view uid = "u1") {
  Node made;
  made.name = n1;
  made.uid = Uid::from(uid);
  made.version = ResourceVersion{version};
  made.labels.set("l", label);
  return made;
}

struct Rig {
  std::vector<std::string> changes;
  NodeView view{[this](const NodeName& name, const std::shared_ptr<const Node>& now) {
    changes.push_back(name.str() + (now ? "=" + std::string(*now->labels.get("l")) : " gone"));
  }};
  void list(std::string_view version, const std::vector<Node>& nodes) {
    view.list_begins();
    for (const Node& one : nodes) view.apply(one);
    view.list_ends(ResourceVersion{version});
  }
  std::string freshest() const {
    const auto now = view.freshest(n1);
    return now ? now->version.str() + "/" + std::string(*now->labels.get("l")) : "none";
  }
};

TEST(NodeView, ReportsWhatChangedAndNoHeartbeat) {
  Rig rig;
  rig.list("10", {node("5", "a")});
  rig.view.apply(node("11", "a"));
  rig.view.apply(node("12", "b"));
  rig.view.remove(node("13", "b"));
  EXPECT_EQ(rig.changes, (std::vector<std::string>{"n1=a", "n1=b", "n1 gone"}));
  EXPECT_EQ(rig.freshest(), "none");
}

TEST(NodeView, OurOwnAnswerIsFresherThanTheCacheUntilTheWatchShowsIt) {
  Rig rig;
  rig.list("10", {node("5", "a")});
  rig.view.answered(node("12", "ours"));
  EXPECT_EQ(rig.freshest(), "12/ours");
  rig.view.apply(node("11", "foreign"));
  EXPECT_EQ(rig.freshest(), "12/ours") << "older than our answer";
  rig.view.apply(node("12", "ours"));
  EXPECT_EQ(rig.freshest(), "12/ours");
  rig.view.apply(node("13", "newer"));
  EXPECT_EQ(rig.freshest(), "13/newer");
  EXPECT_EQ(rig.changes, (std::vector<std::string>{"n1=a", "n1=newer"}));
}

TEST(NodeView, AnAnswerOlderThanTheCacheChangesNothing) {
  Rig rig;
  rig.list("10", {node("15", "a")});
  rig.view.answered(node("12", "ours"));
  EXPECT_EQ(rig.freshest(), "15/a");
}

TEST(NodeView, TheOverlayEndsWithTheNode) {
  Rig rig;
  rig.list("10", {node("5", "a")});
  rig.view.answered(node("12", "ours"));
  rig.view.remove(node("13", "ours"));
  EXPECT_EQ(rig.freshest(), "none");
}

TEST(NodeView, AnotherUidIsAnotherNode) {
  Rig rig;
  rig.list("10", {node("5", "a", "u1")});
  rig.view.answered(node("30", "ours", "u1"));
  rig.view.apply(node("20", "born again", "u2"));
  EXPECT_EQ(rig.freshest(), "20/born again");
}

TEST(NodeView, AListOlderThanOneSeenEndsOverlays) {
  Rig rig;
  rig.list("100", {node("50", "a")});
  rig.view.answered(node("101", "ours"));
  rig.list("40", {node("30", "restored")});
  EXPECT_EQ(rig.freshest(), "30/restored");
}

TEST(NodeView, AListOlderThanAnEventOrAnAnswerSeenEndsOverlaysToo) {
  for (const bool by_event : {true, false}) {
    Rig rig;
    rig.list("100", {node("50", "a")});
    if (by_event) rig.view.apply(node("150", "b"));
    rig.view.answered(node("160", "ours"));
    rig.list("120", {node("110", "restored")});
    EXPECT_EQ(rig.freshest(), "110/restored");
  }
}

TEST(NodeView, AnAnswerDuringAListOutlivesThatList) {
  Rig rig;
  rig.list("100", {node("50", "a")});
  rig.view.list_begins();
  rig.view.answered(node("130", "ours"));
  rig.view.apply(node("50", "a"));
  rig.view.list_ends(ResourceVersion{"120"});
  EXPECT_EQ(rig.freshest(), "130/ours") << "the list is of before the answer, and no sign of a restored etcd";
}

TEST(NodeView, AnAnswerAboutADeletedNodeBringsNothingBack) {
  Rig rig;
  rig.list("10", {node("5", "a")});
  rig.view.remove(node("13", "a"));
  rig.view.answered(node("12", "ours"));
  EXPECT_EQ(rig.freshest(), "none");
  EXPECT_EQ(rig.view.size(), 0U);
}

TEST(NodeView, AnAnswerAboutTheNodeBeforeDoesNotHideTheOneBornAgain) {
  Rig rig;
  rig.list("10", {node("5", "a", "u1")});
  rig.view.remove(node("13", "a", "u1"));
  rig.view.apply(node("14", "born again", "u2"));
  rig.view.answered(node("12", "ours", "u1"));
  EXPECT_EQ(rig.freshest(), "14/born again");
}

TEST(NodeView, WhatAListDoesNotShowIsGone) {
  Rig rig;
  rig.list("10", {node("5", "a")});
  rig.view.list_begins();
  EXPECT_EQ(rig.freshest(), "5/a") << "half a list says nothing";
  rig.view.list_begins();
  rig.view.list_ends(ResourceVersion{"11"});
  EXPECT_EQ(rig.freshest(), "none");
  EXPECT_EQ(rig.changes.back(), "n1 gone");
}

TEST(NodeView, WhatAListShowsButCannotBeReadIsNotGone) {
  Rig rig;
  rig.list("10", {node("5", "a")});
  const auto list_with = [&](std::string_view name) {
    Node who;
    who.name = NodeName{name};
    rig.view.list_begins();
    rig.view.unreadable(who);
    rig.view.list_ends(ResourceVersion{"11"});
    return rig.freshest();
  };
  EXPECT_EQ(list_with("n1"), "5/a");
  EXPECT_EQ(list_with(""), "5/a") << "it may be any of them";
  EXPECT_EQ(list_with("n2"), "none");
}

TEST(NodeView, VersionsWithoutOrderYieldToEqualityAndToALaterList) {
  Rig rig;
  rig.list("x", {node("aa", "a")});
  rig.view.answered(node("cc", "ours"));
  rig.view.apply(node("bb", "unknown age"));
  EXPECT_EQ(rig.freshest(), "cc/ours");
  rig.view.apply(node("cc", "ours"));
  rig.view.apply(node("dd", "next"));
  EXPECT_EQ(rig.freshest(), "dd/next") << "the equal version ended the overlay";
  rig.view.answered(node("ee", "ours again"));
  rig.list("y", {node("ff", "listed")});
  EXPECT_EQ(rig.freshest(), "ff/listed");
}

}  // namespace
}  // namespace nodeward::nodes
