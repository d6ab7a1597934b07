// Events and nodes as the values that rules see (FQ spec, sections 5.2 and 5.3). The values point into what they are made of
// and into the arena. Pure.
#pragma once

#include "cel/arena.h"
#include "cel/value.h"
#include "events/event.h"
#include "kube/objects.h"

namespace nodeward::rules {

// A map of all 18 members. Numbers are doubles; a list, map or message that is absent is null.
cel::Value event_view(const events::HealthEvent& event, cel::Arena& arena);

// metadata and spec, with what is kept of the node; members that the API leaves out are absent. `whole_taints`: with all their
// members, else only key, value and effect.
cel::Value node_view(const kube::Node& node, bool whole_taints, cel::Arena& arena);

}  // namespace nodeward::rules
