// The API server's storage is restored from an old backup: the versions that were seen are yet to come, and a watch from one of them
// is silent for ever. The client finds out and reads what is there.
#include <gmock/gmock.h>

#include <set>
#include <thread>

#include "api/real_cluster.h"
#include "base/guarded.h"
#include "kube/reflector.h"
#include "net/curl_transport.h"

namespace nodeward::api {
namespace {

class Names final : public kube::Sink<kube::Node> {
 public:
  void list_begins() override {
    names_.with([](auto& names) { names.clear(); });
  }
  void apply(kube::Node node) override {
    names_.with([&](auto& names) { names.insert(node.name.str()); });
  }
  void remove(const kube::Node& node) override {
    names_.with([&](auto& names) { names.erase(node.name.str()); });
  }
  void unreadable(const kube::Node&) override {}
  void list_ends(const kube::ResourceVersion&) override { ++lists; }
  std::set<std::string> all() const {
    return names_.with([](const auto& names) { return names; });
  }
  std::atomic<int> lists = 0;

 private:
  Guarded<std::set<std::string>> names_;
};

using ARestoredServer = ClusterTest;

bool soon(const std::function<bool()>& holds) {
  for (int i = 0; i < 2000 && !holds(); ++i) std::this_thread::sleep_for(10ms);
  return holds();
}

TEST_F(ARestoredServer, IsReadAnewWithoutARestart) {
  for (int i = 0; i < 100; ++i) admin().create_node({{"metadata", {{"name", "old-" + std::to_string(i)}}}});
  const auto transport = net::make_curl_transport({.origin = cluster().origin(), .ca_pem = cluster().ca_cert()});
  kube::Client client(*transport, {.authorization = [this](const auto&) { return "Bearer " + cluster().token(); }},
                      Clock::real());
  Names names;
  kube::Reflector<kube::Node> reflector(client, {.name = "nodes", .path = "/api/v1/nodes"}, kube::make_node_decoder({}), names,
                                        Clock::real(), {.silence_in_doubt = 3s});
  std::jthread reading([&](const std::stop_token& stop) { reflector.run(stop); });
  ASSERT_TRUE(soon([&] { return names.lists == 1; }));

  dynamic_cast<RealCluster&>(cluster()).restore_empty_storage();
  admin().create_node({{"metadata", {{"name", "new"}}}});
  EXPECT_TRUE(soon([&] { return names.all() == std::set<std::string>{"new"}; })) << testing::PrintToString(names.all());
  EXPECT_EQ(names.lists, 2);
}

}  // namespace
}  // namespace nodeward::api
