#include "api/served_calls.h"

#include <fstream>
#include <set>

namespace nodeward::api {
namespace {

ServedCall call_of(const Json& entry) {
  const std::string agent = entry.value("userAgent", "");
  const Json object = entry.value("objectRef", Json::object());
  return {.program = agent.substr(0, agent.find('/')),
          .verb = entry.at("verb"),
          .path = entry.at("requestURI"),
          .node = object.value("resource", "") == "nodes" ? object.value("name", "") : "",
          .code = entry.value("responseStatus", Json::object()).value("code", 0),
          .body = entry.value("requestObject", Json())};
}

}  // namespace

std::vector<ServedCall> read_served_calls(const std::filesystem::path& record) {
  std::vector<ServedCall> calls;
  std::set<std::string> seen;
  std::ifstream file(record);
  for (std::string line; std::getline(file, line) && !file.eof();) {  // at the end of file: not whole yet
    const Json entry = parse_json(line).value();
    if (seen.insert(entry.at("auditID")).second) calls.push_back(call_of(entry));  // a watch has a line at its end, too
  }
  return calls;
}

}  // namespace nodeward::api
