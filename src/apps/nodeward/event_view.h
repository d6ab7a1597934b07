// A health event from a file as rules see it: all 18 members, zero values filled in, lists, maps and messages null when they
// are missing. Reads a bare event or the document of a database row; names match without regard to case. Pure.
// Spec: fault-quarantine, sections 4.2 and 5.2.
#pragma once

#include "base/error.h"
#include "base/json.h"

namespace nodeward::apps {

// kInvalid names the member that has a wrong kind.
Result<Json> event_view(const Json& document);

// A node as rules see it: API JSON without its status.
Result<Json> node_view(Json node);

}  // namespace nodeward::apps
