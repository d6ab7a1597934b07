// The acceptance rows of the labeler, 1 to 51, under their names. Each test opens with its row: given | when | then | writes.
// "Base" is node n1, known and managed, K=false, no pods, flags at their defaults, the labeler running. D, I, K, B, M, G are
// the keys of keys.h; R = Ready, N = not Ready.
// Rows 50 and 51 are about the answer to a write, and stand with the loop that writes.
#include <gtest/gtest.h>

#include "labels/scenario.h"

namespace nodeward::labels::testing {
namespace {

using Late = Scenario::Late;

// A running labeler whose node n1 is in `state`.
struct Running : Scenario {
  explicit Running(std::string_view state = "K=false", std::vector<PodSpec> pods = {}, Options options = {})
      : Scenario(std::move(options)) {
    node("n1", state);
    for (const PodSpec& each : pods) pod(each);
    start();
    EXPECT_EQ(this->state(), std::string(state.substr(0, this->state().size()))) << "not at rest in its given state";
    EXPECT_EQ(writes(), 0);
    skipped();
    decisions();
  }
};

// n1 in `state` with `pods`, the labeler not started yet.
struct Stopped : Scenario {
  explicit Stopped(std::string_view state, std::vector<PodSpec> pods = {}, Options options = {}) : Scenario(std::move(options)) {
    node("n1", state);
    for (const PodSpec& each : pods) pod(each);
  }
};

void expect(Scenario& scenario, std::string_view state, int writes) {
  EXPECT_EQ(scenario.state(), state);
  EXPECT_EQ(scenario.writes(), writes);
}

PodSpec with_images(PodSpec pod, std::vector<std::string> images) {
  pod.images = std::move(images);
  return pod;
}
PodSpec with_labels(PodSpec pod, std::map<std::string, std::string> labels) {
  pod.labels = std::move(labels);
  return pod;
}
PodSpec on(PodSpec pod, std::string node) {
  pod.node = std::move(node);
  return pod;
}

// 1 | n1 without labels | start | K=false; no D, I, B | 1
TEST(LabelerCase01, AColdNodeWithoutPodsGetsKataAlone) {
  Stopped s("");
  s.start();
  expect(s, "K=false", 1);
}

// 2 | base | start | nothing | 0
TEST(LabelerCase02, NothingToDoIsNoWrite) {
  Stopped s("K=false");
  s.start();
  expect(s, "K=false", 0);
}

// 3 | n1 without labels; dcgm 4 R, driver R | start | D=4.x I=true K=false B=true in one body | 1
TEST(LabelerCase03, AColdNodeGetsEverythingInOneWrite) {
  Stopped s("", {dcgm(4, R), driver(R)});
  s.start();
  expect(s, "D=4.x I=true K=false B=true", 1);
}

// 4 | 1,000 nodes, all labels right | restart | nothing | 0
TEST(LabelerCase04, ARestartWithAllLabelsRightWritesNothing) {
  Scenario s;
  for (int i = 0; i < 1000; ++i) {
    const std::string name = "n" + std::to_string(i);
    s.node(name, "D=4.x I=true K=false B=true");
    s.pod(on(dcgm(4, R, "dcgm-" + name), name));
    s.pod(on(driver(R, "driver-" + name), name));
  }
  s.start();
  s.start();
  EXPECT_EQ(s.writes(), 0);
  EXPECT_EQ(s.state("n999"), "D=4.x I=true K=false B=true");
}

// 5 | base | dcgm 3 R added | D=3.x B=true | 1
TEST(LabelerCase05, AReadyDcgmPodSetsTheVersionAndTheBootstrapMark) {
  Running s;
  s.pod(dcgm(3, R));
  expect(s, "D=3.x K=false B=true", 1);
}

// 6 | base | dcgm 4 N added | nothing | 0
TEST(LabelerCase06, TheFirstVersionNeedsAReadyPod) {
  Running s;
  s.pod(dcgm(4, N));
  expect(s, "K=false", 0);
}

// 7 | after 6 | pod turns Ready | D=4.x B=true | 1
TEST(LabelerCase07, ThePodTurnsReady) {
  Running s("K=false", {dcgm(4, N)});
  s.set_ready("dcgm", R);
  expect(s, "D=4.x K=false B=true", 1);
}

// 8 | --require-dcgm-ready-for-bootstrap=false | dcgm 4 N added | D=4.x B=true | 1
TEST(LabelerCase08, WithoutTheGateAnUnreadyPodWillDo) {
  Running s("K=false", {}, {.require_dcgm_ready = false});
  s.pod(dcgm(4, N));
  expect(s, "D=4.x K=false B=true", 1);
}

// 9 | B=true | dcgm 4 N added | D=4.x | 1
TEST(LabelerCase09, TheBootstrapMarkOpensTheGate) {
  Running s("K=false B=true");
  s.pod(dcgm(4, N));
  expect(s, "D=4.x K=false B=true", 1);
}

// 10 | B="" | dcgm 4 N added | nothing | 0
TEST(LabelerCase10, AnEmptyBootstrapMarkIsNone) {
  Running s("K=false B=");
  s.pod(dcgm(4, N));
  expect(s, "K=false B=", 0);
}

// 11 | D=4.x B=true, dcgm 4 R | pod turns not Ready | nothing | 0
TEST(LabelerCase11, AnUnreadyPodDoesNotTakeTheMonitorAway) {
  Running s("D=4.x K=false B=true", {dcgm(4, R)});
  s.set_ready("dcgm", N);
  expect(s, "D=4.x K=false B=true", 0);
}

// 12 | D=4.x, no B, dcgm 4 R | start | B=true only | 1
TEST(LabelerCase12, ALabelledNodeEarnsTheMark) {
  Stopped s("D=4.x K=false", {dcgm(4, R)});
  s.start();
  expect(s, "D=4.x K=false B=true", 1);
}

// 13 | D=4.x, no B, dcgm 4 N | start | D removed, no B | 1
TEST(LabelerCase13, WithoutTheMarkAnUnreadyPodLosesTheVersion) {
  Stopped s("D=4.x K=false", {dcgm(4, N)});
  s.start();
  expect(s, "K=false", 1);
}

// 14 | D=4.x B=true, dcgm 4 R | pod deleted | D removed, B stays | 1
TEST(LabelerCase14, TheMarkOutlivesTheVersion) {
  Running s("D=4.x K=false B=true", {dcgm(4, R)});
  s.delete_pod("dcgm");
  expect(s, "K=false B=true", 1);
}

// 15 | D=3.x B=true, dcgm 3 R | pod replaced by dcgm 4 R, both events before a worker runs | D=4.x | 1
TEST(LabelerCase15, AnUpgradeInOneGoIsOneWrite) {
  Running s("D=3.x K=false B=true", {dcgm(3, R)});
  s.batch([&] {
    s.delete_pod("dcgm");
    s.pod(dcgm(4, R, "dcgm-new"));
  });
  expect(s, "D=4.x K=false B=true", 1);
}

// 16 | base | pod app=nvidia-dcgm, containers dcgm-exporter:4.2.0 then dcgm:3.3.9, R | D=3.x B=true | 1
TEST(LabelerCase16, TheExporterIsNotDcgm) {
  Running s;
  s.pod(with_images(dcgm(3, R), {"nvcr.io/nvidia/k8s/dcgm-exporter:4.2.0", "nvcr.io/nvidia/dcgm:3.3.9"}));
  expect(s, "D=3.x K=false B=true", 1);
}

// 17 | base | dcgm pods with images dcgm@sha256:ab, dcgm:4, dcgm:v4.2, dcgm:5.0.1, R | nothing | 0
TEST(LabelerCase17, ImagesThatNameNoKnownMajorGiveNoVersion) {
  Running s;
  for (const std::string image : {"dcgm@sha256:ab", "dcgm:4", "dcgm:v4.2", "dcgm:5.0.1"})
    s.pod(with_images(dcgm(4, R, image), {image}));
  expect(s, "K=false", 0);
}

// 18 | pod app=nvidia-dcgm-dra, image 4, R | start | D=4.x B=true | 1
TEST(LabelerCase18, TheDraVariantOfDcgmCounts) {
  Stopped s("K=false", {with_labels(dcgm(4, R), {{"app", "nvidia-dcgm-dra"}})});
  s.start();
  expect(s, "D=4.x K=false B=true", 1);
}

// 19 | dcgm 3 R and dcgm 4 N on n1, B=true | start | D=3.x (Ready first) | 1
TEST(LabelerCase19, OfTwoMajorsTheReadyPodWins) {
  Stopped s("K=false B=true", {dcgm(4, N, "a"), dcgm(3, R, "b"), dcgm(4, N, "c")});
  s.start();
  expect(s, "D=3.x K=false B=true", 1);
  for (int i = 0; i < 5; ++i) s.start();
  expect(s, "D=3.x K=false B=true", 0);
}

// 20 | --assume-dcgm-available, D=3.x | start | D kept, B=true | 1
TEST(LabelerCase20, AnAssumedVersionIsKeptAndEarnsTheMark) {
  Stopped s("D=3.x K=false", {}, {.assume_dcgm_available = true});
  s.start();
  expect(s, "D=3.x K=false B=true", 1);
}

// 21 | --assume-dcgm-available, D=5.x | start | D removed, no B | 1
TEST(LabelerCase21, OnlyAKnownVersionIsAssumed) {
  Stopped s("D=5.x K=false", {}, {.assume_dcgm_available = true});
  s.start();
  expect(s, "K=false", 1);
}

// 22 | --assume-dcgm-available, D=3.x B=true, dcgm 4 R | start | D=4.x | 1
TEST(LabelerCase22, APodOverrulesTheAssumption) {
  Stopped s("D=3.x K=false B=true", {dcgm(4, R)}, {.assume_dcgm_available = true});
  s.start();
  expect(s, "D=4.x K=false B=true", 1);
}

// 23 | no flag, D=3.x I=true, no pods | start | D, I removed together | 1
TEST(LabelerCase23, StaleLabelsGoTogether) {
  Stopped s("D=3.x I=true K=false");
  s.start();
  expect(s, "K=false", 1);
}

// 24 | base | legacy driver pod R added | I=true | 1
TEST(LabelerCase24, AReadyDriverPodMeansInstalled) {
  Running s;
  s.pod(driver(R));
  expect(s, "I=true K=false", 1);
}

// 25 | base | legacy driver pod N added | nothing | 0
TEST(LabelerCase25, AnUnreadyDriverPodMeansNothing) {
  Running s;
  s.pod(driver(N));
  expect(s, "K=false", 0);
}

// 26 | I=true, driver R | pod turns not Ready | I removed | 1
TEST(LabelerCase26, AnUnreadyDriverIsNotInstalled) {
  Running s("I=true K=false", {driver(R)});
  s.set_ready("driver", N);
  expect(s, "K=false", 1);
}

// 27 | base | pod component nvidia-driver, app=nvidia-gpu-driver-ubuntu22.04-7d9f5c, R | I=true | 1
TEST(LabelerCase27, ADriverOfAnNvidiaDriverObjectCounts) {
  Running s;
  s.pod(with_labels(driver(R),
                    {{"app.kubernetes.io/component", "nvidia-driver"}, {"app", "nvidia-gpu-driver-ubuntu22.04-7d9f5c"}}));
  expect(s, "I=true K=false", 1);
}

// 28 | base | the same without app label | I=true | 1
TEST(LabelerCase28, TheComponentAloneIsEnough) {
  Running s;
  s.pod(with_labels(driver(R), {{"app.kubernetes.io/component", "nvidia-driver"}}));
  expect(s, "I=true K=false", 1);
}

// 29 | base | pod k8s-app=nvidia-driver-installer R added, later deleted | I=true, then removed | 1+1
TEST(LabelerCase29, TheInstallerComesAndGoes) {
  Running s;
  s.pod(installer(R));
  expect(s, "I=true K=false", 1);
  s.delete_pod("installer");
  expect(s, "K=false", 1);
}

// 30 | I=true, driver R and installer R | driver pod deleted | nothing | 0
TEST(LabelerCase30, OneOfTwoDriversIsEnough) {
  Running s("I=true K=false", {driver(R), installer(R)});
  s.delete_pod("driver");
  expect(s, "I=true K=false", 0);
}

// 31 | I=false set by hand | start | I removed | 1
TEST(LabelerCase31, AFalseSetByHandIsRemoved) {
  Stopped s("I=false K=false");
  s.start();
  expect(s, "K=false", 1);
}

// 32 | base | driver pod R without nodeName, then bound to n1 | nothing, then I=true | 0+1
TEST(LabelerCase32, APodCountsOnceItIsBound) {
  Running s;
  s.pod(on(driver(R), ""));
  expect(s, "K=false", 0);
  EXPECT_EQ(s.table().pods(), 0U);
  s.bind("driver", "n1");
  expect(s, "I=true K=false", 1);
}

// 33 | n9 unknown; dcgm 4 R and driver R bound to n9 | node n9 added | D I K B in one body | 0+1
TEST(LabelerCase33, PodsWaitForTheirNode) {
  Running s;
  s.pod(on(dcgm(4, R), "n9"));
  s.pod(on(driver(R), "n9"));
  EXPECT_EQ(s.writes(), 0);
  s.node("n9", "");
  EXPECT_EQ(s.state("n9"), "D=4.x I=true K=false B=true");
  EXPECT_EQ(s.writes(), 1);
}

// 34 | I=true, driver R | watch breaks, pod deleted meanwhile, relist | I removed | 1
TEST(LabelerCase34, ARelistShowsWhatIsGone) {
  Running s("I=true K=false", {driver(R)});
  s.while_watch_is_down(Scenario::Watches::kPods, [&] { s.delete_pod("driver"); });
  expect(s, "K=false", 1);
}

// 35 | D=4.x I=true B=true, pods Ready | restart, pod LIST slower than node LIST | no removal at any time | 0
TEST(LabelerCase35, NothingIsRemovedBeforeThePodsAreListed) {
  for (const Late late : {Late::kPods, Late::kNodes}) {
    Stopped s("D=4.x I=true K=false B=true", {dcgm(4, R), driver(R)});
    s.start(late);
    EXPECT_EQ(s.removals(), 0);
    expect(s, "D=4.x I=true K=false B=true", 0);
  }
}

// 36 | --assume-driver-installed, G=true | start | I=true | 1
TEST(LabelerCase36, AGpuNodeIsAssumedToHaveADriver) {
  Stopped s("K=false G=true", {}, {.assume_driver_installed = true});
  s.start();
  expect(s, "I=true K=false", 1);
}

// 37 | same flag, no G | start | nothing | 0
TEST(LabelerCase37, ANodeWithoutGpuIsNot) {
  for (const std::string_view state : {"K=false", "K=false G=True", "K=false G=false"}) {
    Stopped s(state, {}, {.assume_driver_installed = true});
    s.start();
    expect(s, "K=false", 0);
  }
}

// 38 | same flag, no G, driver R | start | I=true (pod tier) | 1
TEST(LabelerCase38, WithoutGpuLabelThePodsDecide) {
  Stopped s("K=false", {driver(R)}, {.assume_driver_installed = true});
  s.start();
  expect(s, "I=true K=false", 1);
}

// 39 | same flag, G=true I=true | G removed | I removed | 1
TEST(LabelerCase39, TheAssumptionEndsWithTheGpuLabel) {
  Running s("I=true K=false G=true", {}, {.assume_driver_installed = true});
  s.set_label("n1", "G", std::nullopt);
  expect(s, "K=false", 1);
}

// 40 | base | katacontainers.io/kata-runtime=Yes set | K=true, I untouched | 1
TEST(LabelerCase40, AKataLabelMakesAKataNode) {
  Running s("I=true K=false", {driver(R)});
  s.set_label("n1", "kata", "Yes");
  expect(s, "I=true K=true", 1);
}

// 41 | --kata-label=site/kata, default label false, site/kata=ENABLED | start | K=true | 1
TEST(LabelerCase41, TheSitesOwnKataLabelCounts) {
  Stopped s("K=false kata=false site/kata=ENABLED", {}, {.kata_label = "site/kata"});
  s.start();
  expect(s, "K=true", 1);
}

// 42 | K=true, kata label 1 | label removed | K=false | 1
TEST(LabelerCase42, WithoutKataLabelItIsFalse) {
  Running s("K=true kata=1");
  s.set_label("n1", "kata", std::nullopt);
  expect(s, "K=false", 1);
}

const std::vector<PodSpec> kBothPods = {dcgm(4, R), driver(R)};

// 43 | D I K B GC GE set | M=false set | D I K removed; B GC GE M stay; counter +1 | 1
TEST(LabelerCase43, AnOptOutTakesOurLabelsOffAndNothingElse) {
  const std::string current = "nvsentinel.dgxc.nvidia.com/gpu.count.current";
  const std::string expected = "nvsentinel.dgxc.nvidia.com/gpu.count.expected";
  Running s("D=4.x I=true K=false B=true " + current + "=8 " + expected + "=8", kBothPods);
  s.set_label("n1", "M", "false");
  expect(s, "B=true", 1);
  EXPECT_EQ(s.labels_of("n1"),
            (Scenario::KeysAndValues{{current, "8"}, {expected, "8"}, {"nvsentinel.dgxc.nvidia.com/managed", "false"}}));
  EXPECT_EQ(s.skipped(), 1 + 1);   // the opt-out, and the look at our own write
}

// 44 | M=false, none of D I K | start | nothing, counter +1 | 0
TEST(LabelerCase44, AnOptedOutNodeWithoutOurLabelsIsLeftAlone) {
  Stopped s("M=false");
  s.start();
  expect(s, "", 0);
  EXPECT_GE(s.skipped(), 1);
}

// 45 | M=false | dcgm 4 turns Ready | nothing, counter +1 | 0
TEST(LabelerCase45, PodsOfAnOptedOutNodeDoNotCount) {
  Running s("M=false", {dcgm(4, N)});
  s.set_ready("dcgm", R);
  expect(s, "", 0);
  EXPECT_EQ(s.skipped(), 1);
}

// 46 | after 43, pods still Ready | M removed | D I K back in one body | 1
TEST(LabelerCase46, TheEndOfAnOptOutBringsEverythingBackAtOnce) {
  Running s("B=true M=false", kBothPods);
  s.set_label("n1", "M", std::nullopt);
  expect(s, "D=4.x I=true K=false B=true", 1);
}

// 47 | M=False | driver R added | I=true | 1
TEST(LabelerCase47, OnlyTheExactWordOptsOut) {
  Running s("K=false M=False");
  s.pod(driver(R));
  expect(s, "I=true K=false", 1);
}

// 48 | I=true, driver R | someone removes I, or sets I=false | I=true again | 1
TEST(LabelerCase48, WhatOthersChangeIsPutRight) {
  Running s("I=true K=false", {driver(R)});
  s.set_label("n1", "I", std::nullopt);
  expect(s, "I=true K=false", 1);
  s.set_label("n1", "I", "false");
  expect(s, "I=true K=false", 1);
}

// 49 | base | foreign label team=a set | nothing is even looked at | 0
TEST(LabelerCase49, AForeignLabelIsNoNews) {
  Running s;
  s.set_label("n1", "team", "a");
  s.heartbeat("n1");
  expect(s, "K=false", 0);
  EXPECT_EQ(s.decisions(), 0);
}

// 50 and 51: the loop that writes.

}  // namespace
}  // namespace nodeward::labels::testing
