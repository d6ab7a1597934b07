// What a write asks for: the options of its query, its object, and what a DELETE says of both; or why a real server refuses it,
// in its words. Pure. Whether the object itself is good is for the writer to say.
#pragma once

#include <string_view>

#include "base/json.h"
#include "sim/path.h"
#include "sim/resources.h"
#include "sim/status.h"
#include "sim/wire/server.h"

namespace nodeward::sim {

// The options in a write's query that are looked at; gives back whether it is a dry run. `kind`: "PatchOptions".
Answered<bool> read_write_options(const Target& target, std::string_view kind);

// The body of a POST or PUT: an object.
Answered<Json> read_object(const wire::Request& request, const Resource& resource);

struct Deletion {
  Json options;  // an object
  bool dry_run = false;
};
// What is asked of a DELETE, by its body and its query.
Answered<Deletion> read_deletion(const wire::Request& request, const Target& target);

}  // namespace nodeward::sim
