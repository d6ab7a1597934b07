// Plays the list of requests against one server and writes down, without what may differ, what came back. The product's own
// transport asks; blocks until the list has ended.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "differential/steps.h"
#include "net/http.h"

namespace nodeward::differential {

struct Origin {
  net::Endpoint endpoint;
  std::string token;                            // may do everything
  std::string powerless_token;                  // is known, may do nothing
};

struct Turn {
  std::string group;
  std::string id;
  std::string request;                          // as the list has it, shortened
  std::string answer;                           // status, headers, body
};

std::vector<Turn> play(std::span<const Step> steps, const Origin& origin);

std::string transcript(std::span<const Turn> turns);

}  // namespace nodeward::differential
