#include "sim/path.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "base/text.h"

namespace nodeward::sim {
namespace {

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char lower = static_cast<char>(c | 0x20);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

std::string decoded(std::string_view text, bool plus_is_space) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size() && hex_digit(text[i + 1]) >= 0 && hex_digit(text[i + 2]) >= 0) {
      out += static_cast<char>(hex_digit(text[i + 1]) * 16 + hex_digit(text[i + 2]));
      i += 2;
    } else {
      out += plus_is_space && text[i] == '+' ? ' ' : text[i];
    }
  }
  return out;
}

Query parse_query(std::string_view text) {
  Query query;
  for (const std::string& part : split(text, '&')) {
    if (part.empty()) continue;
    const std::size_t equals = std::min(part.find('='), part.size());
    query.values.emplace_back(decoded(std::string_view(part).substr(0, equals), true),
                              equals == part.size() ? "" : decoded(std::string_view(part).substr(equals + 1), true));
  }
  return query;
}

// {"api","v1",...} or {"apis","apps","v1",...} into the fields of a resource request.
void read_segments(std::vector<std::string> parts, Target& target) {
  std::size_t at = 0;
  const auto next = [&] { return at < parts.size() ? parts[at++] : std::string(); };
  const bool core = next() == "api";
  if (!core) target.group = next();
  target.version = next();
  if (parts.size() >= at + 3 && parts[at] == "namespaces" && parts[at + 2] != "status" && parts[at + 2] != "finalize") {
    ++at;
    target.space = next();
  }
  target.plural = next();
  target.name = next();
  target.subresource = next();
  while (at < parts.size()) target.subresource += "/" + next();
  target.is_resource = !target.plural.empty();
}

Failure bad_option(std::string field, std::string reason, std::string text) {
  return invalid("meta.k8s.io", "ListOptions", "", {{std::move(reason), std::move(text), std::move(field)}});
}

std::optional<Failure> check_version_match(const ListOptions& options, bool initial_events_given) {
  const std::string field = "resourceVersionMatch";
  const auto forbidden_when = [&](std::string_view why) {
    return bad_option(field, "FieldValueForbidden", fmt::format("Forbidden: {}", why));
  };
  if (options.watch && !options.continue_token.empty()) {
    return forbidden_when("resourceVersionMatch is forbidden when continue is provided");
  }
  if (initial_events_given && !options.watch) {
    return bad_option("sendInitialEvents", "FieldValueForbidden", "Forbidden: sendInitialEvents is forbidden for list");
  }
  if (options.watch && initial_events_given && options.version_match != "NotOlderThan") {
    return forbidden_when("sendInitialEvents requires setting resourceVersionMatch to NotOlderThan");
  }
  if (options.version_match.empty()) return std::nullopt;
  if (options.watch && !initial_events_given) {
    return forbidden_when("resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided");
  }
  if (options.watch) return std::nullopt;
  if (!options.continue_token.empty()) {
    return forbidden_when("resourceVersionMatch is forbidden when continue is provided");
  }
  if (options.version.empty()) {
    return forbidden_when("resourceVersionMatch is forbidden unless resourceVersion is provided");
  }
  if (options.version_match != "Exact" && options.version_match != "NotOlderThan") {
    return bad_option(field, "FieldValueNotSupported",
                      fmt::format("Unsupported value: {}: supported values: \"Exact\", \"NotOlderThan\", \"\"",
                                  json_quoted(options.version_match)));
  }
  if (options.version_match == "Exact" && options.version == "0") {
    return forbidden_when("resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"");
  }
  return std::nullopt;
}

constexpr std::string_view kBase64Url = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

std::string base64_url(std::string_view bytes) {
  std::string out;
  std::uint32_t bits = 0;
  int count = 0;
  for (const char byte : bytes) {
    bits = bits << 8 | static_cast<unsigned char>(byte);
    for (count += 8; count >= 6; count -= 6) out += kBase64Url[bits >> (count - 6) & 63];
  }
  if (count > 0) out += kBase64Url[bits << (6 - count) & 63];
  return out;
}

std::optional<std::string> from_base64_url(std::string_view text) {
  std::string out;
  std::uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    const std::size_t digit = kBase64Url.find(c);
    if (digit == std::string_view::npos) return std::nullopt;
    bits = bits << 6 | static_cast<std::uint32_t>(digit);
    if ((count += 6) >= 8) out += static_cast<char>(bits >> (count -= 8) & 255);
  }
  return out;
}

}  // namespace

