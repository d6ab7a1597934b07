// The cluster's administrator, for tests: makes and changes objects, reads the server's counters. A plain HTTP client of its
// own, so that it cannot share a mistake with the product's client. Any thread. Throws std::runtime_error when no answer comes,
// and where a function says so; GoogleTest makes a failure of that.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "api/counters.h"
#include "base/json.h"

namespace nodeward::api {

struct Answer {
  int status = 0;
  std::string body;
  Json json() const;                                // throws when the body is no JSON
};

class Admin {
 public:
  Admin(std::string origin, std::string ca_pem, const std::string& token);
  ~Admin();

  Answer call(const std::string& method, const std::string& path, const std::string& body = "",
              const std::string& content_type = "application/json");
  Answer get(const std::string& path) { return call("GET", path); }
  Answer post(const std::string& path, const Json& object) { return call("POST", path, to_text(object)); }
  Answer merge_patch(const std::string& path, const Json& patch) {
    return call("PATCH", path, to_text(patch), "application/merge-patch+json");
  }
  // At once: there is no kubelet that could end a grace period.
  Answer remove(const std::string& path) { return call("DELETE", path + "?gracePeriodSeconds=0"); }

  Json node(std::string_view name);                 // throws when it is not there
  // Objects as they would be written in YAML, apiVersion and kind optional, `status` kept. Throws on the first refusal.
  void create_node(const Json& node) { create_nodes({&node, 1}); }
  void create_pod(const Json& pod) { create_pods({&pod, 1}); }
  // Several at a time: 1,000 in a few seconds.
  void create_nodes(std::span<const Json> nodes);
  void create_pods(std::span<const Json> pods);     // metadata.namespace defaults to "default"; any namespace will do
  void clear();                                     // all nodes and pods are gone afterwards

  // What others asked of the server so far: its own counters without the calls made through this object.
  Counters counters();
  void forget_own_calls();                          // the server was restarted and counts from zero

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace nodeward::api
