// Values as texts that are equal exactly when the values are equal and of one kind. The Go programs here write the same form:
// null true int:5 uint:5 double:<bits in hex> string:<hex> bytes:<hex> type:int duration:<ns> timestamp:<s>.<ns> [a,b] {k=v,..}
// optional:<v> none error; map entries are sorted by text.
#pragma once

#include <string>

#include "base/json.h"
#include "cel/value.h"

namespace nodeward::conformance {

std::string canonical(cel::Value value);

// {"int": "5"}, {"list": [...]}, null: what the converter writes for a variable. kInvalid for a message.
Result<cel::Value> from_typed_json(const Json& json, cel::Arena& arena);

}  // namespace nodeward::conformance
