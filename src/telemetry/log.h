// JSON lines on standard error: time, level, msg, module, version, then the fields given. Any thread.
// Fields are for machines (and grep at 3 a.m.): one fact each, the node always under "node". Never a secret.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

namespace nodeward::telemetry {

enum class Level { kDebug, kInfo, kWarn, kError };

struct Field {
  std::string_view key;
  std::string value;
};

// "debug", "info", "warn"/"warning", "error"; trimmed, any case; anything else is info (labeler spec, section 2.2).
Level level_from(std::string_view text);

struct LogOptions {
  std::string module = "nodeward";
  std::string version = "dev";
  Level level = Level::kInfo;
};

// Call once, first thing in main; before it, lines carry the defaults above.
void start_log(const LogOptions& options);

void log(Level level, std::string_view message, std::initializer_list<Field> fields = {});

inline void debug(std::string_view message, std::initializer_list<Field> fields = {}) { log(Level::kDebug, message, fields); }
inline void info(std::string_view message, std::initializer_list<Field> fields = {}) { log(Level::kInfo, message, fields); }
inline void warn(std::string_view message, std::initializer_list<Field> fields = {}) { log(Level::kWarn, message, fields); }
inline void error(std::string_view message, std::initializer_list<Field> fields = {}) { log(Level::kError, message, fields); }

}  // namespace nodeward::telemetry
