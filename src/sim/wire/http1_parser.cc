#include "sim/wire/http1_parser.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/text.h"

namespace nodeward::sim::wire {
namespace {

// RFC 9110, section 5.6.2.
bool is_token(std::string_view text) {
  constexpr std::string_view kMarks = "!#$%&'*+-.^_`|~";
  return !text.empty() && std::all_of(text.begin(), text.end(), [&](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || kMarks.find(c) != kMarks.npos;
  });
}

bool is_printable(char c) { return static_cast<unsigned char>(c) > ' ' && c != 0x7f; }

bool is_target(std::string_view text) { return !text.empty() && std::all_of(text.begin(), text.end(), is_printable); }

bool is_value(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return is_printable(c) || c == ' ' || c == '\t'; });
}

std::optional<std::uint64_t> parse_size(std::string_view text, int base) {
  std::uint64_t size = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), size, base);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return size;
}

bool names_token(std::string_view list, std::string_view token) {
  const auto parts = split(list, ',');
  return std::any_of(parts.begin(), parts.end(), [&](const std::string& part) { return lowered(trimmed(part)) == token; });
}

}  // namespace

RequestParser::State RequestParser::feed(std::string_view& bytes) {
  while (phase_ != Phase::kReady && phase_ != Phase::kFailed) {
    if (phase_ == Phase::kBody || phase_ == Phase::kChunk) {
      if (std::exchange(expects_continue_, false) && bytes.empty()) return State::kExpectsContinue;
      if (bytes.empty()) return State::kMore;
      take_body(bytes, phase_ == Phase::kBody ? Phase::kReady : Phase::kChunkEnd);
    } else {
      if (phase_ == Phase::kChunkSize && std::exchange(expects_continue_, false) && bytes.empty()) return State::kExpectsContinue;
      const auto line = next_line(bytes);
      if (!line) return phase_ == Phase::kFailed ? State::kFailed : State::kMore;
      take_line(*line);
    }
  }
  return phase_ == Phase::kReady ? State::kReady : State::kFailed;
}

Request RequestParser::take() {
  phase_ = Phase::kRequestLine;
  head_size_ = 0;
  return std::exchange(request_, {});
}

// Without its end; nullopt when that has not come or the head grows too long.
std::optional<std::string_view> RequestParser::next_line(std::string_view& bytes) {
  const std::size_t end = bytes.find('\n');
  const std::size_t size = end == bytes.npos ? bytes.size() : end + 1;
  head_size_ += size;
  if (head_size_ > most_head_) {
    refuse(431);
    return std::nullopt;
  }
  std::string_view line = bytes.substr(0, size);
  bytes.remove_prefix(size);
  if (end == std::string_view::npos || !part_line_.empty()) part_line_ += line;
  if (end == std::string_view::npos) return std::nullopt;
  if (!part_line_.empty()) {
    whole_line_ = std::exchange(part_line_, {});
    line = whole_line_;
  }
  line.remove_suffix(1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

void RequestParser::take_line(std::string_view line) {
  switch (phase_) {
    case Phase::kRequestLine: return take_request_line(line);
    case Phase::kHeaders: return line.empty() ? end_head() : take_header(line);
    case Phase::kChunkSize: return take_chunk_size(line);
    case Phase::kChunkEnd:
      if (!line.empty()) return refuse(400);
      phase_ = Phase::kChunkSize;
      return;
    case Phase::kTrailers:
      if (line.empty()) phase_ = Phase::kReady;
      return;
    case Phase::kBody:
    case Phase::kChunk:
    case Phase::kReady:
    case Phase::kFailed: return;  // no lines there
  }
}

void RequestParser::take_request_line(std::string_view line) {
  if (line.empty()) {  // RFC 9112, section 2.2: one that follows a body out of place
    head_size_ = 0;
    return;
  }
  const std::size_t first = line.find(' ');
  const std::size_t last = line.rfind(' ');
  if (first == line.npos || first == last) return refuse(400);
  const std::string_view target = line.substr(first + 1, last - first - 1);
  const std::string_view version = line.substr(last + 1);
  if (!is_token(line.substr(0, first)) || !is_target(target) || !version.starts_with("HTTP/")) return refuse(400);
  if (version != "HTTP/1.1" && version != "HTTP/1.0") return refuse(505);
  request_.method = line.substr(0, first);
  request_.target = target;
  http_1_1_ = version == "HTTP/1.1";
  keep_alive_ = http_1_1_;
  length_.reset();
  chunked_ = false;
  expects_continue_ = false;
  phase_ = Phase::kHeaders;
}

void RequestParser::take_header(std::string_view line) {
  const std::size_t colon = line.find(':');
  if (colon == line.npos) return refuse(400);
  const std::string_view value = trimmed(line.substr(colon + 1));
  if (!is_token(line.substr(0, colon)) || !is_value(value)) return refuse(400);  // a folded line begins with no token
  std::string name = lowered(line.substr(0, colon));
  if (name == "content-length") {
    const auto length = parse_size(value, 10);
    if (!length || (length_ && length_ != length)) return refuse(400);
    length_ = length;
  } else if (name == "transfer-encoding") {
    if (chunked_ || lowered(value) != "chunked") return refuse(501);
    chunked_ = true;
  } else if (name == "connection") {
    if (names_token(value, "close")) keep_alive_ = false;
  } else if (name == "expect") {
    expects_continue_ = http_1_1_ && lowered(value) == "100-continue";
  }
  request_.headers.push_back({std::move(name), std::string(value)});
}

void RequestParser::end_head() {
  const bool two_lengths = chunked_ && (length_ || !http_1_1_);
  if (two_lengths || (http_1_1_ && request_.header("host").empty())) return refuse(400);
  if (length_.value_or(0) > most_body_) return refuse(413);
  body_left_ = length_.value_or(0);
  phase_ = chunked_ ? Phase::kChunkSize : body_left_ > 0 ? Phase::kBody : Phase::kReady;
}

void RequestParser::take_chunk_size(std::string_view line) {
  const auto size = parse_size(trimmed(line.substr(0, line.find(';'))), 16);
  if (!size) return refuse(400);
  if (*size > most_body_ - request_.body.size()) return refuse(413);
  head_size_ = 0;  // a body of many small chunks is no long head
  body_left_ = *size;
  phase_ = *size > 0 ? Phase::kChunk : Phase::kTrailers;
}

void RequestParser::take_body(std::string_view& bytes, Phase then) {
  const std::size_t size = std::min<std::uint64_t>(bytes.size(), body_left_);
  request_.body += bytes.substr(0, size);
  bytes.remove_prefix(size);
  body_left_ -= size;
  if (body_left_ == 0) phase_ = then;
}

void RequestParser::refuse(int status) {
  status_ = status;
  phase_ = Phase::kFailed;
  request_ = {};
  part_line_ = {};
}

}  // namespace nodeward::sim::wire
