#include "sim/status.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <unordered_set>

namespace nodeward::sim {
namespace {

Json details_of(const Resource& resource, std::string_view name) {
  Json details = {{"kind", resource.plural}};
  if (!name.empty()) details["name"] = name;
  if (!resource.group.empty()) details["group"] = resource.group;
  return details;
}

}  // namespace

Json Failure::status() const {
  Json status = {{"kind", "Status"}, {"apiVersion", "v1"}, {"metadata", Json::object()}, {"status", "Failure"}, {"code", code}};
  status["message"] = message;
  if (!reason.empty()) status["reason"] = reason;
  if (!details.is_null()) status["details"] = details;
  if (!continue_token.empty()) status["metadata"]["continue"] = continue_token;
  return status;
}

Failure bad_request(std::string message) { return {.code = 400, .reason = "BadRequest", .message = std::move(message)}; }
Failure internal_error(std::string message) { return {.code = 500, .message = std::move(message)}; }

Failure not_found(const Resource& resource, std::string_view name) {
  return {.code = 404,
          .reason = "NotFound",
          .message = fmt::format("{} \"{}\" not found", resource.qualified(), name),
          .details = details_of(resource, name)};
}

Failure no_such_resource() {
  return {.code = 404,
          .reason = "NotFound",
          .message = "the server could not find the requested resource",
          .details = Json::object()};
}

Failure already_exists(const Resource& resource, std::string_view name) {
  return {.code = 409,
          .reason = "AlreadyExists",
          .message = fmt::format("{} \"{}\" already exists", resource.qualified(), name),
          .details = details_of(resource, name)};
}

Failure conflict(const Resource& resource, std::string_view name, std::string_view why) {
  constexpr std::string_view kModified =
      "the object has been modified; please apply your changes to the latest version and try again";
  return {.code = 409,
          .reason = "Conflict",
          .message = fmt::format("Operation cannot be fulfilled on {} \"{}\": {}", resource.qualified(), name,
                                 why.empty() ? kModified : why),
          .details = details_of(resource, name)};
}

Failure invalid(std::string_view group, std::string_view kind, std::string_view name, const Causes& causes) {
  std::vector<std::string> lines;
  std::unordered_set<std::string> seen;
  Json list = Json::array();
  for (const Cause& cause : causes) {
    std::string line = fmt::format("{}: {}", cause.field, cause.text);
    if (seen.insert(line).second) lines.push_back(std::move(line));
    list.push_back({{"reason", cause.reason}, {"message", cause.text}, {"field", cause.field}});
  }
  const std::string all = fmt::format("{}", fmt::join(lines, ", "));
  Json details = {{"causes", std::move(list)}};
  if (!kind.empty()) details["kind"] = kind;
  if (!name.empty()) details["name"] = name;
  if (!group.empty()) details["group"] = group;
  const std::string qualified = group.empty() ? std::string(kind) : fmt::format("{}.{}", kind, group);
  return {.code = 422,
          .reason = "Invalid",
          .message = fmt::format("{} \"{}\" is invalid: {}", qualified, name, lines.size() == 1 ? all : "[" + all + "]"),
          .details = std::move(details)};
}

Failure invalid(const Resource& resource, std::string_view name, const Causes& causes) {
  return invalid(resource.group, resource.kind, name, causes);
}

Failure patch_refused() {
  return {.code = 422,
          .reason = "Invalid",
          .message = "the server rejected our request due to an error in our request",
          .details = Json::object()};
}

Failure expired(std::string message) { return {.code = 410, .reason = "Expired", .message = std::move(message)}; }
Failure unauthorized() { return {.code = 401, .reason = "Unauthorized", .message = "Unauthorized"}; }
Failure forbidden(std::string message, Json details) {
  return {.code = 403, .reason = "Forbidden", .message = std::move(message), .details = std::move(details)};
}

Failure unsupported_media_type(bool patch) {
  if (patch) {
    return {.code = 415, .reason = "UnsupportedMediaType", .message = "415: Unsupported Media Type", .details = Json::object()};
  }
  return {.code = 415,
          .reason = "UnsupportedMediaType",
          .message =
              "the body of the request was in an unknown format - accepted media types include: application/json, "
              "application/yaml, application/vnd.kubernetes.protobuf"};
}

Failure not_acceptable(std::string message) { return {.code = 406, .reason = "NotAcceptable", .message = std::move(message)}; }

Failure method_not_allowed() {
  return {.code = 405,
          .reason = "MethodNotAllowed",
          .message = "the server does not allow this method on the requested resource",
          .details = Json::object()};
}

wire::Reply reply(int status, std::string body, std::string content_type) {
  return {.status = status,
          .headers = {{"cache-control", "no-cache, private"}, {"content-type", std::move(content_type)}},
          .body = std::move(body)};
}

wire::Reply reply(const Failure& failure) {
  wire::Reply made = reply(failure.code, to_text(failure.status()) + "\n");
  if (failure.retry_after_s > 0) made.headers.push_back({"retry-after", std::to_string(failure.retry_after_s)});
  return made;
}

}  // namespace nodeward::sim
