#include "base/version.h"

namespace nodeward {

std::string_view version() { return NW_VERSION; }

}  // namespace nodeward
