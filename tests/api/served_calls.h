// What the controllers' account asked of the real API server, by the server's own record (its audit log, see RealCluster). Other
// than the counters it tells programs and nodes apart, and it outlives a restart of the server. Values, pure but for the reading.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/json.h"

namespace nodeward::api {

struct ServedCall {
  std::string program;  // "labeler": the user agent up to the slash
  std::string verb;  // as the server says: get, list, watch, patch, ...
  std::string path;  // with its query
  std::string node;  // the one that it names, else ""
  int code = 0;  // of the answer; 200 of a watch says nothing of what came in it
  Json body;  // of a write
};

// In the order in which they were answered; a watch stands where it began. None while the file is not there.
std::vector<ServedCall> read_served_calls(const std::filesystem::path& record);

}  // namespace nodeward::api
