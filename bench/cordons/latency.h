// From an event that a source gives to the PATCH that leaves, with nothing else going on: fault-quarantine in this process, its
// API server a script that takes the time. No network: what the wire adds is the server's.
#pragma once

#include <string>
#include <vector>

namespace nodeward::bench {

// Milliseconds, one for each event. Throws std::runtime_error.
std::vector<double> event_to_patch_ms(const std::string& rule_file, const std::vector<std::string>& nodes,
                                      const std::string& node_json, int events);

}  // namespace nodeward::bench
