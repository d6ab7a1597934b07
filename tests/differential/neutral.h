// Takes out of an answer what differs between any two servers: times, uids, managed fields and concrete versions. What a version
// says stays: each is called after the step that showed it first, so an unchanged one is seen, and one out of order is called so.
// One per transcript, fed in the order of the answers.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/json.h"

namespace nodeward::differential {

class Neutral {
 public:
  void begin(const std::string& step) { step_ = step; }
  // `same` is the version of the list that this one has to go on with; "" for none.
  Json body(Json answer, std::string_view same = "");
  std::string text(std::string text);  // of any string or of a body that is no JSON

 private:
  void walk(Json& value, std::string_view same);
  void metadata(Json& object, std::string_view same);
  std::string version_of(const std::string& key, const std::string& version);
  std::string list_version(const std::string& version, std::string_view same);
  void table_cells(Json& table);

  std::string step_;
  std::map<std::string, std::string> uids_;  // -> "<uid of create-n1>"
  std::map<std::string, std::map<std::uint64_t, std::string>> versions_;  // by object -> "<version of create-n1>"
  std::map<std::string, std::string> generated_;  // names made by the server
  std::uint64_t newest_ = 0;  // version seen
};

}  // namespace nodeward::differential
