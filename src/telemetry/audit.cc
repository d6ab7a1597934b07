#include "telemetry/audit.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "base/json.h"
#include "base/text.h"
#include "telemetry/log.h"
#include "telemetry/rotating_file.h"

namespace nodeward::telemetry {
namespace {

constexpr std::array<std::string_view, 4> kWrites = {"POST", "PUT", "PATCH", "DELETE"};

std::string text_from(const char* name, std::string otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr || *value == '\0' ? std::move(otherwise) : value;
}

bool bool_from(const char* name, bool otherwise) { return parse_go_bool(text_from(name, "")).value_or(otherwise); }

int int_from(const char* name, int otherwise) {
  const auto value = parse_int(text_from(name, ""));
  return value && *value >= 0 && *value <= 1'000'000 ? static_cast<int>(*value) : otherwise;
}

std::filesystem::path file_of(const AuditOptions& options) {
  return options.folder / ((options.pod_name.empty() ? options.component : options.pod_name) + "-audit.log");
}

}  // namespace

AuditOptions AuditOptions::from_environment(std::string component) {
  AuditOptions options;
  options.component = std::move(component);
  options.enabled = bool_from("AUDIT_ENABLED", options.enabled);
  options.folder = text_from("AUDIT_LOG_BASE_PATH", options.folder);
  options.pod_name = text_from("POD_NAME", "");
  options.request_body = bool_from("AUDIT_LOG_REQUEST_BODY", options.request_body);
  options.max_size_mb = int_from("AUDIT_LOG_MAX_SIZE_MB", options.max_size_mb);
  options.max_backups = int_from("AUDIT_LOG_MAX_BACKUPS", options.max_backups);
  options.max_age_days = int_from("AUDIT_LOG_MAX_AGE_DAYS", options.max_age_days);
  options.compress = bool_from("AUDIT_LOG_COMPRESS", options.compress);
  return options;
}

struct Audit::Impl {
  const std::string component;
  const bool request_body;
  const Clock& clock;
  RotatingFile file;
};

Audit::Audit(AuditOptions options, const Clock& clock) {
  if (!options.enabled) return;
  constexpr int kDefaultSizeMb = 100;    // upstream's meaning of 0
  const std::size_t size_mb = static_cast<std::size_t>(options.max_size_mb > 0 ? options.max_size_mb : kDefaultSizeMb);
  impl_ = std::unique_ptr<Impl>(new Impl{.component = options.component,
                                         .request_body = options.request_body,
                                         .clock = clock,
                                         .file{{.file = file_of(options),
                                                .max_bytes = size_mb * 1024 * 1024,
                                                .max_backups = options.max_backups,
                                                .max_age_days = options.max_age_days,
                                                .compress = options.compress},
                                               clock}});
}

Audit::~Audit() = default;

void Audit::record(std::string_view method, std::string_view url, int code, std::string_view body) {
  if (!impl_ || std::find(kWrites.begin(), kWrites.end(), method) == kWrites.end()) return;
  std::string line = fmt::format(R"({{"timestamp":"{}","component":{},"method":"{}","url":{})", rfc3339(impl_->clock.wall_now()),
                                 json_quoted(impl_->component), method, json_quoted(url));
  if (code != 0) line += fmt::format(R"(,"response_code":{})", code);
  if (impl_->request_body && !body.empty()) line += R"(,"requestBody":)" + json_quoted(body);
  line += "}\n";
  if (const auto written = impl_->file.append(line); !written) {
    error("audit: failed to write entry", {{"error", written.error().message}});
  }
}

}  // namespace nodeward::telemetry
