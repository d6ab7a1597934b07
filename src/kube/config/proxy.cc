#include "kube/config/proxy.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include "base/text.h"
#include "kube/config/server_url.h"

namespace nodeward::kube {
namespace {

// IPv4 as the IPv6 address that it is mapped to (RFC 4291, section 2.5.5.2), so that both compare alike.
using Address = std::array<std::uint8_t, 16>;

std::optional<Address> parse_address(std::string_view text) {
  const std::string copy(text.substr(0, text.find('%')));  // without its zone
  Address address{};
  if (inet_pton(AF_INET6, copy.c_str(), address.data()) == 1) return address;
  address[10] = address[11] = 0xff;
  if (inet_pton(AF_INET, copy.c_str(), address.data() + 12) == 1) return address;
  return std::nullopt;
}

bool same_start(const Address& a, const Address& b, int bits) {
  const auto bytes = bits / 8, rest = bits % 8;
  if (!std::equal(a.begin(), a.begin() + bytes, b.begin())) return false;
  return rest == 0 || (a[bytes] ^ b[bytes]) >> (8 - rest) == 0;
}

bool is_loopback(std::string_view host) {
  const auto address = parse_address(host);
  if (!address) return host == "localhost";
  return same_start(*address, *parse_address("127.0.0.0"), 96 + 8) || *address == *parse_address("::1");
}

struct HostAndPort {
  std::string_view host;  // without brackets
  std::string_view port;  // "": none
};

HostAndPort host_and_port(std::string_view text) {
  const auto colon = text.rfind(':');
  const bool bracketed = text.starts_with('[');
  if (bracketed) {
    const auto end = std::min(text.find(']'), text.size());
    return {text.substr(1, end - 1), colon != text.npos && colon > end ? text.substr(colon + 1) : std::string_view()};
  }
  if (colon == text.npos || text.find(':') != colon) return {text, {}};  // no port, or an IPv6 address without brackets
  return {text.substr(0, colon), text.substr(colon + 1)};
}

// nullopt: `entry` is no network.
std::optional<bool> network_has(std::string_view entry, const std::optional<Address>& address) {
  const auto slash = entry.find('/');
  if (slash == entry.npos) return std::nullopt;
  const auto network = parse_address(entry.substr(0, slash));
  const auto bits = parse_int(entry.substr(slash + 1));
  const int shift = entry.find(':') == entry.npos ? 96 : 0;
  if (!network || !bits || *bits < 0 || *bits > 128 - shift) return std::nullopt;
  return address && same_start(*network, *address, shift + static_cast<int>(*bits));
}

bool entry_names(std::string_view entry, std::string_view host, std::string_view port) {
  if (entry == "*") return true;
  const auto address = parse_address(host);
  if (const auto in_network = network_has(entry, address)) return *in_network;
  auto [name, wanted_port] = host_and_port(entry);
  if (name.empty() || (!wanted_port.empty() && wanted_port != port)) return false;
  if (const auto wanted = parse_address(name)) return address == wanted;
  if (name.starts_with("*.")) name.remove_prefix(1);
  if (name.starts_with('.')) return host.ends_with(name);
  return host == name || (host.ends_with(name) && host[host.size() - name.size() - 1] == '.');
}

std::string first_of(const EnvLookup& env, const char* upper, const char* lower) {
  const std::string value = env_value(env, upper);
  return value.empty() ? env_value(env, lower) : value;
}

}  // namespace

bool is_in_no_proxy(std::string_view list, std::string_view host, std::string_view port) {
  const std::string wanted = lowered(host);
  const auto entries = split(list, ',');
  return std::any_of(entries.begin(), entries.end(),
                     [&](const std::string& entry) { return entry_names(lowered(trimmed(entry)), wanted, port); });
}

Result<std::string> parse_proxy_url(std::string_view text) {
  constexpr std::string_view kForm =
      "it must look like http://host:3128 (or https://, socks5://; with user:password@ if need be)";
  const auto bad = [&](std::string_view what) { return fail(ErrorCode::kInvalid, fmt::format("{}; {}", what, kForm)); };
  const auto scheme_end = text.find("://");
  if (scheme_end == text.npos) return bad("has no scheme");
  std::string scheme = lowered(text.substr(0, scheme_end));
  const int default_port = scheme == "http" ? 80 : scheme == "https" ? 443 : 1080;
  if (scheme == "socks5") scheme = "socks5h";
  if (scheme != "http" && scheme != "https" && scheme != "socks5h") return bad("has a scheme that is not supported");
  std::string_view rest = text.substr(scheme_end + 3);
  if (rest.ends_with('/')) rest.remove_suffix(1);
  const auto at = rest.rfind('@');
  const std::string_view user = at == rest.npos ? std::string_view() : rest.substr(0, at + 1);
  const std::string_view authority = rest.substr(user.size());
  const auto forbidden = [](char c) { return c <= ' ' || c >= 0x7f || c == '/' || c == '?' || c == '#' || c == '\\'; };
  if (std::any_of(user.begin(), user.end(), forbidden))
    return bad("has characters in user or password that must be percent-encoded");
  if (const auto good = check_authority(authority); !good) return bad("has no valid host and port");
  const bool has_port = !host_and_port(authority).port.empty();
  return fmt::format("{}://{}{}{}", scheme, user, authority, has_port ? "" : fmt::format(":{}", default_port));
}

Result<std::string> proxy_from_environment(const std::string& origin, const EnvLookup& env) {
  const bool tls = origin.starts_with("https://");
  const auto [host, given_port] = host_and_port(std::string_view(origin).substr(origin.find("://") + 3));
  const std::string_view port = !given_port.empty() ? given_port : tls ? "443" : "80";
  std::string proxy = tls ? first_of(env, "HTTPS_PROXY", "https_proxy") : first_of(env, "HTTP_PROXY", "http_proxy");
  if (proxy.empty() || is_loopback(lowered(host)) || is_in_no_proxy(first_of(env, "NO_PROXY", "no_proxy"), host, port)) return "";
  if (proxy.find("://") == proxy.npos) proxy.insert(0, "http://");
  return parse_proxy_url(proxy).map_error([&](Error error) {
    return in_context(tls ? "HTTPS_PROXY (or https_proxy)" : "HTTP_PROXY (or http_proxy)", std::move(error));
  });
}

}  // namespace nodeward::kube
