// What an object must be before it is stored. Pure. Parts that `before` holds too are not looked at again, so that the check of
// a small change of a big object is small.
#pragma once

#include <optional>
#include <string>

#include "sim/document.h"
#include "sim/resources.h"
#include "sim/status.h"

namespace nodeward::sim {

// A member of another type than the API's, in the words of Go's JSON decoder; nullopt: none among those that are known.
std::optional<std::string> wrong_type(const Resource& resource, const Doc& object, const Doc& before);

// As the server writes the object out again: empty collections and zero values left out, what is always there added.
Doc normalised(const Resource& resource, Doc object, const Doc& before);

// What is wrong with a new object, and with one that takes the place of `before`.
Causes check_new(const Resource& resource, const Doc& object);
Causes check_update(const Resource& resource, const Doc& object, const Doc& before);

}  // namespace nodeward::sim
