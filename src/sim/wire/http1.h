// HTTP/1.1 on one connection: one request after the other, each answered before the next is looked at. Private to sim/wire.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "sim/wire/call.h"
#include "sim/wire/http1_parser.h"

namespace nodeward::sim::wire {

class Http1 final : public Protocol {
 public:
  // `out` takes what is to be sent; whoever owns it empties it.
  Http1(Peer& peer, std::string& out, std::size_t most_body)
      : peer_(peer), out_(out), most_body_(most_body), parser_(kMostHead, most_body) {}
  ~Http1() override;

  void receive(std::string_view bytes) override;
  void end_of_input() override;
  bool produce() override;
  bool wants_input() const override;
  bool half_read() const override { return !call_ && !closing_ && parser_.started(); }
  bool finished() const override { return !call_ && (closing_ || (input_ended_ && input_.empty())); }
  void abandon() override;

  void answer(Call& call) override;
  void wake(Call& call) override;
  void drop() override { peer_.drop(); }
  void freeze() override { peer_.freeze(); }
  void goaway(Call& call, int minus) override;

 private:
  bool idle() const { return !call_ && !closing_ && !abandoned_ && out_.size() < kFull; }
  void consume(std::string_view& bytes);
  void begin_call();
  void refuse(int status);
  void write_head();
  void write_body();
  bool write_chunk();
  void end_call();

  Peer& peer_;
  std::string& out_;
  const std::size_t most_body_;
  RequestParser parser_;
  std::string input_;              // what came after the request in hand
  std::shared_ptr<Call> call_;     // the request in hand
  bool closing_ = false;           // nothing follows what is in `out`
  bool input_ended_ = false;
  bool abandoned_ = false;
};

}  // namespace nodeward::sim::wire
