#include "sim/wire/http1.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/check.h"

namespace nodeward::sim::wire {
namespace {

constexpr std::size_t kMostInput = 64UL << 10;  // of requests that wait for the one in hand

std::string_view reason_of(int status) {
  switch (status) {
    case 200: return "OK";
    case 201: return "Created";
    case 202: return "Accepted";
    case 204: return "No Content";
    case 304: return "Not Modified";
    case 400: return "Bad Request";
    case 401: return "Unauthorized";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 406: return "Not Acceptable";
    case 409: return "Conflict";
    case 410: return "Gone";
    case 413: return "Request Entity Too Large";
    case 415: return "Unsupported Media Type";
    case 422: return "Unprocessable Entity";
    case 429: return "Too Many Requests";
    case 431: return "Request Header Fields Too Large";
    case 500: return "Internal Server Error";
    case 501: return "Not Implemented";
    case 503: return "Service Unavailable";
    case 504: return "Gateway Timeout";
    case 505: return "HTTP Version Not Supported";
    default: return "Status";
  }
}

}  // namespace

Http1::~Http1() {
  if (call_) end_call();
}

void Http1::receive(std::string_view bytes) {
  if (closing_) return;
  const bool kept = !input_.empty();
  if (kept) input_ += bytes;
  std::string_view rest = kept ? std::string_view(input_) : bytes;
  consume(rest);
  if (kept) {
    input_.erase(0, input_.size() - rest.size());
  } else {
    input_.assign(rest);
  }
}

// A client that closes its side has given up what is not answered, and a stream; what is answered is still sent.
void Http1::end_of_input() {
  input_ended_ = true;
  if (!call_ || (call_->answered() && !call_->reply.stream)) return;
  closing_ = true;
  std::exchange(call_, nullptr)->end();
}

bool Http1::wants_input() const { return !input_ended_ && !closing_ && input_.size() < kMostInput && out_.size() < kFull; }

void Http1::abandon() {
  abandoned_ = true;
  if (call_) call_->detach();
}

void Http1::consume(std::string_view& bytes) {
  while (!bytes.empty() && idle()) {
    switch (parser_.feed(bytes)) {
      case RequestParser::State::kMore: break;
      case RequestParser::State::kExpectsContinue: out_ += "HTTP/1.1 100 Continue\r\n\r\n"; break;
      case RequestParser::State::kReady: begin_call(); break;
      case RequestParser::State::kFailed: refuse(parser_.status()); break;
    }
  }
  if (closing_) bytes = {};
}

void Http1::begin_call() {
  call_ = std::make_shared<Call>(*this, 0);
  call_->asked = parser_.take();
  peer_.handle(call_);
}

// What could not be read to its end is answered here.
void Http1::refuse(int status) {
  call_ = std::make_shared<Call>(*this, 0);
  closing_ = true;
  call_->answer(status == 413 ? too_large(most_body_)
                              : Reply{.status = status,
                                      .headers = {{"Content-Type", "text/plain; charset=utf-8"}},
                                      .body = fmt::format("{} {}", status, reason_of(status))});
}

void Http1::answer(Call& call) {
  NW_CHECK(call_.get() == &call, "one request is in hand");
  if (!parser_.keep_alive()) closing_ = true;
  write_head();
  write_body();
  peer_.soon();
}

void Http1::wake(Call& call) {
  call.waiting = false;
  peer_.soon();
}

void Http1::goaway(Call& call, int minus) {
  if (minus == 0) {
    closing_ = true;
  } else if (!call.answered()) {
    closing_ = true;
    std::exchange(call_, nullptr)->end();
  }
  peer_.soon();
}

bool Http1::produce() {
  if (call_ && call_->answered()) write_body();
  if (!input_.empty()) {
    std::string_view rest = input_;
    consume(rest);
    input_.erase(0, input_.size() - rest.size());
  }
  return out_.size() >= kFull;
}

void Http1::write_head() {
  const Reply& reply = call_->reply;
  fmt::format_to(std::back_inserter(out_), "HTTP/1.1 {} {}\r\n", reply.status, reason_of(reply.status));
  for (const net::Header& header : reply.headers) {
    out_.append(header.name).append(": ").append(header.value).append("\r\n");
  }
  const bool empty = reply.status < 200 || reply.status == 204 || reply.status == 304;
  if (reply.stream) {
    if (parser_.chunks() && !empty) out_ += "Transfer-Encoding: chunked\r\n";
    if (!parser_.chunks()) closing_ = true;  // the end of the connection ends the body
  } else if (!empty) {
    fmt::format_to(std::back_inserter(out_), "Content-Length: {}\r\n", reply.body.size());
  }
  out_ += closing_ ? "Connection: close\r\n\r\n" : "\r\n";
}

void Http1::write_body() {
  Reply& reply = call_->reply;
  if (bodiless(call_->asked.method, reply.status)) return end_call();
  if (reply.stream) {
    while (out_.size() < kFull && !call_->waiting && !abandoned_) {
      if (!write_chunk()) return end_call();
    }
    return;
  }
  const std::size_t room = kFull - std::min(kFull, out_.size());
  const std::size_t size = std::min(room, reply.body.size() - call_->sent);
  out_.append(reply.body, call_->sent, size);
  call_->sent += size;
  if (call_->sent == reply.body.size()) end_call();
}

// False: that was the last. The size is written in eight digits before it is known, so that the bytes are moved but once.
bool Http1::write_chunk() {
  const std::size_t start = out_.size();
  const bool chunks = parser_.chunks();
  if (chunks) out_ += "00000000\r\n";
  const std::size_t body = out_.size();
  call_->waiting = false;
  const Body::More more = call_->reply.stream->fill(out_, kFull - std::min(kFull, body) + 1);
  const std::size_t size = out_.size() - body;
  NW_CHECK(size > 0 || more != Body::More::kYes, "a body that has more has put some of it");
  if (chunks && size == 0) out_.resize(start);
  if (chunks && size > 0) {
    fmt::format_to(out_.begin() + static_cast<std::ptrdiff_t>(start), "{:08x}", size);
    out_ += "\r\n";
  }
  if (chunks && more == Body::More::kEnd) out_ += "0\r\n\r\n";
  if (more == Body::More::kLater) call_->waiting = true;
  return more != Body::More::kEnd;
}

void Http1::end_call() { std::exchange(call_, nullptr)->end(); }

}  // namespace nodeward::sim::wire
