#include "labels/pod_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <thread>

#include "base/json.h"
#include "base/text.h"
#include "kube/decode.h"
#include "labels/scenario.h"

namespace nodeward::labels::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

kube::Pod pod_of(std::uint64_t uid, std::string node, std::vector<std::pair<std::string, std::string>> labels, bool ready = true,
                 std::vector<std::string> images = {}) {
  kube::Pod pod;
  pod.uid = {1, uid};
  pod.name = "pod-" + std::to_string(uid);
  pod.node = std::move(node);
  pod.labels = std::move(labels);
  pod.images = std::move(images);
  pod.ready = ready;
  return pod;
}
kube::Pod dcgm_pod(std::uint64_t uid, std::string node, bool ready = true, std::string image = "dcgm:4.1") {
  return pod_of(uid, std::move(node), {{"app", "nvidia-dcgm"}}, ready, {std::move(image)});
}

class PodTableTest : public ::testing::Test {
 protected:
  std::vector<std::string> dirty() { return std::exchange(dirty_, {}); }
  PodFacts facts(const char* node) const { return table_.facts_of(kube::NodeName(node)); }
  std::vector<std::string> unversioned_;
  std::vector<std::string> dirty_;
  PodTable table_{{},
                  {.dirty = [this](const kube::NodeName& node) { dirty_.push_back(node.str()); },
                   .unversioned = [this](std::string_view image) { unversioned_.emplace_back(image); }}};
  kube::Sink<kube::Pod>& apps_ = table_.sink(PodWatchId::kApps);
  kube::Sink<kube::Pod>& installers_ = table_.sink(PodWatchId::kInstallers);
};
using PodTableOf = PodTableTest;

TEST_F(PodTableOf, OnlyAChangeOfFactsMakesANodeDirty) {
  apps_.apply(dcgm_pod(1, "n1"));
  EXPECT_THAT(dirty(), ElementsAre("n1"));
  apps_.apply(dcgm_pod(1, "n1"));
  apps_.apply(dcgm_pod(1, "n1", true, "registry.example.com/dcgm:4.7"));   // another image, the same major
  EXPECT_THAT(dirty(), IsEmpty());
  apps_.apply(dcgm_pod(1, "n1", false));
  apps_.apply(dcgm_pod(1, "n1", false, "dcgm:3.1"));
  apps_.apply(pod_of(1, "n1", {{"app", "nvidia-driver-daemonset"}}, false));
  apps_.remove(dcgm_pod(1, "n1"));
  EXPECT_THAT(dirty(), ElementsAre("n1", "n1", "n1", "n1"));
  apps_.remove(dcgm_pod(1, "n1"));
  EXPECT_THAT(dirty(), IsEmpty());
  EXPECT_EQ(table_.pods(), 0U);
}

TEST_F(PodTableOf, WhatAListDoesNotShowIsGoneWhenItEnds) {
  apps_.apply(dcgm_pod(1, "n1"));
  apps_.apply(dcgm_pod(2, "n2"));
  installers_.apply(pod_of(3, "n3", {{"k8s-app", "nvidia-driver-installer"}}));
  dirty();
  apps_.list_begins();
  apps_.apply(dcgm_pod(1, "n1"));
  apps_.list_begins();   // the first one broke off: what it showed must be shown again
  apps_.apply(dcgm_pod(2, "n2"));
  EXPECT_THAT(dirty(), IsEmpty());
  apps_.list_ends(kube::ResourceVersion("7"));
  EXPECT_THAT(dirty(), ElementsAre("n1"));
  EXPECT_EQ(table_.pods(), 2U);
}

TEST_F(PodTableOf, WhatAListShowsButCannotBeReadIsNotGone) {
  apps_.apply(dcgm_pod(1, "n1"));
  const auto left_by_list_with = [&](const kube::Uid& uid) {
    kube::Pod who;
    who.uid = uid;
    apps_.list_begins();
    apps_.unreadable(who);
    apps_.list_ends(kube::ResourceVersion("7"));
    return table_.pods();
  };
  EXPECT_EQ(left_by_list_with({1, 1}), 1U);
  EXPECT_EQ(left_by_list_with({}), 1U) << "it may be any of them";
  EXPECT_EQ(left_by_list_with({1, 2}), 0U);
}

