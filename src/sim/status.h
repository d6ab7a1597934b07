// The answers of a kube-apiserver that are no objects: v1.Status, in its words. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "sim/resources.h"
#include "sim/wire/server.h"

namespace nodeward::sim {

// What went wrong, as a value on its way to the client.
struct Failure {
  int code = 500;
  std::string reason = {};                        // empty: none is sent
  std::string message = {};
  Json details = nullptr;                         // null: none are sent
  std::string continue_token = {};                // for an expired list: how to go on all the same
  int retry_after_s = 0;

  Json status() const;                            // the v1.Status
};
template <class T = void>
using Answered = tl::expected<T, Failure>;

// One thing that is wrong with an object: `text` is "Invalid value: \"x\": why".
struct Cause {
  std::string reason;                             // "FieldValueInvalid"
  std::string text;
  std::string field;                              // "metadata.labels"
};
using Causes = std::vector<Cause>;

Failure bad_request(std::string message);
Failure internal_error(std::string message);      // a 500 without a reason, as the real server sends for plain errors
Failure not_found(const Resource& resource, std::string_view name);
Failure no_such_resource();
Failure already_exists(const Resource& resource, std::string_view name);
Failure conflict(const Resource& resource, std::string_view name, std::string_view why = {});
Failure invalid(std::string_view group, std::string_view kind, std::string_view name, const Causes& causes);
Failure invalid(const Resource& resource, std::string_view name, const Causes& causes);
Failure patch_refused();                          // 422 without a word about why: a JSON patch that does not apply
Failure expired(std::string message);
Failure unauthorized();
Failure forbidden(std::string message, Json details);
Failure unsupported_media_type(bool patch);
Failure not_acceptable(std::string message);
Failure method_not_allowed();

wire::Reply reply(const Failure& failure);
wire::Reply reply(int status, std::string body, std::string content_type = "application/json");

}  // namespace nodeward::sim
