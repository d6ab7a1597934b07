// The API server's own count of the requests it served (apiserver_request_total), as the judge of how many calls a program
// made. A watch is counted when it ends. A server that was restarted counts from zero. Values, pure.
//   const Counters before = admin.counters();
//   ...
//   EXPECT_EQ((admin.counters() - before).count("PATCH", "nodes"), 1);
#pragma once

#include <compare>
#include <map>
#include <string>
#include <string_view>

namespace nodeward::api {

struct CallKind {
  std::string verb;           // as the metric says: GET, LIST, WATCH, POST, PUT, PATCH, APPLY, DELETE, DELETECOLLECTION
  std::string resource;       // "nodes"
  std::string subresource;    // "status", mostly ""
  int code = 0;
  friend auto operator<=>(const CallKind&, const CallKind&) = default;
};

class Counters {
 public:
  static Counters parse(std::string_view prometheus_text);

  void add(const CallKind& kind, long by = 1) { counts_[kind] += by; }
  // Of all status codes, or of one; the subresource must match.
  long count(std::string_view verb, std::string_view resource, std::string_view subresource = "", int code = 0) const;
  const std::map<CallKind, long>& all() const { return counts_; }
  std::string text() const;    // a line for each kind: "PATCH nodes/status 200: 3"
  // Kinds that did not change are left out.
  friend Counters operator-(const Counters& later, const Counters& earlier);

 private:
  std::map<CallKind, long> counts_;
};

}  // namespace nodeward::api
