#include "events/lines/lines_source.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/json.h"
#include "events/event_json.h"
#include "events/lines/uuid.h"
#include "telemetry/log.h"

namespace nodeward::events::lines {
namespace {

// Ours alone, drawn once: ids of lines must not meet those of another maker.
constexpr UuidBytes kLineIds = {0x5c, 0x1e, 0x0f, 0x3a, 0x7d, 0x42, 0x4b, 0x86, 0x9a, 0x11, 0xd4, 0x60, 0x2e, 0x93, 0x77, 0xb8};

// The second and later events of one line are told apart by their place in it.
std::string id_of(const Line& line, std::size_t place) {
  return uuid_v5(kLineIds, place == 0 ? fmt::format("{}:{}", line.number, line.text)
                                      : fmt::format("{}.{}:{}", line.number, place, line.text));
}

Result<Descriptor> open_events(const std::string& path) {
  Descriptor file(path == "-" ? dup(STDIN_FILENO) : ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0)
    return fail(ErrorCode::kInvalid, fmt::format("--event-source: {}: cannot be read: {}", path, std::strerror(errno)));
  struct stat about {};
  if (fstat(file.get(), &about) == 0 && S_ISDIR(about.st_mode)) {
    return fail(ErrorCode::kInvalid, fmt::format("--event-source: {}: is a folder, not a file", path));
  }
  return file;
}

// Opened for appending, so that a line of several writers stays whole. Emptied only once it is known not to be what is read.
Result<Descriptor> open_outcomes(const std::string& path, const Descriptor& events) {
  if (path.empty()) return Descriptor();
  const auto refuse = [&](std::string_view why) {
    return fail(ErrorCode::kInvalid, fmt::format("--outcomes: {}: {}", path, why));
  };
  // A pipe without a reader would hold the start, and a stop, for ever: O_NONBLOCK makes it an error.
  Descriptor file(path == "-" ? dup(STDOUT_FILENO)
                              : ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0644));
  if (file.get() < 0) {
    const bool pipe = errno == ENXIO;
    return refuse(pipe ? "cannot be written: nobody reads this pipe"
                       : fmt::format("cannot be written: {}", std::strerror(errno)));
  }
  if (path != "-") fcntl(file.get(), F_SETFL, fcntl(file.get(), F_GETFL) & ~O_NONBLOCK);
  struct stat to {
  }, from{};
  if (fstat(file.get(), &to) != 0 || !S_ISREG(to.st_mode)) return file;
  if (fstat(events.get(), &from) == 0 && to.st_dev == from.st_dev && to.st_ino == from.st_ino)
    return refuse("is the file that the events are read from; name another");
  if (path != "-" && ftruncate(file.get(), 0) != 0) return refuse(fmt::format("cannot be emptied: {}", std::strerror(errno)));
  return file;
}

OrderedJson text_or_null(const std::string& text) { return text.empty() ? OrderedJson() : OrderedJson(text); }

std::string outcome_line(Position line, const std::string& id, const std::string& node, const Outcome& outcome) {
  OrderedJson json;
  json["line"] = line;
  json["id"] = text_or_null(id);
  json["node"] = text_or_null(node);
  json["decision"] = outcome.decision;
  json["status"] = text_or_null(outcome.status);
  json["rules"] = outcome.rules;
  json["reason"] = text_or_null(outcome.reason);
  json["requests"] = outcome.requests;
  json["error"] = text_or_null(outcome.error);
  return to_text(json) + "\n";
}

// How much of it was written; errno says why it was not all.
std::size_t write_all(int file, std::string_view text) {
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t written = write(file, text.data() + done, text.size() - done);
    if (written < 0 && errno != EINTR) break;
    if (written > 0) done += static_cast<std::size_t>(written);
  }
  return done;
}

}  // namespace

