#include "sim/wire/http2.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/check.h"

namespace nodeward::sim::wire {
namespace {

// The stream limit is a kube-apiserver's; the windows are wider than its own, so that no body waits for them.
constexpr std::uint32_t kMostStreams = 1000;
constexpr std::int32_t kStreamWindow = 1 << 20;
constexpr std::int32_t kConnectionWindow = 16 << 20;
// Acknowledgements (of SETTINGS, of PING) that wait to be sent; a client that asks for more and does not read is cut off.
constexpr std::size_t kMostAcks = 1000;
// What a stream is asked for at a time: a few frames' worth.
constexpr std::size_t kFill = 64UL << 10;

std::string_view text(const std::uint8_t* bytes, std::size_t size) { return {reinterpret_cast<const char*>(bytes), size}; }

nghttp2_nv field(std::string_view name, std::string_view value) {
  return {.name = reinterpret_cast<std::uint8_t*>(const_cast<char*>(name.data())),
          .value = reinterpret_cast<std::uint8_t*>(const_cast<char*>(value.data())),
          .namelen = name.size(),
          .valuelen = value.size(),
          .flags = NGHTTP2_NV_FLAG_NONE};  // nghttp2 copies both, and lowers the name
}

}  // namespace

struct Http2::Callbacks {
  static Http2& self(void* user) { return *static_cast<Http2*>(user); }
  static bool opens_request(const nghttp2_frame& frame) {
    return frame.hd.type == NGHTTP2_HEADERS && frame.headers.cat == NGHTTP2_HCAT_REQUEST;
  }

  static int on_begin_headers(nghttp2_session*, const nghttp2_frame* frame, void* user) {
    if (opens_request(*frame)) self(user).begin(frame->hd.stream_id);
    return 0;
  }
  static int on_header(nghttp2_session*, const nghttp2_frame* frame, const std::uint8_t* name, std::size_t name_size,
                       const std::uint8_t* value, std::size_t value_size, std::uint8_t, void* user) {
    if (!opens_request(*frame)) return 0;  // trailers
    if (Stream* stream = self(user).stream_of(frame->hd.stream_id)) {
      self(user).take_header(*stream, text(name, name_size), text(value, value_size));
    }
    return 0;
  }
  static int on_data(nghttp2_session*, std::uint8_t, std::int32_t id, const std::uint8_t* bytes, std::size_t size, void* user) {
    if (Stream* stream = self(user).stream_of(id)) self(user).take_body(*stream, text(bytes, size));
    return 0;
  }
  static int on_frame(nghttp2_session*, const nghttp2_frame* frame, void* user) {
    Http2& http2 = self(user);
    if (frame->hd.type == NGHTTP2_SETTINGS) http2.settled_ = true;
    if (frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA) return 0;
    Stream* const stream = http2.stream_of(frame->hd.stream_id);
    if (stream != nullptr && (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0) http2.end_request(*stream);
    return 0;
  }
  static int on_close(nghttp2_session* session, std::int32_t id, std::uint32_t, void* user) {
    nghttp2_session_set_stream_user_data(session, id, nullptr);
    const auto node = self(user).streams_.extract(id);
    if (node) node.mapped().call->end();
    return 0;
  }
  // The answer is complete and the request is not: the rest of it is not wanted (RFC 9113, section 8.1).
  static int on_sent(nghttp2_session* session, const nghttp2_frame* frame, void* user) {
    if (frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA) return 0;
    const Stream* const stream = self(user).stream_of(frame->hd.stream_id);
    if (stream != nullptr && !stream->whole && (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0) {
      nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, frame->hd.stream_id, NGHTTP2_NO_ERROR);
    }
    return 0;
  }
  static ssize_t on_read(nghttp2_session*, std::int32_t, std::uint8_t*, std::size_t most, std::uint32_t* flags,
                         nghttp2_data_source* source, void* user) {
    return self(user).read_body(*static_cast<Stream*>(source->ptr), most, *flags);
  }
  static int on_send_data(nghttp2_session*, nghttp2_frame*, const std::uint8_t* head, std::size_t size,
                          nghttp2_data_source* source, void* user) {
    constexpr std::size_t kFrameHead = 9;
    return self(user).send_data(*static_cast<Stream*>(source->ptr), text(head, kFrameHead), size);
  }
};

Http2::Http2(Peer& peer, std::string& out, std::size_t most_body) : peer_(peer), out_(out), most_body_(most_body) {
  nghttp2_session_callbacks* callbacks = nullptr;
  nghttp2_session_callbacks_new(&callbacks);
  nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, &Callbacks::on_begin_headers);
  nghttp2_session_callbacks_set_on_header_callback(callbacks, &Callbacks::on_header);
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, &Callbacks::on_data);
  nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, &Callbacks::on_frame);
  nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, &Callbacks::on_close);
  nghttp2_session_callbacks_set_on_frame_send_callback(callbacks, &Callbacks::on_sent);
  nghttp2_session_callbacks_set_send_data_callback(callbacks, &Callbacks::on_send_data);
  nghttp2_option* option = nullptr;
  nghttp2_option_new(&option);
  nghttp2_option_set_max_outbound_ack(option, kMostAcks);
  nghttp2_option_set_no_closed_streams(option, 1);
  NW_CHECK(nghttp2_session_server_new2(&session_, callbacks, this, option) == 0, "there is memory for a session");
  nghttp2_option_del(option);
  nghttp2_session_callbacks_del(callbacks);

  const std::array<nghttp2_settings_entry, 3> settings = {{{NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, kMostStreams},
                                                           {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, kStreamWindow},
                                                           {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, kMostHead}}};
  nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, settings.data(), settings.size());
  nghttp2_session_set_local_window_size(session_, NGHTTP2_FLAG_NONE, 0, kConnectionWindow);
}

