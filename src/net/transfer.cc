#include "net/transfer.h"

#include <fmt/format.h>

#include "base/text.h"

namespace nodeward::net {
namespace {

// Small enough to come from the heap's free lists again and again, large enough that a list of megabytes is few chunks.
constexpr std::size_t kChunk = 64 * 1024;

std::string seconds(Duration duration) { return fmt::format("{} s", std::chrono::duration<double>(duration).count()); }

MonoTime after(Duration duration) {
  const MonoTime now = Clock::real().now();
  return duration > MonoTime::max() - now ? MonoTime::max() : now + duration;
}

}  // namespace

void Transfer::wake() {
  { const std::lock_guard lock(mutex_); }  // not between a waiter's look at the stop and its sleep
  changed_.notify_all();
}

Result<Response> Transfer::wait_for_answer(const std::stop_token& stop) {
  const std::stop_callback on_stop(stop, [this] { wake(); });
  const Duration first_byte = std::min(request_.first_byte, request_.timeout);
  const MonoTime whole_due = after(request_.timeout);
  std::unique_lock lock(mutex_);
  changed_.wait_until(lock, after(first_byte), [&] { return finished_ || stop.stop_requested(); });
  if (head_done_) NW_TRY(wait_until(whole_due, stop, finished_, lock));
  if (error_) return tl::unexpected(*error_);
  if (!finished_) return unanswered(first_byte, stop);
  return std::move(answer_);
}

Result<> Transfer::wait_for_head(const std::stop_token& stop) {
  const std::stop_callback on_stop(stop, [this] { wake(); });
  std::unique_lock lock(mutex_);
  NW_TRY(wait_until(after(std::min(request_.first_byte, request_.timeout)), stop, head_done_, lock));
  if (!head_done_) return tl::unexpected(*error_);
  return {};
}

// Ready when `done` is true or the transfer has ended in an error.
Result<> Transfer::wait_until(MonoTime deadline, const std::stop_token& stop, const bool& done,
                              std::unique_lock<std::mutex>& lock) {
  changed_.wait_until(lock, deadline, [&] { return done || error_ || stop.stop_requested(); });
  if (done || error_) return {};
  return unanswered(request_.timeout, stop);
}

tl::unexpected<Error> Transfer::unanswered(Duration patience, const std::stop_token& stop) {
  if (stop.stop_requested()) return fail(ErrorCode::kCancelled, "stopped while waiting for the answer");
  return fail(ErrorCode::kTimeout, "no answer within " + seconds(patience));
}

bool Transfer::waits_for_reader() {
  const std::lock_guard lock(mutex_);
  return paused_;
}

Result<Transfer::Read> Transfer::read(Duration patience, const std::stop_token& stop) {
  if (stop.stop_requested()) return fail(ErrorCode::kCancelled, "stopped");
  const std::stop_callback on_stop(stop, [this] { wake(); });
  std::unique_lock lock(mutex_);
  const auto ready = [&] { return !chunks_.empty() || finished_; };
  changed_.wait_until(lock, after(patience), [&] { return ready() || stop.stop_requested(); });
  if (!ready()) {
    if (stop.stop_requested()) return fail(ErrorCode::kCancelled, "stopped while reading");
    return fail(ErrorCode::kTimeout, "no byte within " + seconds(patience));
  }
  if (chunks_.empty()) {
    if (error_) return tl::unexpected(*error_);
    return Read{};
  }
  Read read{.bytes = std::move(chunks_.front())};
  chunks_.pop_front();
  buffered_ -= read.bytes->size();
  read.resume = paused_ && buffered_ <= kMostBuffered / 2;
  if (read.resume) paused_ = false;
  return read;
}

void Transfer::on_header_line(std::string_view line) {
  heard_ = Clock::real().now();
  if (head_done_) return;  // trailers: nobody here asks for them
  line = trimmed(line);
  if (line.starts_with("HTTP/")) {
    answer_.headers.clear();  // an earlier head was a 1xx
    const auto space = line.find(' ');
    const auto status = space == line.npos ? std::nullopt : parse_int(trimmed(line.substr(space)).substr(0, 3));
    answer_.status = static_cast<int>(status.value_or(0));
  } else if (const auto colon = line.find(':'); colon != line.npos) {
    answer_.headers.push_back({lowered(line.substr(0, colon)), std::string(trimmed(line.substr(colon + 1)))});
  } else if (line.empty() && answer_.status >= 200) {
    {
      const std::lock_guard lock(mutex_);
      head_done_ = true;
    }
    if (kind_ == Kind::kStream) changed_.notify_all();
  }
}

Transfer::Taken Transfer::on_body(std::string_view bytes) {
  heard_ = Clock::real().now();
  if (kind_ == Kind::kWhole) {
    if (answer_.body.size() + bytes.size() > kMostWhole) return Taken::kTooMuch;
    answer_.body.append(bytes);
    return Taken::kAll;
  }
  {
    const std::lock_guard lock(mutex_);
    if (buffered_ + bytes.size() > kMostBuffered) {
      paused_ = true;
      return Taken::kNothingYet;
    }
    if (bytes.empty()) return Taken::kAll;
    if (chunks_.empty() || chunks_.back().size() + bytes.size() > kChunk) chunks_.emplace_back();
    chunks_.back().append(bytes);
    buffered_ += bytes.size();
  }
  changed_.notify_all();
  return Taken::kAll;
}

void Transfer::finish(std::optional<Error> error) {
  {
    const std::lock_guard lock(mutex_);
    if (finished_) return;
    finished_ = true;
    error_ = std::move(error);
    if (!error_ && !head_done_) error_ = Error{ErrorCode::kUnavailable, "the answer has no headers"};
  }
  changed_.notify_all();
}

}  // namespace nodeward::net