TEST_F(PodTableOf, AListOfNoPodsIsAList) {
  apps_.list_begins();
  apps_.list_ends(kube::ResourceVersion("7"));
  EXPECT_THAT(dirty(), IsEmpty());
}

TEST_F(PodTableOf, APodThatMovesBetweenWatchesIsRightInEitherOrder) {
  const auto as_driver = pod_of(1, "n1", {{"app", "nvidia-driver-daemonset"}});
  const auto as_installer = pod_of(1, "n1", {{"k8s-app", "nvidia-driver-installer"}});
  for (const bool delete_first : {true, false}) {
    apps_.apply(as_driver);
    if (delete_first) apps_.remove(as_driver);
    installers_.apply(as_installer);
    if (!delete_first) apps_.remove(as_driver);
    ASSERT_EQ(facts("n1").size(), 1U);
    EXPECT_EQ(facts("n1")[0].roles, kInstaller);
    EXPECT_TRUE(facts("n1")[0].ready);
    installers_.remove(as_installer);
    EXPECT_THAT(facts("n1"), IsEmpty());
  }
}

TEST_F(PodTableOf, ASlowWatchDoesNotLeaveAnOldReadinessBehind) {
  const std::vector<std::pair<std::string, std::string>> both = {{"app", "nvidia-driver-daemonset"},
                                                                 {"k8s-app", "nvidia-driver-installer"}};
  apps_.apply(pod_of(1, "n1", {{"app", "nvidia-driver-daemonset"}}, false));   // the newest state
  installers_.apply(pod_of(1, "n1", both, true));                              // an older one, and then its end
  installers_.remove(pod_of(1, "n1", both, true));
  ASSERT_EQ(facts("n1").size(), 1U);
  EXPECT_FALSE(facts("n1")[0].ready);
}

TEST_F(PodTableOf, APodThatLosesItsRoleWithinAWatchIsGone) {
  apps_.apply(dcgm_pod(1, "n1"));
  apps_.apply(pod_of(1, "n1", {{"app", "other"}}));
  EXPECT_EQ(table_.pods(), 0U);
}

TEST_F(PodTableOf, APodOnAnotherNodeMakesBothDirty) {
  apps_.apply(dcgm_pod(1, "n1"));
  dirty();
  apps_.apply(dcgm_pod(1, "n2"));
  EXPECT_THAT(dirty(), ElementsAre("n1", "n2"));
  EXPECT_THAT(facts("n1"), IsEmpty());
  EXPECT_EQ(facts("n2").size(), 1U);
  apps_.apply(dcgm_pod(1, ""));
  EXPECT_EQ(table_.pods(), 0U);
}

TEST_F(PodTableOf, R35NamesOfNodesAreUsedAsTheyAre) {
  apps_.apply(dcgm_pod(1, "Aks-Nd96-000001"));
  apps_.apply(dcgm_pod(2, "10.0.3.7"));
  EXPECT_THAT(dirty(), ElementsAre("Aks-Nd96-000001", "10.0.3.7"));
  EXPECT_THAT(facts("aks-nd96-000001"), IsEmpty());
  EXPECT_EQ(facts("Aks-Nd96-000001").size(), 1U);
  EXPECT_EQ(facts("10.0.3.7").size(), 1U);
}

TEST_F(PodTableOf, KeepsNamesOnlyWhenAsked) {
  apps_.apply(dcgm_pod(1, "n1"));
  EXPECT_EQ(facts("n1")[0].name, "");
  PodTable named({}, {.dirty = [](const kube::NodeName&) {}, .keep_pod_names = true});
  named.sink(PodWatchId::kApps).apply(dcgm_pod(1, "n1"));
  EXPECT_EQ(named.facts_of(kube::NodeName("n1"))[0].name, "pod-1");
}

TEST_F(PodTableOf, R17AnUnversionedDcgmImageIsReportedOncePerText) {
  for (int i = 0; i < 3; ++i) apps_.apply(dcgm_pod(1, "n1", i != 1, "dcgm@sha256:44"));
  apps_.apply(dcgm_pod(2, "n2", true, "dcgm@sha256:44"));
  apps_.apply(dcgm_pod(3, "n3", true, "dcgm:latest"));
  EXPECT_THAT(unversioned_, ElementsAre("dcgm@sha256:44", "dcgm:latest"));
}

