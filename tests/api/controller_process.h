// A controller as its users run it: the program of this build as a child process, watched from outside through its exit code,
// its output, its pages and its audit file. Main thread. Throws std::runtime_error, with the end of the output, when something
// that is waited for does not come.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "api/admin.h"
#include "api/child.h"

namespace nodeward::api {

inline constexpr Duration kPatience = 60s;   // what takes longer is broken, also on a busy machine

// Looks every few milliseconds; throws when `holds` does not within `patience`.
void await(const std::string& what, const std::function<bool()>& holds, Duration patience = kPatience);

class ControllerProcess {
 public:
  // `program`: its name in <build>/bin. Log and audit file go into a new folder below `folder`. A free --metrics-port is put in
  // front of `flags`; `environment` has entries like "LOG_LEVEL=debug".
  ControllerProcess(std::string program, const std::filesystem::path& folder, const std::vector<std::string>& flags,
                    const std::vector<std::string>& environment = {});

  bool running() { return child_.running(); }
  pid_t pid() const { return child_.pid(); }
  int wait_for_exit();  // when it ends by itself
  int stop();  // SIGTERM; the exit code
  void await(const std::string& what, const std::function<bool()>& holds, Duration patience = kPatience);
  void await_ready();  // /readyz says 200

  int port() const { return port_; }
  Answer get(const std::string& path);  // status 0 while it does not listen
  double metric(std::string_view series);  // "name" or "name{a=\"x\"}" as exposed; 0 when it is not there

  std::string output() const;  // of both streams
  std::vector<Json> log() const;  // the lines that are JSON
  std::vector<std::string> printed() const;  // the lines that are not
  std::vector<Json> log_of(std::string_view message) const;
  // From the audit file: the response codes of the writes of each node's path, in order; 0: no answer came.
  std::map<std::string, std::vector<int>> answers_by_node() const;
  std::vector<Json> audit() const;  // one entry for each write sent, when AUDIT_ENABLED=true

 private:
  std::string program_;
  std::filesystem::path folder_;
  int port_;
  Admin pages_;
  Child child_;
};

}  // namespace nodeward::api
