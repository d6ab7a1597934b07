// Who may, what is counted, what the server says of itself; each as recorded from a real kube-apiserver 1.36.
#include "sim/api_server.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "sim/api_fixture.h"

namespace nodeward::sim {
namespace {

using testing::HasSubstr;

TEST_F(Api, TokensDecideWhoMayWhat) {
  EXPECT_EQ(call("GET", "/api/v1/nodes", "", {{"authorization", "Bearer wrong"}}).status, 401);
  const std::map<std::string, std::string> powerless = {{"authorization", "Bearer nobody"}};
  EXPECT_EQ(call("GET", "/api/v1/nodes", "", powerless).message(),
            "nodes is forbidden: User \"powerless\" cannot list resource \"nodes\" in API group \"\" at the cluster scope");
  EXPECT_EQ(call("PATCH", "/api/v1/nodes/p/status", "{}", powerless).message(),
            "nodes \"p\" is forbidden: User \"powerless\" cannot patch resource \"nodes/status\" in API group \"\" at the "
            "cluster scope");
  EXPECT_EQ(call("GET", "/apis/apps/v1/namespaces/x/daemonsets?watch=1", "", powerless).message(),
            "daemonsets.apps is forbidden: User \"powerless\" cannot watch resource \"daemonsets\" in API group \"apps\" in the "
            "namespace \"x\"");
  EXPECT_EQ(call("GET", "/api/v1", "", powerless).status, 200);
  const std::map<std::string, std::string> anonymous = {{"authorization", ""}};
  EXPECT_EQ(call("GET", "/readyz", "", anonymous).body, "ok");
  EXPECT_EQ(call("GET", "/version", "", anonymous).status, 200);
  EXPECT_EQ(call("GET", "/api", "", anonymous).message(), "forbidden: User \"system:anonymous\" cannot get path \"/api\"");
  EXPECT_EQ(call("GET", "/api/v1/nodes", "", anonymous).status, 403);
}

TEST_F(Api, RequestsAreCountedAsTheRealServerCountsThem) {
  node("a");
  get("/api/v1/nodes");
  open("GET", "/api/v1/nodes?watch=1&timeoutSeconds=1");
  patch("/api/v1/nodes/zz", "{}");
  const std::string text = get("/metrics").body;
  for (
      const char* line :
      {R"(code="201",component="apiserver",dry_run="",group="",resource="nodes",scope="resource",subresource="",verb="POST",version="v1"} 1)",
       R"(resource="nodes",scope="cluster",subresource="",verb="LIST",version="v1"} 1)",
       R"(resource="nodes",scope="cluster",subresource="",verb="WATCH",version="v1"} 1)",
       R"(code="404",component="apiserver",dry_run="",group="",resource="nodes",scope="resource",subresource="",verb="PATCH",version="v1"} 1)"}) {
    EXPECT_THAT(text, HasSubstr(line));
  }
}

TEST_F(Api, DiscoveryNamesEachResource) {
  EXPECT_EQ(get("/apis").json()["groups"].size(), 4U);
  EXPECT_EQ(get("/apis/apps").json()["preferredVersion"]["groupVersion"], "apps/v1");
  EXPECT_THAT(get("/api/v1").body, HasSubstr(R"("name":"nodes/status")"));
  EXPECT_EQ(get("/apis/apps/v2").reason(), "NotFound");
}

TEST_F(Api, WordsThatClientsMakeUpAreNotCountedOneByOne) {
  const auto make_up = [&](int i) {
    const std::map<std::string, std::string> anonymous = {{"authorization", ""}};
    call(fmt::format("M{}", i), "/api/v1/nodes/a");
    get(fmt::format("/api/v1/resource{}", i));
    get(fmt::format("/apis/group{}/v{}/nodes", i, i));
    get(fmt::format("/api/v1/nodes/a/sub{}", i));
    get(fmt::format("/livez/check%22%0a{}", i));
    get(fmt::format("/livez{}", i));
    call("GET", fmt::format("/path{}", i), "", anonymous);
    call("GET", fmt::format("/api/v1/resource{}", i), "", anonymous);
  };
  make_up(0);
  const std::size_t kinds = server.counters().all().size();
  for (int i = 1; i < 20; ++i) make_up(i);
  EXPECT_EQ(server.counters().all().size(), kinds);
}

}  // namespace
}  // namespace nodeward::sim
