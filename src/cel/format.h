// Values as text: quoting, string.format(), CEL literals. Private to this folder but for to_cel_text in value.h.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "cel/function.h"
#include "cel/value.h"

namespace nodeward::cel {

std::string quoted(std::string_view text);   // "a\"b", only what must be escaped
// '%s %d %.2f'.format([...]): %s %d %f %e %b %o %x %X and %%.
Value formatted(Call& call, std::string_view form, std::span<const Value> args);

}  // namespace nodeward::cel
