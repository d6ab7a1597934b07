// HTTP/1.1 requests out of bytes, in whatever pieces these come (RFC 9112). Pure. Lines may end in a bare LF, as a request that
// is typed by hand does; what two readers could understand differently is refused. Private to sim/wire.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "sim/wire/server.h"

namespace nodeward::sim::wire {

class RequestParser {
 public:
  enum class State {
    kMore,            // all bytes are taken, and the request is not whole
    kExpectsContinue, // the client wants to hear "100 Continue" before it sends the body; once
    kReady,           // take() it
    kFailed,          // answer status() and close: where the next request begins is unknown
  };

  RequestParser(std::size_t most_head, std::size_t most_body) : most_head_(most_head), most_body_(most_body) {}

  // Takes what it uses from the front of `bytes`.
  State feed(std::string_view& bytes);
  Request take();                                       // and is ready for the next
  bool keep_alive() const { return keep_alive_; }       // of the request taken last: the connection may be used again
  bool chunks() const { return http_1_1_; }             // of the same: its client understands chunks
  bool started() const { return phase_ != Phase::kRequestLine || head_size_ > 0; }
  int status() const { return status_; }                // why it failed: 400, 413, 431, 501 or 505

 private:
  enum class Phase { kRequestLine, kHeaders, kBody, kChunkSize, kChunk, kChunkEnd, kTrailers, kReady, kFailed };

  std::optional<std::string_view> next_line(std::string_view& bytes);
  void take_line(std::string_view line);
  void take_request_line(std::string_view line);
  void take_header(std::string_view line);
  void end_head();
  void take_chunk_size(std::string_view line);
  void take_body(std::string_view& bytes, Phase then);
  void refuse(int status);

  const std::size_t most_head_;
  const std::size_t most_body_;
  Phase phase_ = Phase::kRequestLine;
  int status_ = 0;
  Request request_;
  std::string part_line_;        // the beginning of a line whose end has not come
  std::string whole_line_;       // such a line when it is whole
  std::size_t head_size_ = 0;    // of the lines so far, trailers and chunk sizes included
  std::uint64_t body_left_ = 0;  // of the body, or of this chunk
  std::optional<std::uint64_t> length_;
  bool chunked_ = false;
  bool expects_continue_ = false;
  bool http_1_1_ = true;
  bool keep_alive_ = true;
};

}  // namespace nodeward::sim::wire