Result<Options> parse_source(std::string_view value) {
  constexpr std::string_view kScheme = "file:";
  constexpr std::string_view kFollow = "?follow";
  constexpr std::string_view kForms = "file:PATH, file:PATH?follow or file:-";
  if (!value.starts_with(kScheme))
    return fail(ErrorCode::kInvalid, fmt::format("--event-source: \"{}\": must be {}", value, kForms));
  Options options{.path = std::string(value.substr(kScheme.size()))};
  if (options.path.ends_with(kFollow)) {
    options.follow = true;
    options.path.resize(options.path.size() - kFollow.size());
  }
  if (options.path.empty())
    return fail(ErrorCode::kInvalid, fmt::format("--event-source: \"{}\": no path; must be {}", value, kForms));
  return options;
}

LinesSource::LinesSource(Options options, Descriptor events, Descriptor outcomes, Clock& clock)
    : options_(std::move(options)),
      name_(options_.path == "-" ? "standard input" : options_.path),
      reader_(std::move(events), options_.follow, clock),
      outcomes_(std::move(outcomes)) {}

Result<std::unique_ptr<LinesSource>> LinesSource::open(const Options& options, const std::string& outcomes, Clock& clock) {
  NW_TRY_ASSIGN(Descriptor events, open_events(options.path));
  NW_TRY_ASSIGN(Descriptor results, open_outcomes(outcomes, events));
  return std::unique_ptr<LinesSource>(new LinesSource(options, std::move(events), std::move(results), clock));
}

Result<Delivery> LinesSource::next(const std::stop_token& stop) {
  while (of_line_.empty()) {
    Line line;
    auto got = reader_.next(line, stop);
    if (!got) return tl::unexpected(in_context(name_, std::move(got).error()));
    if (*got == LineReader::Got::kEnd) return End{};
    if (line.too_long) return unreadable(line, fmt::format("longer than {} bytes, the most a line may have", kMaxLine));
    if (line.text.find_first_not_of(" \t") == std::string::npos) continue;
    if (line.text.find('\0') != std::string::npos) return unreadable(line, "holds a NUL byte; a line must be JSON text");
    auto events = read_events(line.text);
    if (!events) return unreadable(line, std::move(events).error().message);
    if (events->empty()) return unreadable(line, "events: is empty; there is no event in this line");
    for (HealthEvent& event : *events) {
      if (event.id.empty()) event.id = id_of(line, of_line_.size());
      of_line_.push_back({line.number, std::move(event)});
    }
    std::reverse(of_line_.begin(), of_line_.end());
  }
  Arrived one = std::move(of_line_.back());
  of_line_.pop_back();
  return one;
}

Unreadable LinesSource::unreadable(const Line& line, std::string why) {
  write_outcome(outcome_line(line.number, "", "", {.decision = "unreadable", .error = why}));
  return {line.number, fmt::format("{}:{}", name_, line.number), std::move(why)};
}

void LinesSource::settle(const Arrived& arrived, const Outcome& outcome) {
  write_outcome(outcome_line(arrived.position, arrived.event.id, arrived.event.node_name, outcome));
}

bool LinesSource::lost_outcomes() const {
  return written_.with([](const Written& written) { return written.lost; });
}

std::string LinesSource::description() const {
  return fmt::format("events from {}{}; statuses are stored nowhere, a restart reads all events again", name_,
                     options_.follow ? ", waiting for more at its end" : "");
}

void LinesSource::write_outcome(const std::string& text) {
  if (outcomes_.get() < 0) return;
  const int reason = written_.with([&](Written& written) {
    const std::string whole = written.cut ? "\n" + text : text;
    const std::size_t done = write_all(outcomes_.get(), whole);
    if (done == whole.size()) {
      written.cut = false;
      return 0;
    }
    const int error = errno;
    if (done > 0) written.cut = whole[done - 1] != '\n';
    return std::exchange(written.lost, true) ? 0 : error;   // told once
  });
  if (reason != 0) telemetry::error("outcomes cannot be written; some are lost", {{"error", std::strerror(reason)}});
}

}  // namespace nodeward::events::lines
