#include "telemetry/log.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <atomic>
#include <memory>

#include "base/guarded.h"
#include "base/json.h"
#include "base/text.h"

namespace nodeward::telemetry {
namespace {

struct State {
  spdlog::logger sink{"nodeward", std::make_shared<spdlog::sinks::stderr_sink_mt>()};  // its lock keeps lines whole
  std::atomic<Level> level = Level::kInfo;
  Guarded<std::string> origin;  // `,"module":"x","version":"y"`, the same in every line

  State() {
    sink.set_pattern("%v");
    sink.set_level(spdlog::level::trace);
    sink.flush_on(spdlog::level::trace);
    describe({});
  }
  void describe(const LogOptions& options) {
    level = options.level;
    origin.with([&](std::string& text) {
      text = fmt::format(R"(,"module":{},"version":{})", json_quoted(options.module), json_quoted(options.version));
    });
  }
};

// Never destroyed: a thread that is late at the end may still log.
State& state() {
  static State& one = *new State;
  return one;
}

std::string_view name_of(Level level) {
  switch (level) {
    case Level::kDebug: return "DEBUG";
    case Level::kInfo: return "INFO";
    case Level::kWarn: return "WARN";
    case Level::kError: return "ERROR";
  }
  return "INFO";
}

// 2026-09-01T08:30:00.123456789Z
std::string precise_now() {
  const auto now = std::chrono::time_point_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now());
  const auto second = std::chrono::floor<std::chrono::seconds>(now);
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:09}Z", fmt::gmtime(std::chrono::system_clock::to_time_t(second)),
                     (now - second).count());
}

}  // namespace

Level level_from(std::string_view text) {
  const std::string word = lowered(trimmed(text));
  if (word == "debug") return Level::kDebug;
  if (word == "warn" || word == "warning") return Level::kWarn;
  if (word == "error") return Level::kError;
  return Level::kInfo;
}

void start_log(const LogOptions& options) { state().describe(options); }

void log(Level level, std::string_view message, std::initializer_list<Field> fields) {
  State& log = state();
  if (level < log.level) return;
  std::string line = fmt::format(R"({{"time":"{}","level":"{}","msg":{})", precise_now(), name_of(level), json_quoted(message));
  log.origin.with([&](const std::string& origin) { line += origin; });
  for (const Field& field : fields) {
    line += fmt::format(",{}:{}", json_quoted(field.key), json_quoted(field.value));
  }
  line += '}';
  log.sink.log(spdlog::level::info, line);
}

}  // namespace nodeward::telemetry
