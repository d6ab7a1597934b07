// Lines from a file descriptor, with bounded memory. One thread.
#pragma once

#include <cstdint>
#include <stop_token>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/error.h"

namespace nodeward::events::lines {

// An event is a few hundred bytes and may fill an annotation (256 KiB) at most.
constexpr std::size_t kMaxLine = 1024 * 1024;

// Closes what it holds.
class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept;
  Descriptor& operator=(Descriptor&& other) noexcept;
  ~Descriptor();
  int get() const { return number_; }

 private:
  int number_;
};

struct Line {
  std::uint64_t number = 0;   // from 1
  std::string text;           // without the line end; empty for one too long
  bool too_long = false;      // over kMaxLine: read past, not kept
};

class LineReader {
 public:
  // `follow`: at the end wait for more instead of ending. A followed file that becomes shorter or is deleted is an error: what was
  // in it, or comes under its name, would be missed in silence.
  LineReader(Descriptor from, bool follow, Clock& clock) : from_(std::move(from)), follow_(follow), clock_(clock) {}

  enum class Got { kLine, kEnd };
  // kEnd: the end was reached (a last line without line end counts), or `stop` was asked for.
  Result<Got> next(Line& line, const std::stop_token& stop);

 private:
  enum class Fill { kMore, kEnd, kStopped };
  Result<Fill> fill(const std::stop_token& stop);
  Result<> still_there() const;
  bool take_line(Line& line);
  void keep(std::string_view part);

  Descriptor from_;
  const bool follow_;
  Clock& clock_;
  std::string buffer_;  // read, not yet looked at from at_ on
  std::size_t at_ = 0;
  std::string partial_;  // of the line under way
  bool too_long_ = false;
  std::uint64_t number_ = 0;
};

}  // namespace nodeward::events::lines