TEST(PodTable, TakesEventsOfThreeWatchesWhileWorkersRead) {
  PodTable table({}, {.dirty = [](const kube::NodeName&) {}});
  {
    std::vector<std::jthread> threads;
    for (const PodWatchId watch : {PodWatchId::kApps, PodWatchId::kCrdDrivers, PodWatchId::kInstallers}) {
      threads.emplace_back([&table, watch] {
        auto& sink = table.sink(watch);
        for (std::uint64_t round = 0; round < 20; ++round) {
          sink.list_begins();
          for (std::uint64_t i = 0; i < 50; ++i) {
            sink.apply(pod_of(i, "n" + std::to_string(i % 7),
                              {{"app", "nvidia-dcgm"},
                               {"app.kubernetes.io/component", "nvidia-driver"},
                               {"k8s-app", "nvidia-driver-installer"}},
                              round % 2 == 0, {"dcgm:4.1"}));
          }
          sink.list_ends(kube::ResourceVersion("1"));
        }
      });
    }
    threads.emplace_back([&table] {
      for (int i = 0; i < 2000; ++i) table.facts_of(kube::NodeName("n3"));
    });
  }
  EXPECT_EQ(table.pods(), 50U);
}

// ---- what pods of the field look like

std::vector<std::vector<std::string>> rows_of(const std::string& file) {
  const auto text = read_file(NW_SOURCE_DIR "/tests/data/labeler/" + file);
  EXPECT_TRUE(text) << text.error().message;
  std::vector<std::vector<std::string>> rows;
  for (const std::string& line : split(*text, '\n')) {
    if (!line.empty()) rows.push_back(split(line, '\t'));
  }
  rows.erase(rows.begin());
  return rows;
}

TEST(R28Pods, OfEveryKindGiveTheLabelsThatTheTableSays) {
  const auto text = read_file(NW_SOURCE_DIR "/tests/data/labeler/pods.json");
  ASSERT_TRUE(text) << text.error().message;
  const auto decoder = kube::make_pod_decoder();
  const Json list = parse_json(*text).value();
  Scenario s;
  std::map<std::string, std::string> node_of;
  for (const Json& json : list["items"]) {
    kube::Pod pod = decoder->object(to_text(json)).value();
    pod.name = pod.name_space + "/" + pod.name;
    node_of[pod.name] = pod.node;
    s.pod(pod);
  }
  const auto rows = rows_of("pods-wanted.tsv");
  ASSERT_EQ(rows.size(), node_of.size());
  for (const auto& row : rows) {
    if (row[1] != "-") s.node(row[1], "K=false");
  }
  s.start();
  std::map<std::string, std::string> states = {
      {"D=4.x", "D=4.x K=false B=true"}, {"D=3.x", "D=3.x K=false B=true"}, {"I=true", "I=true K=false"}};
  int labelled = 0;
  for (const auto& row : rows) {
    if (row[1] == "-") continue;
    ASSERT_EQ(node_of.at(row[0]), row[1]);
    const std::string label = row[3].substr(0, row[3].find(' '));   // "I=true until the delete event", "no D while ..."
    const auto wanted = states.find(label);
    EXPECT_EQ(s.state(row[1]), wanted == states.end() ? "K=false" : wanted->second) << row[0] << ": " << row[2];
    labelled += wanted != states.end() ? 1 : 0;
  }
  EXPECT_EQ(labelled, 5);
  EXPECT_EQ(s.writes(), 5);
  EXPECT_EQ(s.unversioned_images().size(), 1U);   // the digest alone
}

