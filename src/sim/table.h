// The columns that kubectl shows of each resource, and what stands in them. Pure.
#pragma once

#include <string>

#include "base/clock.h"
#include "base/json.h"
#include "sim/document.h"
#include "sim/resources.h"

namespace nodeward::sim {

Json table_columns(const Resource& resource);     // columnDefinitions
Json table_cells(const Resource& resource, const Doc& object, WallTime now);

// "4m58s": an age as kubectl writes it.
std::string human_age(Duration age);

}  // namespace nodeward::sim
