// The list of requests that both servers get, as a reader sees it in tests/data/differential/*.txt. One request a line:
//   id METHOD path [@option ...] [body]
// A line that begins with a space goes on with the body; "== title" opens a group, "#" a comment. In path and body
//   ${step.version} ${step.uid} ${step.continue}   stand for what an earlier step was answered,
//   ${repeat:TEXT:N}                               for a long text.
// READ and CLOSE are no HTTP: they go on reading a watch that was left open, and end it. Options:
//   @merge @strategic @json-patch @type:T    the body's Content-Type; without one of them application/json
//   @accept:NAME                             one of kAccepts in player.cc; without it application/json
//   @as:powerless|wrong|nobody               whose token; without it the administrator's
//   @take:N  @end  @open                     a stream: N events of it, all to the end, or its head alone, left open
//   @pick:A,B                                of each list of named things only these are shown
//   @same:STEP                               the list's version has to be that of an earlier list
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace nodeward::differential {

struct Step {
  std::string group;
  std::string id;
  std::string method;
  std::string path;                             // of READ and CLOSE: the id of the watch
  std::string body = {};
  std::map<std::string, std::string> options = {};    // "take" -> "3"

  bool has(const std::string& option) const { return options.contains(option); }
  std::string option(const std::string& name, const std::string& otherwise = "") const;
};

// kInvalid with the line's number.
Result<std::vector<Step>> parse_steps(std::string_view text);

// All *.txt files of the folder, in the order of their names; ids must differ.
Result<std::vector<Step>> read_steps(const std::filesystem::path& folder);

}  // namespace nodeward::differential
