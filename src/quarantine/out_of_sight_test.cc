// What the loop does while the nodes cannot be read: nothing is settled by what was there before.
#include <gmock/gmock.h>

#include "quarantine/fault_quarantine_fixture.h"

namespace nodeward::quarantine::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

// What is known of them may be old by then: here the label that spared one node is gone, and the other has come.
TEST_F(FaultQuarantineLoop, NoEventIsDismissedWhileTheNodesCannotBeRead) {
  options_.selection.labels.keys.emplace_back(kManaged);
  api_.put(unmanaged_node());
  HealthEvent spared = example_event("fatal-gpu0");
  spared.error_codes = {"31"};
  HealthEvent early = spared;
  early.node_name = "late-node";
  run_out_of_sight({spared, early}, [&] {
    Json late = example_node("gpu-a-001");
    late["metadata"]["name"] = "late-node";
    late["metadata"].erase("uid");
    api_.put(late);
    manage(api_.node("gpu-a-001"));
  });
  EXPECT_EQ(settled_out_of_sight_, 0U);
  EXPECT_THAT(statuses(), ElementsAre("Quarantined", "Quarantined"));
}

// An operator frees the node while nobody sees it, and the same fault comes again.
TEST_F(FaultQuarantineLoop, NoEventIsSettledByAQuarantineThatMayBeGone) {
  give(examples({"fatal-gpu0"}));
  ASSERT_EQ(run_to_the_end(), 0U);
  HealthEvent again = example_event("fatal-gpu0");
  again.id = "again";
  run_out_of_sight({again}, [&] {
    Json free = example_node("gpu-a-001");
    free["metadata"]["uid"] = api_.node("gpu-a-001")["metadata"]["uid"];
    api_.put(free);
  });
  EXPECT_EQ(settled_out_of_sight_, 0U);
  EXPECT_THAT(statuses(), ElementsAre("Quarantined"));
  EXPECT_EQ(api_.node("gpu-a-001")["spec"]["unschedulable"], true);
}

TEST_F(FaultQuarantineLoop, WhatWaitedOutOfSightIsSettledOnceTheNodesAreSeenAgain) {
  HealthEvent unwanted = example_event("fatal-gpu0");
  unwanted.agent = "nobody";
  unwanted.error_codes = {"31"};
  run_out_of_sight({unwanted}, [] {});
  EXPECT_EQ(settled_out_of_sight_, 0U);
  EXPECT_THAT(source_->settled(), SizeIs(1));
}

// A cordon alone names no version and would get through whatever the node has become.
TEST_F(FaultQuarantineLoop, AWriteOutOfSightNamesItsVersionAndSoDismissesNothingByWhatWas) {
  options_.selection.labels.keys.emplace_back(kManaged);
  rules_.push_back({.name = "cordon-only", .when = [](const auto& e, const auto&) { return e.id == "cordon"; }, .cordon = true});
  api_.put(unmanaged_node());
  HealthEvent spared = example_event("fatal-gpu0");
  spared.error_codes = {"31"};
  HealthEvent cordon = spared;
  cordon.id = "cordon";
  cordon.check_name = "AnotherCheck";
  run_out_of_sight({spared, cordon}, [&] { manage(api_.node("gpu-a-001")); });
  EXPECT_THAT(statuses(), ElementsAre("Quarantined", "AlreadyQuarantined"));
}

TEST_F(FaultQuarantineLoop, BeforeTheNodesAreReadNoNodeIsUnknown) {
  api_.cannot_be_read_until(clock_, clock_.now() + 150s);    // longer than an unknown node is waited for
  give(examples({"fatal-gpu0"}));
  EXPECT_EQ(run_through_time(), 0U);
  EXPECT_THAT(statuses(), ElementsAre("Quarantined"));
}

}  // namespace
}  // namespace nodeward::quarantine::testing
