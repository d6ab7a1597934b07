// What a request's target asks for: a resource path or another path, and the options in its query. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/status.h"

namespace nodeward::sim {

struct Query {
  std::vector<std::pair<std::string, std::string>> values;      // decoded, in order
  const std::string* find(std::string_view name) const;         // the first of that name
  std::string_view get(std::string_view name) const;            // empty: absent
  bool flag(std::string_view name) const;                       // absent, "false" and "0" are false
};

struct Target {
  std::string path;                               // without the query
  Query query;
  bool is_resource = false;                       // the rest is set
  std::string group;
  std::string version;
  std::string space;                              // the namespace; empty: none in the path
  std::string plural;
  std::string name;                               // empty: the collection
  std::string subresource;
};

Target parse_target(std::string_view target);

// The query of a list, a watch or a deletion of many.
struct ListOptions {
  std::string label_selector;
  std::string field_selector;
  bool watch = false;
  bool bookmarks = false;
  bool initial_events = false;
  std::string version;                            // empty and "0" are not the same
  std::string version_match;
  std::int64_t limit = 0;
  std::string continue_token;
  std::int64_t timeout_s = 0;                     // 0: not given
};
Answered<ListOptions> parse_list_options(const Query& query);

// A version as a client writes it; empty is 0.
Answered<std::uint64_t> parse_version(std::string_view text);

// The place where a list goes on; opaque to clients, but in the real server's form.
struct Continue {
  std::uint64_t version = 0;                      // 0: the present one, whatever the pages before showed
  std::string start = {};                         // the first key not sent yet
  std::int64_t left = -1;                         // objects from there on; -1: not counted
};
std::string write_continue(const Continue& at);
Answered<Continue> read_continue(std::string_view token);

}  // namespace nodeward::sim
