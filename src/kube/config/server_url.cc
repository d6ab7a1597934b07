#include "kube/config/server_url.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace nodeward::kube {
namespace {

bool is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_';
}

bool is_name(std::string_view text) { return !text.empty() && std::all_of(text.begin(), text.end(), is_name_char); }

// What stands between the brackets; a zone is written %25eth0 (RFC 6874).
bool is_ipv6(std::string_view text) {
  const auto percent = text.find('%');
  if (percent != std::string_view::npos && (!text.substr(percent).starts_with("%25") || !is_name(text.substr(percent + 3))))
    return false;
  in6_addr ignored;
  return inet_pton(AF_INET6, std::string(text.substr(0, percent)).c_str(), &ignored) == 1;
}

bool is_port(std::string_view text) {
  if (text.empty() || text.find_first_not_of("0123456789") != std::string_view::npos) return false;
  const auto port = parse_int(text);
  return port && *port >= 1 && *port <= 65535;
}

}  // namespace

Result<> check_authority(std::string_view authority) {
  if (authority.find('@') != std::string_view::npos) {
    return fail(ErrorCode::kInvalid, "has a user name in it; give credentials as a user's token or client certificate");
  }
  const bool bracketed = authority.starts_with('[');
  const auto host_end = bracketed ? authority.find(']') : std::min(authority.find(':'), authority.size());
  if (host_end == std::string_view::npos) return fail(ErrorCode::kInvalid, "has a [ without its ]");
  if (bracketed ? !is_ipv6(authority.substr(1, host_end - 1)) : !is_name(authority.substr(0, host_end))) {
    return fail(ErrorCode::kInvalid,
                "has no valid host name or address; it must look like https://host:6443 or https://[2001:db8::1]:6443");
  }
  const std::string_view rest = authority.substr(bracketed ? host_end + 1 : host_end);
  if (!rest.empty() && !(rest.starts_with(':') && is_port(rest.substr(1)))) {
    return fail(ErrorCode::kInvalid,
                "has no valid port; it must be 1 to 65535, and an IPv6 address stands in brackets: https://[2001:db8::1]:6443");
  }
  return {};
}

Result<ServerUrl> parse_server_url(std::string_view text) {
  text = trimmed(text);
  if (text.empty()) return fail(ErrorCode::kInvalid, "is missing; it must look like https://host:6443");
  std::string scheme = "https";
  if (const auto end = text.find("://"); end != std::string_view::npos) {
    scheme = lowered(text.substr(0, end));
    text.remove_prefix(end + 3);
  }
  if (scheme != "https" && scheme != "http")
    return fail(ErrorCode::kInvalid, "must begin with https:// (or http:// for a local proxy)");
  const auto forbidden = [](char c) { return c <= ' ' || c >= 0x7f || c == '?' || c == '#' || c == '\\'; };
  if (std::any_of(text.begin(), text.end(), forbidden)) {
    return fail(ErrorCode::kInvalid, "must be https://host:port/path without query, fragment, blanks or non-ASCII characters");
  }
  const std::string_view authority = text.substr(0, text.find('/'));
  NW_TRY(check_authority(authority));
  std::string_view path = text.substr(authority.size());
  while (path.ends_with('/')) path.remove_suffix(1);
  return ServerUrl{fmt::format("{}://{}", scheme, authority), std::string(path)};
}

}  // namespace nodeward::kube
