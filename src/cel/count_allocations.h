// Counts what the calling thread asks of the heap, in binaries that link count_allocations.cc. For tests and benchmarks.
#pragma once

#include <cstddef>

namespace nodeward::cel {

std::size_t allocations();   // of this thread, so far

}  // namespace nodeward::cel
