// A place where health events come from, and where what became of them goes back to.
//   - next() gives events in the order of the store; whatever cannot be read comes as Unreadable, once, and is done with then.
//   - Every Arrived is settled exactly once, in any order, when its node is written or needs no write. settle() hands on and
//     returns: writing statuses and moving the resume position (the lowest position not yet settled) is the source's own work.
// next() is called by one thread, settle() by any.
#pragma once

#include <cstdint>
#include <stop_token>
#include <string>
#include <variant>
#include <vector>

#include "base/error.h"
#include "events/event.h"

namespace nodeward::events {

using Position = std::uint64_t;   // in the order of the store: the number of a line or of a change-log row

struct Arrived {
  Position position = 0;
  HealthEvent event;              // with its id and a node name
};
struct Unreadable {
  Position position = 0;
  std::string where;              // "events.jsonl:7"
  std::string why;
};
struct End {};                    // no more will come, or a stop was asked for
using Delivery = std::variant<Arrived, Unreadable, End>;

// What became of one event.
struct Outcome {
  std::string decision = {};           // "quarantine", "release", "ignore", ...
  std::string status = {};             // as stored: "Quarantined"; empty: none is written
  std::vector<std::string> rules = {}; // names of the rule sets that matched
  std::string reason = {};             // why nothing was done, for people
  int requests = 0;                    // node writes and reads it took
  std::string error = {};              // why it could not be done
};

class Source {
 public:
  virtual ~Source() = default;
  // Waits for the next event. An error: the store is gone for good.
  virtual Result<Delivery> next(const std::stop_token& stop) = 0;
  virtual void settle(const Arrived& arrived, const Outcome& outcome) = 0;
};

}  // namespace nodeward::events
