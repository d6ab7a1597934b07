#include "kube/config/server_url.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace nodeward::kube {
namespace {

struct Good {
  const char* text;
  const char* origin;
  const char* path_prefix;
};

constexpr Good kGood[] = {
    {"https://k8s.example.net:6443", "https://k8s.example.net:6443", ""},
    {"https://k8s.example.net:6443/", "https://k8s.example.net:6443", ""},
    {" https://k8s.example.net:6443//\n", "https://k8s.example.net:6443", ""},
    {"https://proxy/k8s/clusters/c-1/", "https://proxy", "/k8s/clusters/c-1"},
    {"HTTPS://Proxy", "https://Proxy", ""},
    {"k8s.example.net:6443", "https://k8s.example.net:6443", ""},
    {"localhost:8080", "https://localhost:8080", ""},
    {"k8s_1.example.net/a", "https://k8s_1.example.net", "/a"},
    {"http://127.0.0.1:8001", "http://127.0.0.1:8001", ""},
    {"https://[2001:db8::10]", "https://[2001:db8::10]", ""},
    {"https://[::ffff:192.0.2.1]:1/x", "https://[::ffff:192.0.2.1]:1", "/x"},
    {"https://[fe80::1%25eth0]:6443", "https://[fe80::1%25eth0]:6443", ""},
};

TEST(ServerUrl, IsTakenApart) {
  for (const auto& [text, origin, path_prefix] : kGood) {
    const auto url = parse_server_url(text);
    ASSERT_TRUE(url) << text << ": " << url.error().message;
    EXPECT_EQ(url->origin, origin) << text;
    EXPECT_EQ(url->path_prefix, path_prefix) << text;
  }
}

TEST(ServerUrl, WhatCouldBeReadInTwoWaysIsRefused) {
  for (const char* text : {"",
                           " ",
                           "https://",
                           "https:///x",
                           "ftp://host",
                           "://host",
                           "unix:///run/x.sock",
                           "https://user:hunter2@host",
                           "https://host:",
                           "https://host:0",
                           "https://host:65536",
                           "https://host:99999999999999999999",
                           "https://host:+1",
                           "https://host:6443x",
                           "https://2001:db8::10",
                           "https://2001:db8::10:6443",
                           "https://[2001:db8::10",
                           "https://[2001:db8::10]6443",
                           "https://[fe80::1%eth0]:6443",
                           "https://[fe80::1%25]:6443",
                           "https://[host]",
                           "https://[]",
                           "https://a b",
                           "https://host/a b",
                           "https://host/?x=1",
                           "https://host#x",
                           "https://host\\x",
                           "https://host\r\nX: y",
                           "https://h\xc3\xb6st",
                           "https://host@"}) {
    const auto url = parse_server_url(text);
    ASSERT_FALSE(url) << text << " -> " << url->origin;
    EXPECT_THAT(url.error().message, testing::Not(testing::HasSubstr("hunter2")));
  }
}

}  // namespace
}  // namespace nodeward::kube
