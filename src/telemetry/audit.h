// One JSON line per write request sent (POST, PUT, PATCH, DELETE), in a file that rotates (labeler spec, section 2.2).
// Any thread. A failure to write never stops the process: each lost entry is one error line in the log.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "base/clock.h"

namespace nodeward::telemetry {

struct AuditOptions {
  bool enabled = false;
  std::filesystem::path folder = "/var/log/nvsentinel";
  std::string component = {};             // "labeler": member `component`, and the file's name when pod_name is empty
  std::string pod_name = {};              // file = <folder>/<pod_name>-audit.log
  bool request_body = false;
  int max_size_mb = 100;
  int max_backups = 7;
  int max_age_days = 30;
  bool compress = true;

  // AUDIT_* and POD_NAME; a value that does not parse is the default.
  static AuditOptions from_environment(std::string component);
};

class Audit {
 public:
  Audit(AuditOptions options, const Clock& clock);
  ~Audit();
  // `code` 0: no answer came, the member is left out.
  void record(std::string_view method, std::string_view url, int code, std::string_view body);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;            // null when switched off
};

}  // namespace nodeward::telemetry
