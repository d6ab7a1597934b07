// Health events as JSON lines of a file or of standard input; outcomes as JSON lines of another. For tests, trials and one-off
// repairs: there is no resume position, and statuses are stored nowhere, so a restart reads everything again.
//   auto options = parse_source("file:events.jsonl?follow");
//   auto source = LinesSource::open(*options, "outcomes.jsonl", Clock::real());
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/guarded.h"
#include "events/lines/line_reader.h"
#include "events/source.h"

namespace nodeward::events::lines {

struct Options {
  std::string path;        // "-": standard input
  bool follow = false;     // at the end wait for more
};

// The value of --event-source: file:PATH, file:- or file:PATH?follow.
Result<Options> parse_source(std::string_view value);

class LinesSource final : public Source {
 public:
  // `outcomes`: path of the file to write, made anew; "-": standard output; empty: none. Never the file that is read.
  static Result<std::unique_ptr<LinesSource>> open(const Options& options, const std::string& outcomes, Clock& clock);

  Result<Delivery> next(const std::stop_token& stop) override;
  void settle(const Arrived& arrived, const Outcome& outcome) override;

  // An outcome could not be written, and was lost. Any thread.
  bool lost_outcomes() const;
  // For the log at start.
  std::string description() const;

 private:
  LinesSource(Options options, Descriptor events, Descriptor outcomes, Clock& clock);
  Unreadable unreadable(const Line& line, std::string why);
  void write_outcome(const std::string& text);

  const Options options_;
  const std::string name_;                     // of the input, in messages
  LineReader reader_;
  const Descriptor outcomes_;
  std::vector<Arrived> of_line_;               // events of the line in hand that are not given yet, the next one last
  struct Written {
    bool cut = false;                          // the last line is there in part: the next one begins on a new line
    bool lost = false;
  };
  Guarded<Written> written_;
};

}  // namespace nodeward::events::lines
