#include "sim/write_request.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "sim/request_body.h"

namespace nodeward::sim {
namespace {

// dryRun of the options in a body.
Answered<bool> read_dry_run(const Json& options) {
  const Json asked = options.value("dryRun", Json());
  if (asked.is_null()) return false;
  if (!asked.is_array()) {
    return tl::unexpected(bad_request(
        fmt::format("json: cannot unmarshal {} into Go struct field DeleteOptions.dryRun of type []string", asked.type_name())));
  }
  if (std::all_of(asked.begin(), asked.end(), [](const Json& one) { return one == "All"; })) return !asked.empty();
  const std::string wrong = fmt::format("Unsupported value: {}: supported values: \"All\"", to_text(asked));
  return tl::unexpected(invalid("meta.k8s.io", "DeleteOptions", "", {{"FieldValueNotSupported", wrong, "dryRun"}}));
}

}  // namespace

Answered<bool> read_write_options(const Target& target, std::string_view kind) {
  constexpr std::size_t kMostManager = 128;
  const auto refused = [&](std::string reason, std::string text, std::string field) {
    return tl::unexpected(invalid("meta.k8s.io", kind, "", {{std::move(reason), std::move(text), std::move(field)}}));
  };
  const std::string_view dry_run = target.query.get("dryRun");
  if (!dry_run.empty() && dry_run != "All") {
    return refused("FieldValueNotSupported",
                   fmt::format("Unsupported value: [{}]: supported values: \"All\"", json_quoted(dry_run)), "dryRun");
  }
  const std::string_view manager = target.query.get("fieldManager");
  if (manager.size() > kMostManager) {
    return refused("FieldValueTooLong", fmt::format("Too long: may not be more than {} bytes", kMostManager), "fieldManager");
  }
  if (target.query.find("force") != nullptr && kind == "PatchOptions") {
    return refused("FieldValueForbidden", "Forbidden: may not be specified for non-apply patch", "force");
  }
  const std::string_view validation = target.query.get("fieldValidation");
  if (!validation.empty() && validation != "Ignore" && validation != "Warn" && validation != "Strict") {
    return refused(
        "FieldValueNotSupported",
        fmt::format(R"(Unsupported value: {}: supported values: "", "Ignore", "Strict", "Warn")", json_quoted(validation)),
        "fieldValidation");
  }
  return dry_run == "All";
}

Answered<Json> read_object(const wire::Request& request, const Resource& resource) {
  const std::string_view type = request.header("content-type");
  const std::string_view media = trimmed(type.substr(0, type.find(';')));
  if (!media.empty() && media != "application/json") return tl::unexpected(unsupported_media_type(false));
  auto body = parse_body(request.body);
  if (body && body->is_object()) return std::move(*body);
  const std::string why = !body ? body.error()
                                : fmt::format("json: cannot unmarshal {} into Go value of type struct", body->type_name());
  return tl::unexpected(bad_request(
      fmt::format("the object provided is unrecognized (must be of type {}): couldn't get version/kind; json parse error: {}",
                  resource.kind, why)));
}

Answered<Deletion> read_deletion(const wire::Request& request, const Target& target) {
  tl::expected<Json, std::string> body = Json::object();
  if (!trimmed(request.body).empty()) body = parse_body(request.body);
  if (body && !body->is_object()) {
    body = tl::unexpected(fmt::format("json: cannot unmarshal {} into Go value of type struct", body->type_name()));
  }
  if (!body) return tl::unexpected(bad_request("couldn't get version/kind; json parse error: " + body.error()));
  if (const std::string kind = text_at(*body, "kind"); !kind.empty() && kind != "DeleteOptions") {
    return tl::unexpected(
        bad_request(fmt::format(R"(no kind "{}" is registered for version "{}" in scheme "pkg/runtime/scheme.go:111")", kind,
                                text_at(*body, "apiVersion"))));
  }
  std::string policy = text_at(*body, "propagationPolicy");
  if (policy.empty()) policy = target.query.get("propagationPolicy");
  if (!policy.empty() && policy != "Foreground" && policy != "Background" && policy != "Orphan") {
    const std::string wrong = fmt::format(
        R"(Unsupported value: {}: supported values: "Foreground", "Background", "Orphan", "nil")", json_quoted(policy));
    return tl::unexpected(invalid("meta.k8s.io", "DeleteOptions", "", {{"FieldValueNotSupported", wrong, "propagationPolicy"}}));
  }
  const auto by_body = read_dry_run(*body);
  if (!by_body) return tl::unexpected(by_body.error());
  const auto by_query = read_write_options(target, "DeleteOptions");
  if (!by_query) return tl::unexpected(by_query.error());
  return Deletion{std::move(*body), *by_body || *by_query};
}

}  // namespace nodeward::sim
