// How many requests were answered, as the real server's apiserver_request_total counts them. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>

namespace nodeward::sim {

struct RequestKind {
  std::string group = {};
  std::string version = {};
  std::string resource = {};                      // empty: no resource; then `subresource` is the path
  std::string subresource = {};
  std::string scope = {};                         // "resource", "namespace", "cluster"
  std::string verb;                               // "GET", "LIST", "WATCH", "POST", "PUT", "PATCH", "DELETE"
  bool dry_run = false;
  int code = 0;

  auto tied() const { return std::tie(group, resource, verb, subresource, version, scope, dry_run, code); }
  bool operator<(const RequestKind& other) const { return tied() < other.tied(); }
};

class RequestCounters {
 public:
  void count(const RequestKind& kind) { ++counts_[kind]; }
  std::uint64_t sum(std::string_view verb, std::string_view resource) const;     // of all codes and subresources
  std::string prometheus_text() const;
  const std::map<RequestKind, std::uint64_t>& all() const { return counts_; }

 private:
  std::map<RequestKind, std::uint64_t> counts_;
};

}  // namespace nodeward::sim
