// The client under churn: four watches of 200 nodes that change all the time, on a server that goes away and comes back. Whatever
// happened in between, every watch ends with what the server has. Meant for ThreadSanitizer (scripts/test.sh --preset tsan --only
// churn --long: 60 s); in an ordinary run a few seconds of it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <map>
#include <memory>
#include <random>
#include <thread>

#include "kube/client.h"

#include "kube/reflector.h"
#include "net/curl_transport.h"
#include "nodes/node_view.h"
#include "nodes/node_writer.h"
#include "sim/simulation.h"

namespace nodeward {
namespace {

constexpr int kNodes = 200;
constexpr int kWatches = 4;

std::string name_of(int number) { return fmt::format("n{:03}", number); }

Json node_json(int number) {
  return {{"kind", "Node"}, {"apiVersion", "v1"}, {"metadata", {{"name", name_of(number)}, {"labels", {{"turn", "0"}}}}}};
}

// A watch of all nodes into a view of its own.
struct Watch {
  explicit Watch(kube::Client& client)
      : reflector(client, {.name = "nodes", .path = "/api/v1/nodes"},
                  kube::make_node_decoder({.labels = {.all = true, .keys = {}}, .spec = true}), view, Clock::real(),
                  {.backoff = {.first = 20ms, .most = 200ms, .factor = 2.0, .jitter = 0.2}, .lists_per_minute = 1000}),
        thread([this](const std::stop_token& stop) { reflector.run(stop); }) {}
  nodes::NodeView view{[this](const kube::NodeName&, const auto&) { ++changes; }};
  std::atomic<long> changes = 0;
  kube::Reflector<kube::Node> reflector;
  std::jthread thread;
};

class Churn : public testing::Test {
 protected:
  Churn()
      : simulation_(sim::Simulation::start({}).value()),
        transport_(net::make_curl_transport({.origin = simulation_->origin(), .ca_pem = simulation_->ca_pem()})),
        client_(*transport_,
                {.authorization = [this](const auto&) { return Result<std::string>("Bearer " + simulation_->token()); }},
                Clock::real()) {
    Json list{{"kind", "List"}, {"apiVersion", "v1"}, {"items", Json::array()}};
    for (int i = 0; i < kNodes; ++i) list["items"].push_back(node_json(i));
    EXPECT_TRUE(simulation_->load(list, "the test"));
  }

  // What another client does: labels, deletes, makes anew. Its failures while the server is away are its own.
  void disturb(const std::stop_token& stop, unsigned seed) {
    std::mt19937 random(seed);
    for (int turn = 0; !stop.stop_requested(); ++turn) {
      const int number = static_cast<int>(random() % kNodes);
      const std::string path = "/api/v1/nodes/" + name_of(number);
      if (random() % 20 == 0) {
        (void)client_.send({.method = "DELETE", .path = path, .timeout = 2s}, stop);
        (void)client_.send({.method = "POST",
                            .path = "/api/v1/nodes",
                            .headers = {{"Content-Type", "application/json"}},
                            .body = to_text(node_json(number)),
                            .timeout = 2s},
                           stop);
      } else {
        (void)client_.send({.method = "PATCH",
                            .path = path,
                            .headers = {{"Content-Type", "application/merge-patch+json"}},
                            .body = fmt::format(R"({{"metadata":{{"labels":{{"turn":"{}"}}}}}})", turn),
                            .timeout = 2s},
                           stop);
      }
    }
  }

  // The product's own writer, on the view of the first watch.
  void write(Watch& watch, const std::stop_token& stop) {
    nodes::NodeWriter writer(
        client_, watch.view, Clock::real(),
        {.field_manager = "churn", .selection = {.labels = {.all = true, .keys = {}}, .spec = true}, .qps = -1},
        [](const kube::NodeName&) {});
    for (int turn = 0; !stop.stop_requested(); ++turn) {
      const kube::NodeName name(name_of(turn % kNodes));
      writer.apply(
          name,
          [&](const kube::Node& node) {
            return std::move(nodes::NodePatch(node.name)
                                 .label("ours", std::to_string(turn / kNodes))
                                 .add_taint({"ours", "x", "NoSchedule", ""}));
          },
          stop);
    }
  }

  // By name: the version of each node, as the server has it.
  std::map<std::string, std::string> truth() {
    const auto answer = client_.send({.path = "/api/v1/nodes"}, {});
    std::map<std::string, std::string> versions;
    if (!answer) return versions;
    const Json list = parse_json(answer->body).value();
    for (const Json& node : list["items"]) versions[node["metadata"]["name"]] = node["metadata"]["resourceVersion"];
    return versions;
  }
  static std::map<std::string, std::string> seen(const Watch& watch) {
    std::map<std::string, std::string> versions;
    for (const kube::NodeName& name : watch.view.names()) {
      if (const auto node = watch.view.freshest(name)) versions[name.str()] = node->version.str();
    }
    return versions;
  }

  std::unique_ptr<sim::Simulation> simulation_;
  std::unique_ptr<net::Transport> transport_;
  kube::Client client_;
};

TEST_F(Churn, FourWatchesKeepUpWithTwoHundredNodesAndServerRestarts) {
  const bool at_length = std::getenv("NODEWARD_LONG") != nullptr;
  std::vector<std::unique_ptr<Watch>> watches;
  for (int i = 0; i < kWatches; ++i) watches.push_back(std::make_unique<Watch>(client_));
  {
    std::jthread first([&](const std::stop_token& stop) { disturb(stop, 1); });
    std::jthread second([&](const std::stop_token& stop) { disturb(stop, 2); });
    std::jthread writer([&](const std::stop_token& stop) { write(*watches.front(), stop); });
    const MonoTime end = Clock::real().now() + (at_length ? 60s : 3s);
    for (int round = 0; Clock::real().now() < end; ++round) {
      std::this_thread::sleep_for(500ms);  // other threads at work: no clock to fake
      if (round % 3 == 2) simulation_->compact();
      simulation_->shut();
      std::this_thread::sleep_for(100ms);
      ASSERT_TRUE(simulation_->open_again());
    }
  }
  const auto wanted = truth();
  EXPECT_GT(wanted.size(), kNodes / 2);
  for (const auto& watch : watches) {
    for (int i = 0; i < 3000 && seen(*watch) != wanted; ++i) std::this_thread::sleep_for(10ms);
    EXPECT_EQ(seen(*watch), wanted);
    EXPECT_GT(watch->changes, kNodes);
  }
}

}  // namespace
}  // namespace nodeward
