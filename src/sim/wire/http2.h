// HTTP/2 on one connection, by nghttp2. Requests go to the handler when all bytes in hand are read, in the order in which they
// became whole, so one that was reset meanwhile is never seen. Private to sim/wire.
#pragma once

#include <nghttp2/nghttp2.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "sim/wire/call.h"

namespace nodeward::sim::wire {

inline constexpr std::string_view kHttp2Preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

class Http2 final : public Protocol {
 public:
  // `out` takes what is to be sent; whoever owns it empties it.
  Http2(Peer& peer, std::string& out, std::size_t most_body);
  ~Http2() override;

  void receive(std::string_view bytes) override;
  void end_of_input() override;
  bool produce() override;
  bool wants_input() const override { return !failed_ && out_.size() < kFull; }
  bool half_read() const override { return !settled_; }
  bool finished() const override;
  void abandon() override;

  void answer(Call& call) override;
  void wake(Call& call) override;
  void drop() override { peer_.drop(); }
  void freeze() override { peer_.freeze(); }
  void goaway(Call& call, int minus) override;

 private:
  struct Stream {
    std::shared_ptr<Call> call;
    std::size_t head_size = 0;
    bool whole = false;        // the request has come to its end, or no more of it is wanted
    bool refused = false;      // answered here: a head or a body too long
    bool ended = false;        // what is in reply.body is the rest
  };
  struct Callbacks;            // what nghttp2 calls

  Stream* stream_of(std::int32_t id) const { return static_cast<Stream*>(nghttp2_session_get_stream_user_data(session_, id)); }
  void begin(std::int32_t id);
  void take_header(Stream& stream, std::string_view name, std::string_view value);
  void take_body(Stream& stream, std::string_view bytes);
  void end_request(Stream& stream);
  void refuse(Stream& stream, Reply reply);
  void hand_over();
  ssize_t read_body(Stream& stream, std::size_t most, std::uint32_t& flags);
  int send_data(Stream& stream, std::string_view frame_head, std::size_t size);
  void send_all();

  Peer& peer_;
  std::string& out_;
  const std::size_t most_body_;
  nghttp2_session* session_ = nullptr;
  std::unordered_map<std::int32_t, Stream> streams_;
  std::vector<std::shared_ptr<Call>> whole_;   // to be handed over
  std::vector<nghttp2_nv> fields_;             // of one answer; kept for its memory
  std::optional<std::int32_t> last_stream_;    // streams above it get no answer
  bool goaway_due_ = false;
  bool settled_ = false;                       // the client's first SETTINGS have come
  bool failed_ = false;                        // nghttp2 cannot go on
};

}  // namespace nodeward::sim::wire
