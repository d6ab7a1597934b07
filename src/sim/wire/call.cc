#include "sim/wire/call.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"

namespace nodeward::sim::wire {

std::string_view Request::header(std::string_view lower_case_name) const {
  const auto found = std::find_if(headers.begin(), headers.end(),
                                  [&](const auto& header) { return header.name == lower_case_name; });
  return found == headers.end() ? std::string_view() : std::string_view(found->value);
}

// Each of these may end the exchange, and with it the last reference but this one.
void Call::answer(Reply with) {
  if (gone()) return;
  NW_CHECK(!answered_, "an exchange is answered once");
  const auto self = shared_from_this();
  answered_ = true;
  reply = std::move(with);
  protocol_->answer(*this);
}

void Call::wake() {
  if (gone()) return;
  const auto self = shared_from_this();
  protocol_->wake(*this);
}

void Call::drop() {
  if (gone()) return;
  const auto self = shared_from_this();
  protocol_->drop();
}

void Call::goaway(int minus) {
  if (gone()) return;
  const auto self = shared_from_this();
  protocol_->goaway(*this, minus);
}

void Call::freeze() {
  if (!gone()) protocol_->freeze();
}

Reply too_large(std::size_t most_body) {
  return {
      .status = 413,
      .headers = {{"Content-Type", "application/json"}},
      .body = fmt::format(R"({{"kind":"Status","apiVersion":"v1","metadata":{{}},"status":"Failure",)"
                          R"("message":"Request entity too large: limit is {}","reason":"RequestEntityTooLarge","code":413}})",
                          most_body)};
}

bool bodiless(std::string_view method, int status) { return method == "HEAD" || status < 200 || status == 204 || status == 304; }

}  // namespace nodeward::sim::wire
