#include "events/lines/line_reader.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace nodeward::events::lines {
namespace {

constexpr std::size_t kChunk = 64 * 1024;
// How soon a stop ends the wait for a pipe, in milliseconds.
constexpr int kPollWait = 50;
// How soon a line that is appended to a followed file is seen.
constexpr Duration kFollowPause = 20ms;

}  // namespace

Descriptor::Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  std::swap(number_, other.number_);
  return *this;
}
Descriptor::~Descriptor() {
  if (number_ >= 0) close(number_);
}

void LineReader::keep(std::string_view part) {
  if (too_long_ || partial_.size() + part.size() > kMaxLine) {
    too_long_ = true;
    partial_ = {};
  } else {
    partial_ += part;
  }
}

bool LineReader::take_line(Line& line) {
  const std::size_t end = buffer_.find('\n', at_);
  keep(std::string_view(buffer_).substr(at_, end == std::string::npos ? end : end - at_));
  at_ = end == std::string::npos ? buffer_.size() : end + 1;
  if (end == std::string::npos) return false;
  if (partial_.ends_with('\r')) partial_.pop_back();
  line = {++number_, std::exchange(partial_, {}), std::exchange(too_long_, false)};
  return true;
}

Result<LineReader::Fill> LineReader::fill(const std::stop_token& stop) {
  buffer_.resize(kChunk);
  at_ = 0;
  while (!stop.stop_requested()) {
    pollfd wait{.fd = from_.get(), .events = POLLIN, .revents = 0};
    if (poll(&wait, 1, kPollWait) <= 0) continue;
    const ssize_t got = read(from_.get(), buffer_.data(), buffer_.size());
    const int reason = errno;
    buffer_.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    if (got > 0) return Fill::kMore;
    if (got < 0 && reason != EINTR && reason != EAGAIN) {
      return fail(ErrorCode::kUnavailable, fmt::format("cannot be read: {}", std::strerror(reason)));
    }
    if (got == 0 && !follow_) return Fill::kEnd;
    if (got == 0) NW_TRY(still_there());
    buffer_.resize(kChunk);
    clock_.sleep_for(kFollowPause, stop);
  }
  buffer_.clear();
  return Fill::kStopped;
}

Result<> LineReader::still_there() const {
  struct stat about {};
  if (fstat(from_.get(), &about) != 0 || !S_ISREG(about.st_mode)) return {};
  if (about.st_nlink == 0) return fail(ErrorCode::kUnavailable, "was deleted or replaced while it was followed");
  if (about.st_size < lseek(from_.get(), 0, SEEK_CUR))
    return fail(ErrorCode::kUnavailable, "was cut short while it was followed");
  return {};
}

Result<LineReader::Got> LineReader::next(Line& line, const std::stop_token& stop) {
  while (!take_line(line)) {
    NW_TRY_ASSIGN(const Fill filled, fill(stop));
    if (filled == Fill::kMore) continue;
    if (filled == Fill::kStopped || (partial_.empty() && !too_long_)) return Got::kEnd;
    line = {++number_, std::exchange(partial_, {}), std::exchange(too_long_, false)};
    return Got::kLine;
  }
  return Got::kLine;
}

}  // namespace nodeward::events::lines
