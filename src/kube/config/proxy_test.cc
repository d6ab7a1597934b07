#include "kube/config/proxy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace nodeward::kube {
namespace {

using testing::HasSubstr;
using testing::Not;
using Environment = std::map<std::string, std::string>;

std::string proxy_for(const std::string& origin, const Environment& environment) {
  const auto proxy = proxy_from_environment(origin, [&](const char* name) {
    const auto found = environment.find(name);
    return found == environment.end() ? nullptr : found->second.c_str();
  });
  return proxy ? *proxy : proxy.error().message;
}

TEST(ProxyUrl, GetsAPortAndSocksResolvesAtTheProxy) {
  EXPECT_EQ(parse_proxy_url("http://proxy:3128").value(), "http://proxy:3128");
  EXPECT_EQ(parse_proxy_url("HTTP://proxy/").value(), "http://proxy:80");
  EXPECT_EQ(parse_proxy_url("https://u:p@proxy").value(), "https://u:p@proxy:443");
  EXPECT_EQ(parse_proxy_url("socks5://[2001:db8::1]").value(), "socks5h://[2001:db8::1]:1080");
  EXPECT_EQ(parse_proxy_url("http://u:p%40x@[::1]:1").value(), "http://u:p%40x@[::1]:1");
}

TEST(ProxyUrl, IsRefusedWithoutBeingShown) {
  for (const char* text : {"hunter2", "ftp://hunter2@p", "http://u:hunter2@", "http://u:hunter2@p:0", "http://u:hunter2@p/x",
                           "http://u:hun/ter2@p", "http://u:hunter2 @p", "http://hunter2@p?x", "socks4://hunter2", "http://"}) {
    const auto proxy = parse_proxy_url(text);
    ASSERT_FALSE(proxy) << text;
    EXPECT_THAT(proxy.error().message, testing::AllOf(HasSubstr("must look like http://host:3128"), Not(HasSubstr("hunter2"))));
  }
}

TEST(ProxyFromEnvironment, IsChosenByTheServersScheme) {
  const Environment both = {{"HTTPS_PROXY", "http://s:1"}, {"http_proxy", "p:2"}};
  EXPECT_EQ(proxy_for("https://host:6443", both), "http://s:1");
  EXPECT_EQ(proxy_for("http://host", both), "http://p:2");
  EXPECT_EQ(proxy_for("https://host", {{"HTTP_PROXY", "http://p:2"}}), "");
  EXPECT_EQ(proxy_for("https://host", {{"HTTPS_PROXY", "http://a:1"}, {"https_proxy", "http://b:1"}}), "http://a:1");
  EXPECT_THAT(proxy_for("https://host", {{"https_proxy", "ftp://hunter2@x"}}),
              testing::AllOf(testing::StartsWith("HTTPS_PROXY (or https_proxy): has a scheme"), Not(HasSubstr("hunter2"))));
}

TEST(ProxyFromEnvironment, IsNeverUsedForThisMachine) {
  for (const char* origin : {"https://localhost:6443", "https://LOCALHOST", "https://127.0.0.1:6443", "https://127.1.2.3",
                             "https://[::1]:6443", "https://[::ffff:127.0.0.1]"}) {
    EXPECT_EQ(proxy_for(origin, {{"HTTPS_PROXY", "http://s:1"}}), "") << origin;
  }
  EXPECT_EQ(proxy_for("https://localhost.example.net", {{"HTTPS_PROXY", "http://s:1"}}), "http://s:1");
}

TEST(ProxyFromEnvironment, KeepsToNoProxyInEitherCase) {
  const Environment lower = {{"HTTPS_PROXY", "http://s:1"}, {"no_proxy", "10.0.0.0/8,k8s.example.net:6443"}};
  EXPECT_EQ(proxy_for("https://10.1.2.3", lower), "");
  EXPECT_EQ(proxy_for("https://11.1.2.3", lower), "http://s:1");
  EXPECT_EQ(proxy_for("https://k8s.example.net:6443", lower), "");
  EXPECT_EQ(proxy_for("https://k8s.example.net", lower), "http://s:1");  // port 443
}

struct NoProxy {
  const char* list;
  const char* host;
  bool named;
};

constexpr NoProxy kNoProxy[] = {
    {"", "a.example.net", false},
    {"*", "a.example.net", true},
    {"other, EXAMPLE.net", "A.example.net", true},  // a name has all below it
    {"example.net", "example.net", true},
    {"example.net", "badexample.net", false},
    {".example.net", "example.net", false},
    {".example.net", "a.example.net", true},
    {"*.example.net", "example.net", false},
    {"*.example.net", "a.b.example.net", true},
    {"example.net:6443", "a.example.net", true},
    {"example.net:443", "a.example.net", false},
    {"10.0.0.1", "10.0.0.1", true},
    {"10.0.0.1", "10.0.0.10", false},
    {"10.0.0.1:6443", "10.0.0.1", true},
    {"10.0.0.1:443", "10.0.0.1", false},
    {"10.0.0.0/9", "10.127.0.1", true},
    {"10.0.0.0/9", "10.128.0.1", false},
    {"0.0.0.0/0", "192.0.2.1", true},
    {"0.0.0.0/0", "2001:db8::1", false},
    {"10.0.0.0/33", "10.0.0.0", false},
    {"2001:db8::/32", "2001:db8:1::1", true},
    {"2001:db8::/32", "2001:db9::1", false},
    {"[2001:db8::1]", "2001:0db8::1", true},
    {"2001:db8::1", "2001:db8::1", true},
    {"[2001:db8::1]:443", "2001:db8::1", false},
    {":6443", "a.example.net", false},
    {"::ffff:10.0.0.1", "10.0.0.1", true},
};

TEST(NoProxy, IsReadAsGoReadsIt) {
  for (const auto& [list, host, named] : kNoProxy) EXPECT_EQ(is_in_no_proxy(list, host, "6443"), named) << list << " " << host;
}

}  // namespace
}  // namespace nodeward::kube
