// The only place that knows RE2. Private to this folder.
#pragma once

#include <string>
#include <string_view>

#include "cel/node.h"

namespace nodeward::cel {

// A pattern known when the rule is loaded is compiled once; nullptr and `problem` when RE2 refuses it.
NodePtr make_matches(NodePtr operand, std::string_view pattern, std::string& problem);

// text.matches(pattern) where the pattern is computed.
Value matches_computed(Call& call, std::span<const Value> args);

}  // namespace nodeward::cel
