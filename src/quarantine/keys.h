// The keys fault-quarantine reads and writes on a node, and their values (FQ spec, sections 6.2 and 6.3). Beside them it writes
// only the taints and labels that rule sets name, and spec.unschedulable. Other services read these: no key may change.
#pragma once

#include <string_view>

namespace nodeward::quarantine {

// The record: annotations that say what is quarantined and what was done for it.
inline constexpr std::string_view kEvents = "quarantineHealthEvent";                        // the failures tracked
inline constexpr std::string_view kAppliedTaints = "quarantineHealthEventAppliedTaints";
inline constexpr std::string_view kAppliedLabels = "quarantineHealthEventAppliedLabels";
inline constexpr std::string_view kIsCordoned = "quarantineHealthEventIsCordoned";
inline constexpr std::string_view kCordonPreExisting = "quarantineHealthEventCordonPreExisting";
inline constexpr std::string_view kDryRun = "quarantineHealthEventDryRun";

// Left by an operator's own act; the next quarantine takes them off.
inline constexpr std::string_view kUncordonedManually = "quarantinedNodeUncordonedManually";
inline constexpr std::string_view kUntaintedManually = "quarantinedNodeUntaintedManually";

inline constexpr std::string_view kTrue = "True";

// The state machine that all services share.
inline constexpr std::string_view kState = "dgxc.nvidia.com/nvsentinel-state";
inline constexpr std::string_view kStateQuarantined = "quarantined";

// Labels for people, behind the prefix of the configuration.
inline constexpr std::string_view kCordonBy = "cordon-by";
inline constexpr std::string_view kCordonReason = "cordon-reason";
inline constexpr std::string_view kCordonTimestamp = "cordon-timestamp";
inline constexpr std::string_view kUncordonBy = "uncordon-by";
inline constexpr std::string_view kUncordonReason = "uncordon-reason";
inline constexpr std::string_view kUncordonTimestamp = "uncordon-timestamp";
inline constexpr std::string_view kOurName = "NVSentinel";

}  // namespace nodeward::quarantine