const std::string* Query::find(std::string_view name) const {
  for (const auto& [key, value] : values) {
    if (key == name) return &value;
  }
  return nullptr;
}

std::string_view Query::get(std::string_view name) const {
  const std::string* value = find(name);
  return value == nullptr ? std::string_view() : *value;
}

bool Query::flag(std::string_view name) const {
  const std::string* value = find(name);
  return value != nullptr && lowered(*value) != "false" && *value != "0";
}

Target parse_target(std::string_view text) {
  Target target;
  const std::size_t mark = std::min(text.find('?'), text.size());
  target.path = decoded(text.substr(0, mark), false);
  if (mark < text.size()) target.query = parse_query(text.substr(mark + 1));
  std::vector<std::string> parts;
  // An escaped slash is one; the first and the last part are empty in "/api/v1/nodes/", and no other may be.
  for (const std::string& part : split(target.path, '/')) parts.push_back(part);
  if (!parts.empty() && parts.front().empty()) parts.erase(parts.begin());
  if (!parts.empty() && parts.back().empty()) parts.pop_back();
  if (std::find(parts.begin(), parts.end(), "") != parts.end()) return target;
  const bool resource = (parts.size() >= 3 && parts[0] == "api") || (parts.size() >= 4 && parts[0] == "apis");
  if (resource) read_segments(std::move(parts), target);
  return target;
}

Answered<std::uint64_t> parse_version(std::string_view text) {
  std::uint64_t version = 0;
  for (const char c : text) {
    if (c < '0' || c > '9' || version > UINT64_MAX / 10 - 1) {
      return tl::unexpected(internal_error(fmt::format("strconv.ParseUint: parsing {}: invalid syntax", json_quoted(text))));
    }
    version = version * 10 + static_cast<std::uint64_t>(c - '0');
  }
  return version;
}

Answered<ListOptions> parse_list_options(const Query& query) {
  ListOptions options{.label_selector = std::string(query.get("labelSelector")),
                      .field_selector = std::string(query.get("fieldSelector")),
                      .watch = query.flag("watch"),
                      .bookmarks = query.flag("allowWatchBookmarks"),
                      .initial_events = query.flag("sendInitialEvents"),
                      .version = std::string(query.get("resourceVersion")),
                      .version_match = std::string(query.get("resourceVersionMatch")),
                      .continue_token = std::string(query.get("continue"))};
  for (const auto& [name, value] : {std::pair{"limit", &options.limit}, {"timeoutSeconds", &options.timeout_s}}) {
    const std::string_view text = query.get(name);
    if (text.empty()) continue;
    const auto number = parse_int(text);
    if (!number) {
      return tl::unexpected(bad_request(fmt::format("strconv.ParseInt: parsing {}: invalid syntax", json_quoted(text))));
    }
    *value = *number;
  }
  if (auto failure = check_version_match(options, query.find("sendInitialEvents") != nullptr)) {
    return tl::unexpected(std::move(*failure));
  }
  return options;
}

std::string write_continue(const Continue& at) {
  OrderedJson token = {
      {"v", "meta.k8s.io/v1"}, {"rv", at.version == 0 ? -1 : static_cast<std::int64_t>(at.version)}, {"start", "/" + at.start}};
  if (at.left >= 0) token["left"] = at.left;
  return base64_url(to_text(token));
}

Answered<Continue> read_continue(std::string_view token) {
  const auto refused = [](std::string_view why) {
    return tl::unexpected(bad_request(fmt::format("invalid continue token: continue key is not valid: {}", why)));
  };
  const auto text = from_base64_url(token);
  if (!text) return refused("illegal base64 data");
  const auto json = parse_json(*text);
  if (!json || !json->is_object()) return refused("it is no JSON object");
  const std::string start = text_at(*json, "start");
  const auto version = json->find("rv");
  if (text_at(*json, "v") != "meta.k8s.io/v1") {
    return refused(fmt::format("server does not recognize this encoded version {}", text_at(*json, "v")));
  }
  if (start.empty()) return refused("missing start key");
  if (version == json->end() || !version->is_number_integer()) return refused("incorrect encoded start resourceVersion");
  const auto left = json->find("left");
  return Continue{.version = static_cast<std::uint64_t>(std::max<std::int64_t>(version->get<std::int64_t>(), 0)),
                  .start = start.substr(start.starts_with('/') ? 1 : 0),
                  .left = left != json->end() && left->is_number_integer() ? left->get<std::int64_t>() : -1};
}

}  // namespace nodeward::sim