Http2::~Http2() {
  for (auto& [id, stream] : streams_) stream.call->end();
  nghttp2_session_del(session_);
}

void Http2::receive(std::string_view bytes) {
  if (failed_) return;
  const ssize_t taken = nghttp2_session_mem_recv(session_, reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  if (taken < 0) failed_ = true;
  hand_over();
}

void Http2::end_of_input() {
  failed_ = true;
  abandon();
}

// After a GOAWAY with nothing left to answer, or a breach of the protocol that was answered with one.
bool Http2::finished() const {
  return failed_ || (nghttp2_session_want_read(session_) == 0 && nghttp2_session_want_write(session_) == 0);
}

void Http2::abandon() {
  for (auto& [id, stream] : streams_) stream.call->detach();
  whole_.clear();
}

void Http2::begin(std::int32_t id) {
  Stream& stream = streams_[id];  // its address stays
  stream.call = std::make_shared<Call>(*this, id);
  nghttp2_session_set_stream_user_data(session_, id, &stream);
}

void Http2::take_header(Stream& stream, std::string_view name, std::string_view value) {
  constexpr std::size_t kEntryOverhead = 32;  // RFC 9113, section 6.5.2
  stream.head_size += name.size() + value.size() + kEntryOverhead;
  if (stream.head_size > kMostHead) {
    refuse(stream, {.status = 431});
    return;
  }
  Request& request = stream.call->asked;
  if (name == ":method") {
    request.method = value;
  } else if (name == ":path") {
    request.target = value;
  } else if (name == ":authority") {
    request.headers.push_back({"host", std::string(value)});
  } else if (!name.starts_with(':')) {
    request.headers.push_back({std::string(name), std::string(value)});
  }
}

void Http2::take_body(Stream& stream, std::string_view bytes) {
  if (stream.refused) return;
  std::string& body = stream.call->asked.body;
  if (bytes.size() > most_body_ - body.size()) {
    refuse(stream, too_large(most_body_));
  } else {
    body += bytes;
  }
}

void Http2::end_request(Stream& stream) {
  stream.whole = true;
  if (!stream.refused) whole_.push_back(stream.call);
}

void Http2::refuse(Stream& stream, Reply reply) {
  if (std::exchange(stream.refused, true)) return;
  stream.call->asked = {};
  stream.call->answer(std::move(reply));
}

void Http2::hand_over() {
  for (std::size_t at = 0; at < whole_.size(); ++at) {  // a handler that drops the connection empties it
    const std::shared_ptr<Call> call = std::move(whole_[at]);
    if (!call->gone() && (!last_stream_ || call->id <= *last_stream_)) peer_.handle(call);
  }
  whole_.clear();
}

void Http2::answer(Call& call) {
  Stream* const stream = stream_of(call.id);
  NW_CHECK(stream != nullptr, "an exchange that is not gone has its stream");
  Reply& reply = call.reply;
  const bool empty = bodiless(call.asked.method, reply.status);
  const fmt::format_int status(reply.status);
  const fmt::format_int length(reply.body.size());
  fields_.clear();
  fields_.push_back(field(":status", {status.data(), status.size()}));
  for (const net::Header& header : reply.headers) fields_.push_back(field(header.name, header.value));
  if (!reply.stream && (!empty || call.asked.method == "HEAD")) {
    fields_.push_back(field("content-length", {length.data(), length.size()}));
  }
  stream->ended = !reply.stream;
  nghttp2_data_provider body = {.source = {.ptr = stream}, .read_callback = &Callbacks::on_read};
  const bool no_data = empty || (stream->ended && reply.body.empty());
  nghttp2_submit_response(session_, call.id, fields_.data(), fields_.size(), no_data ? nullptr : &body);
  peer_.soon();
}

void Http2::wake(Call& call) {
  if (std::exchange(call.waiting, false)) nghttp2_session_resume_data(session_, call.id);
  peer_.soon();
}

void Http2::goaway(Call& call, int minus) {
  const std::int32_t last = std::max(0, minus < (call.id + 1) / 2 ? call.id - 2 * minus : 0);
  last_stream_ = std::min(last_stream_.value_or(last), last);
  goaway_due_ = true;
  peer_.soon();
}

// What was answered before a GOAWAY goes out before it: the GOAWAY cuts off the streams above its last one.
bool Http2::produce() {
  send_all();
  if (goaway_due_ && out_.size() < kFull && !failed_) {
    goaway_due_ = false;
    nghttp2_submit_goaway(session_, NGHTTP2_FLAG_NONE, *last_stream_, NGHTTP2_NO_ERROR, nullptr, 0);
    send_all();
  }
  return out_.size() >= kFull;
}

void Http2::send_all() {
  while (out_.size() < kFull && !failed_) {
    const std::uint8_t* bytes = nullptr;
    const ssize_t size = nghttp2_session_mem_send(session_, &bytes);
    if (size < 0) failed_ = true;
    if (size <= 0) return;
    out_ += text(bytes, static_cast<std::size_t>(size));
  }
}

// Says how long the next DATA frame is; send_data() then moves its bytes.
ssize_t Http2::read_body(Stream& stream, std::size_t most, std::uint32_t& flags) {
  Call& call = *stream.call;
  std::string& body = call.reply.body;
  if (call.gone()) return NGHTTP2_ERR_CALLBACK_FAILURE;  // dropped by a body that was being made
  if (call.sent == body.size() && !stream.ended) {
    body.clear();
    call.sent = 0;
    const Body::More more = call.reply.stream->fill(body, kFill);
    NW_CHECK(!body.empty() || more != Body::More::kYes, "a body that has more has put some of it");
    stream.ended = more == Body::More::kEnd;
    if (body.empty() && !stream.ended) {
      if (body.capacity() > kFill / 4) body = {};  // it may wait long
      call.waiting = true;
      return NGHTTP2_ERR_DEFERRED;
    }
  }
  const std::size_t size = std::min(most, body.size() - call.sent);
  flags |= NGHTTP2_DATA_FLAG_NO_COPY;
  if (stream.ended && call.sent + size == body.size()) flags |= NGHTTP2_DATA_FLAG_EOF;
  return static_cast<ssize_t>(size);
}

int Http2::send_data(Stream& stream, std::string_view frame_head, std::size_t size) {
  if (out_.size() >= kFull) return NGHTTP2_ERR_WOULDBLOCK;  // the same frame is offered again
  Call& call = *stream.call;
  out_.append(frame_head).append(call.reply.body, call.sent, size);
  call.sent += size;
  return 0;
}

}  // namespace nodeward::sim::wire
