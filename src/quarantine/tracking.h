// Which failures of a node are open, and which recovery clears which (FQ spec, section 8.1). A failure is identified by agent,
// component class, check, node, version, entity and error code; an event stands for each pair of its entities and codes, and no
// entity or no code counts as one empty part. Pure.
//
// The open failures are kept as a list of events, oldest first, that reads back to exactly the keys that are open: an event that
// lost a part of its keys is replaced by copies with fewer entities or codes.
#pragma once

#include <vector>

#include "events/event.h"

namespace nodeward::quarantine {

using Tracked = std::vector<events::HealthEvent>;

// A key that is there with another recommended action passes to the new event, which goes to the end. False: nothing is new.
bool add(Tracked& tracked, const events::HealthEvent& failure);

// Whether a recovery is about anything here. One that names no entity is about all of its check, whatever codes it names.
bool concerns(const Tracked& tracked, const events::HealthEvent& recovery);

// Takes off what the recovery clears: no entity means the whole check, no code means any code. A failure that names no entity is
// not cleared by a recovery of one entity, nor one without a code by a recovery of one code.
void clear(Tracked& tracked, const events::HealthEvent& recovery);

}  // namespace nodeward::quarantine