// What the API server does not send, but a broken proxy or another server might.
TEST(R28Pods, WithNullsInPlaceOfListsAreNotReadyAndHaveNoVersion) {
  const auto decoder = kube::make_pod_decoder();
  for (const std::string tail :
       {R"("spec":{"nodeName":"n1","containers":null},"status":null)", R"("spec":{"nodeName":"n1"},"status":{"conditions":null})",
        R"("spec":{"nodeName":"n1","containers":[]})"}) {
    const auto pod = decoder->object(R"({"metadata":{"name":"p","namespace":"x","uid":"u1","labels":{"app":"nvidia-dcgm"}},)" +
                                     tail + "}");
    ASSERT_TRUE(pod) << pod.error().message;
    Scenario s;
    s.node("n1");
    s.pod(*pod);
    s.start();
    EXPECT_EQ(s.state(), "K=false") << tail;
    EXPECT_EQ(s.table().pods(), 1U);
  }
}

TEST(R28Pods, ATerminatingDriverCountsUntilItsDelete) {
  Scenario s;
  s.node("n1");
  s.pod(driver(R));
  s.start();
  EXPECT_EQ(s.state(), "I=true K=false");
  s.delete_pod("driver");
  EXPECT_EQ(s.state(), "K=false");
}

TEST(R30Roles, FollowFromThePodLabels) {
  const auto rows = rows_of("app-labels.tsv");
  EXPECT_EQ(rows.size(), 12U);
  for (const auto& row : rows) {
    Scenario s;
    s.node("n1");
    PodSpec pod = dcgm(4, R);
    pod.labels.clear();
    for (const std::string& label : split(row[0], ','))
      pod.labels[label.substr(0, label.find('='))] = label.substr(label.find('=') + 1);
    s.pod(pod);
    s.start();
    const std::string role = row[1].substr(0, row[1].find(' '));   // "driver (once, not twice)"
    const std::map<std::string, std::string> states = {
        {"dcgm", "D=4.x K=false B=true"}, {"driver", "I=true K=false"}, {"none", "K=false"}};
    EXPECT_EQ(s.state(), states.at(role)) << row[0];
    EXPECT_EQ(s.table().pods(), role == "none" ? 0U : 1U) << row[0];
  }
}

TEST(R30Roles, APodThatFitsTwoSelectorsCountsOnceAndGoesOnce) {
  Scenario s;
  s.node("n1");
  PodSpec pod = dcgm(4, R);
  pod.labels["k8s-app"] = "nvidia-driver-installer";
  s.pod(pod);
  s.start();
  EXPECT_EQ(s.state(), "D=4.x I=true K=false B=true");
  EXPECT_EQ(s.table().pods(), 1U);
  EXPECT_EQ(s.table().facts_of(kube::NodeName("n1")).size(), 1U);
  s.writes();
  s.delete_pod("dcgm");
  EXPECT_EQ(s.state(), "K=false B=true");
  EXPECT_EQ(s.writes(), 1);
  EXPECT_EQ(s.table().pods(), 0U);
}

PodSpec dra_pod(bool ready, const std::string& node) {
  PodSpec pod = dcgm(4, ready, "dra-" + node);
  pod.labels = {{"app", "nvidia-dcgm-dra"}};
  pod.node = node;
  return pod;
}

// The upgrade in place from nvidia-dcgm to nvidia-dcgm-dra on 100 nodes.
TEST(R30Roles, AnUpgradeToTheDraPodsNeverGetsStuck) {
  Scenario s;
  std::vector<std::string> names;
  for (int i = 0; i < 100; ++i) {
    names.push_back("n" + std::to_string(i));
    s.node(names.back(), "D=4.x K=false B=true");
    PodSpec pod = dcgm(4, R, names.back());
    pod.node = names.back();
    s.pod(pod);
  }
  s.start();
  s.writes();
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i % 2 == 0) {   // both events before a worker runs: the version stays
      s.batch([&] {
        s.delete_pod(names[i]);
        s.pod(dra_pod(R, names[i]));
      });
      EXPECT_EQ(s.writes(), 0);
    } else {            // a gap: gone, and back
      s.delete_pod(names[i]);
      s.pod(dra_pod(N, names[i]));
      s.set_ready("dra-" + names[i], R);
      EXPECT_EQ(s.writes(), 2);
    }
    EXPECT_EQ(s.state(names[i]), "D=4.x K=false B=true");
  }
  EXPECT_EQ(s.table().pods(), 100U);
}

}  // namespace
}  // namespace nodeward::labels::testing
