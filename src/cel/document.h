// A JSON-like value that owns its memory: an input of many evaluations, built once, then read by any number of threads.
// Other records are made into values with MapBuilder and Arena directly (value.h); this is for JSON at hand.
#pragma once

#include "base/error.h"
#include "base/json.h"
#include "cel/value.h"

namespace nodeward::cel {

// How JSON numbers are read. Rules see an event's numbers as doubles, a node's whole numbers as ints.
enum class Numbers { kWhole, kDoubles };

class Document {
 public:
  explicit Document(Arena arena, Value root) : arena_(std::move(arena)), root_(root) {}
  Value root() const { return root_; }

 private:
  Arena arena_;
  Value root_;
};

// kInvalid when the JSON is nested deeper than 200 levels.
Result<Value> to_value(const Json& json, Numbers numbers, Arena& arena);
Result<Document> to_document(const Json& json, Numbers numbers);

}  // namespace nodeward::cel
