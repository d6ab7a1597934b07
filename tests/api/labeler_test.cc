// Acceptance rows of the labeler, end to end: the program on the real API server, judged by the server's own counters. The rows
// all stand, as pure decisions, in src/labels/labeler_cases_test.cc; here stand those that a server can tell something new
// about. Each test opens with its row: given | when | then | writes. The letters are those of labeler_objects.h.
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "api/labeler_fixture.h"

namespace nodeward::api {
namespace {

using LabelerCase01OnTheServer = LabelerOnTheServer;
using LabelerCase02OnTheServer = LabelerOnTheServer;
using LabelerCase03OnTheServer = LabelerOnTheServer;
using LabelerCase05OnTheServer = LabelerOnTheServer;
using LabelerCase06And07OnTheServer = LabelerOnTheServer;
using LabelerCase08OnTheServer = LabelerOnTheServer;
using LabelerCase12OnTheServer = LabelerOnTheServer;
using LabelerCase14OnTheServer = LabelerOnTheServer;
using LabelerCase15OnTheServer = LabelerOnTheServer;
using LabelerCase18OnTheServer = LabelerOnTheServer;
using LabelerCase20OnTheServer = LabelerOnTheServer;
using LabelerCase23OnTheServer = LabelerOnTheServer;
using LabelerCase24OnTheServer = LabelerOnTheServer;
using LabelerCase29OnTheServer = LabelerOnTheServer;
using LabelerCase33OnTheServer = LabelerOnTheServer;
using LabelerCase39OnTheServer = LabelerOnTheServer;
using LabelerCase40OnTheServer = LabelerOnTheServer;
using LabelerCase43And46OnTheServer = LabelerOnTheServer;
using LabelerCase44And45OnTheServer = LabelerOnTheServer;
using LabelerCase48OnTheServer = LabelerOnTheServer;
using LabelerCase49OnTheServer = LabelerOnTheServer;

// 1 | n1 without labels | start | K=false; no D, I, B | 1
TEST_F(LabelerCase01OnTheServer, AColdNodeWithoutPodsGetsKataAlone) {
  node("n1", "");
  start();
  EXPECT_EQ(state(), "K=false");
  EXPECT_EQ(writes(), 1);
}

// 2 | base | start | nothing | 0
TEST_F(LabelerCase02OnTheServer, NothingToDoIsNoWrite) {
  node("n1");
  start();
  EXPECT_EQ(state(), "K=false");
  EXPECT_EQ(writes(), 0);
}

// 3 | n1 without labels; dcgm 4 R, driver R | start | D=4.x I=true K=false B=true in one body | 1
TEST_F(LabelerCase03OnTheServer, AColdNodeGetsEverythingInOneWrite) {
  node("n1", "");
  pod(dcgm_pod(4, kReady));
  pod(driver_pod(kReady));
  start();
  EXPECT_EQ(state(), "D=4.x I=true K=false B=true");
  EXPECT_EQ(writes(), 1);
  ASSERT_FALSE(labeler().audit().empty());
  const Json sent = labeler().audit().front();
  EXPECT_EQ(sent["method"], "PATCH");
  EXPECT_EQ(sent["response_code"], 200);
  EXPECT_EQ(sent["component"], "labeler");
}

// 5 | base | dcgm 3 R added | D=3.x B=true | 1
// The real way of a pod: it is there first, not Ready, and Ready with its next event.
TEST_F(LabelerCase05OnTheServer, AReadyDcgmPodSetsTheVersionAndTheBootstrapMark) {
  node("n1");
  start();
  pod(dcgm_pod(3, kReady));
  await_state("D=3.x K=false B=true");
  EXPECT_EQ(writes(), 1);
}

// 6 | base | dcgm 4 N added | nothing | 0
// 7 | after 6 | pod turns Ready | D=4.x B=true | 1
TEST_F(LabelerCase06And07OnTheServer, TheFirstVersionWaitsForAReadyPod) {
  node("n1");
  start();
  pod(dcgm_pod(4, kNotReady));
  EXPECT_EQ(writes(), 0);
  EXPECT_EQ(state(), "K=false");
  set_ready("dcgm", kReady);
  await_state("D=4.x K=false B=true");
  EXPECT_EQ(writes(), 1);
}

// 8 | --require-dcgm-ready-for-bootstrap=false | dcgm 4 N added | D=4.x B=true | 1
TEST_F(LabelerCase08OnTheServer, WithoutTheGateAnUnreadyPodWillDo) {
  node("n1");
  start({"--require-dcgm-ready-for-bootstrap=false"});
  pod(dcgm_pod(4, kNotReady));
  await_state("D=4.x K=false B=true");
  EXPECT_EQ(writes(), 1);
}

// 12 | D=4.x, no B, dcgm 4 R | start | B=true only | 1
TEST_F(LabelerCase12OnTheServer, ALabelledNodeEarnsTheMark) {
  node("n1", "D=4.x K=false");
  pod(dcgm_pod(4, kReady));
  start();
  EXPECT_EQ(state(), "D=4.x K=false B=true");
  EXPECT_EQ(writes(), 1);
}

// 14 | D=4.x B=true, dcgm 4 R | pod deleted | D removed, B stays | 1
TEST_F(LabelerCase14OnTheServer, TheMarkOutlivesTheVersion) {
  node("n1", "D=4.x K=false B=true");
  pod(dcgm_pod(4, kReady));
  start();
  EXPECT_EQ(writes(), 0);
  delete_pod("dcgm");
  await_state("K=false B=true");
  EXPECT_EQ(writes(), 1);
}

// 15 | D=3.x B=true, dcgm 3 R | pod replaced by dcgm 4 R, both events before a worker runs | D=4.x | 1
// A write waits for its place in the rate, here for 2 s; what is sent then is planned then.
TEST_F(LabelerCase15OnTheServer, AnUpgradeInOneGoIsOneWrite) {
  node("n1", "D=3.x K=false B=true");
  pod(dcgm_pod(3, kReady));
  start({"--kube-api-qps=0.5", "--kube-api-burst=1"});
  set("kata", "true");  // takes what the rate has saved up
  await_state("D=3.x K=true B=true");
  delete_pod("dcgm");
  pod(dcgm_pod(4, kReady, {"dcgm-new"}));
  await_state("D=4.x K=true B=true");
  EXPECT_EQ(writes_so_far(), 1 + 1);
}

// 18 | pod app=nvidia-dcgm-dra, image 4, R | start | D=4.x B=true | 1
TEST_F(LabelerCase18OnTheServer, TheDraVariantOfDcgmCounts) {
  node("n1");
  Json dra = dcgm_pod(4, kReady);
  dra["metadata"]["labels"]["app"] = "nvidia-dcgm-dra";
  pod(dra);
  start();
  EXPECT_EQ(state(), "D=4.x K=false B=true");
  EXPECT_EQ(writes(), 1);
}

// 20 | --assume-dcgm-available, D=3.x | start | D kept, B=true | 1
TEST_F(LabelerCase20OnTheServer, AnAssumedVersionIsKeptAndEarnsTheMark) {
  node("n1", "D=3.x K=false");
  start({"--assume-dcgm-available"});
  EXPECT_EQ(state(), "D=3.x K=false B=true");
  EXPECT_EQ(writes(), 1);
}

// 23 | no flag, D=3.x I=true, no pods | start | D, I removed together | 1
TEST_F(LabelerCase23OnTheServer, StaleLabelsGoTogether) {
  node("n1", "D=3.x I=true");
  start();
  EXPECT_EQ(state(), "K=false");
  EXPECT_EQ(writes(), 1);
}

// 24 | base | legacy driver pod R added | I=true | 1
TEST_F(LabelerCase24OnTheServer, AReadyDriverPodMeansInstalled) {
  node("n1");
  start();
  pod(driver_pod(kReady));
  await_state("I=true K=false");
  EXPECT_EQ(writes(), 1);
}

// 29 | base | pod k8s-app=nvidia-driver-installer R added, later deleted | I=true, then removed | 1+1
TEST_F(LabelerCase29OnTheServer, TheInstallerComesAndGoes) {
  node("n1");
  start();
  pod(installer_pod(kReady));
  await_state("I=true K=false");
  EXPECT_EQ(writes(), 1);
  delete_pod("installer");
  await_state("K=false");
  EXPECT_EQ(writes(), 1);
}

// 33 | n9 unknown; dcgm 4 R and driver R bound to n9 | node n9 added | D I K B in one body | 0+1
TEST_F(LabelerCase33OnTheServer, PodsWaitForTheirNode) {
  start();
  pod(dcgm_pod(4, kReady, {"dcgm", "n9"}));
  pod(driver_pod(kReady, {"driver", "n9"}));
  EXPECT_EQ(writes(), 0);
  node("n9", "");
  await_state("D=4.x I=true K=false B=true", "n9");
  EXPECT_EQ(writes(), 1);
}

// 39 | --assume-driver-installed, G=true I=true | G removed | I removed | 1
TEST_F(LabelerCase39OnTheServer, TheAssumptionEndsWithTheGpuLabel) {
  node("n1", "I=true K=false G=true");
  start({"--assume-driver-installed"});
  EXPECT_EQ(writes(), 0);
  set("G", std::nullopt);
  await_state("K=false");
  EXPECT_EQ(writes(), 1);
}

// 40 | base | katacontainers.io/kata-runtime=Yes set | K=true, I untouched | 1
TEST_F(LabelerCase40OnTheServer, AKataLabelMakesAKataNode) {
  node("n1", "I=true K=false");
  pod(driver_pod(kReady));
  start();
  set("kata", "Yes");
  await_state("I=true K=true");
  EXPECT_EQ(writes(), 1);
}

// 43 | D I K B GC GE set | M=false set | D I K removed; B GC GE M stay; counter +1 | 1
// 46 | after 43, pods still Ready | M removed | D I K back in one body | 1
TEST_F(LabelerCase43And46OnTheServer, AnOptOutTakesOurLabelsOffAndItsEndBringsThemBack) {
  node("n1",
       "D=4.x I=true K=false B=true nvsentinel.dgxc.nvidia.com/gpu.count.current=8 "
       "nvsentinel.dgxc.nvidia.com/gpu.count.expected=8");
  pod(dcgm_pod(4, kReady));
  pod(driver_pod(kReady));
  start();
  EXPECT_EQ(writes(), 0);
  set("M", "false");
  await_state("B=true");
  EXPECT_EQ(writes(), 1);
  EXPECT_EQ(skipped(), 1);
  const Json left{{"nvsentinel.dgxc.nvidia.com/gpu.count.current", "8"},
                  {"nvsentinel.dgxc.nvidia.com/gpu.count.expected", "8"},
                  {"nvsentinel.dgxc.nvidia.com/managed", "false"}};
  EXPECT_EQ(admin().node("n1")["metadata"]["labels"], left);

  set("M", std::nullopt);
  await_state("D=4.x I=true K=false B=true");
  EXPECT_EQ(writes(), 1);
  EXPECT_EQ(skipped(), 0);
}

// 44 | M=false, none of D I K | start | nothing, counter +1 | 0
// 45 | M=false | dcgm 4 turns Ready | nothing, counter +1 | 0
TEST_F(LabelerCase44And45OnTheServer, AnOptedOutNodeIsLeftAloneWhateverItsPodsDo) {
  node("n1", "M=false");
  pod(dcgm_pod(4, kNotReady));
  start();
  EXPECT_EQ(writes(), 0);
  EXPECT_EQ(state(), "");
  EXPECT_EQ(skipped(), 1);
  set_ready("dcgm", kReady);
  EXPECT_EQ(writes(), 0);
  EXPECT_EQ(state(), "");
  EXPECT_EQ(skipped(), 1);
}

// 48 | I=true, driver R | someone removes I, or sets I=false | I=true again | 1
TEST_F(LabelerCase48OnTheServer, WhatOthersChangeIsPutRight) {
  node("n1", "I=true K=false");
  pod(driver_pod(kReady));
  start();
  set("I", std::nullopt);
  EXPECT_EQ(writes(), 1);
  EXPECT_EQ(state(), "I=true K=false");
  set("I", "false");
  EXPECT_EQ(writes(), 1);
  EXPECT_EQ(state(), "I=true K=false");
}

// 49 | base | foreign label team=a set | nothing | 0
TEST_F(LabelerCase49OnTheServer, AForeignLabelIsNoNews) {
  node("n1");
  start();
  set("team", "a");
  EXPECT_EQ(writes(), 0);
}

class TwoChanges : public LabelerOnTheServer, public testing::WithParamInterface<int> {};

// However the two fall: one write for both, or one for each; never a read, and nothing lost.
TEST_P(TwoChanges, ToOneNodeAreAtMostTwoWrites) {
  node("n1");
  pod(dcgm_pod(4, kNotReady));
  pod(driver_pod(kNotReady));
  start();
  EXPECT_EQ(writes(), 0);
  {
    const std::jthread second([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(GetParam()));  // the gap is the case
      set_ready("driver", kReady);
    });
    set_ready("dcgm", kReady);
  }
  await_state("D=4.x I=true K=false B=true");
  const long sent = writes();
  EXPECT_GE(sent, 1);
  EXPECT_LE(sent, 2);
}

INSTANTIATE_TEST_SUITE_P(MillisecondsApart, TwoChanges, testing::Values(0, 1, 5, 50));

}  // namespace
}  // namespace nodeward::api
