// Stands in front of a Simulation and answers as the rules of a script say; everything else is answered as ever. Keeps a record
// of what was asked and answered, for the test that judges.
//   Faults faults(*sim, script.rules);
//   ...
//   for (const Asked& asked : faults.asked()) ...
// Any thread but the server's. Destroyed before the Simulation; another Faults may then take its place.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "sim/fault_script.h"
#include "sim/simulation.h"

namespace nodeward::sim {

// A request as the server saw it. Times are since the Faults were made.
struct Asked {
  Duration at{};
  std::string verb;                               // as FaultMatch has it
  std::string path;                               // without the query
  wire::Request request;
  std::optional<Duration> answered = {};          // not: a list or a watch that a normal server answers, or no answer at all
  int status = 0;
};

class Faults {
 public:
  // Called on the server's thread when an answer is made and before it is sent: what was asked for is done by then.
  using BeforeAnswer = std::function<void(const Asked&)>;
  Faults(Simulation& sim, std::vector<FaultRule> rules, BeforeAnswer before_answer = {}, const Clock& clock = Clock::real());
  ~Faults();
  Faults(const Faults&) = delete;
  Faults& operator=(const Faults&) = delete;

  // In the order in which they came.
  std::vector<Asked> asked() const;
  std::vector<Asked> asked(std::string_view verb, std::string_view path_start) const;

 private:
  class Play;
  Simulation& sim_;
  std::shared_ptr<Play> play_;                    // the server's thread alone looks inside
};

// Does what another client would; an error says what the server has against it.
Result<> change_node(ApiServer& api, const std::string& node, const NodeChange& change);

// Puts the objects that a script begins with into the server; its files are below `folder`.
Result<> load_objects(Simulation& sim, const FaultScript& script, const std::filesystem::path& folder);

}  // namespace nodeward::sim
