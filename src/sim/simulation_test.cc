#include "sim/simulation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "base/fake_clock.h"
#include "base/text.h"
#include "net/curl_transport.h"

namespace nodeward::sim {
namespace {

using testing::HasSubstr;

const std::string kExampleNodes = NW_SOURCE_DIR "/tests/data/examples/nodes.json";

std::unique_ptr<Simulation> started(SimulationOptions options = {}) { return Simulation::start(std::move(options)).value(); }

std::string loaded(const char* document) {
  const auto result = started({.tls = false})->load(Json::parse(document), "x.json");
  return result ? "" : result.error().message;
}

net::Response get(const Simulation& sim, const std::string& path) {
  const auto transport = net::make_curl_transport({.origin = sim.origin(), .ca_pem = sim.ca_pem()});
  return transport->send({.path = path, .headers = {{"Authorization", "Bearer " + sim.token()}}}, {}).value();
}

TEST(Simulation, ServesWhatItWasGiven) {
  for (const bool tls : {true, false}) {
    const auto sim = started({.tls = tls});
    ASSERT_TRUE(sim->load_file(kExampleNodes));
    ASSERT_TRUE(sim->multiply_nodes(20));
    ASSERT_TRUE(sim->add_pods(2));
    EXPECT_EQ(Json::parse(get(*sim, "/api/v1/nodes").body)["items"].size(), 20U);
    EXPECT_EQ(Json::parse(get(*sim, "/api/v1/pods?fieldSelector=spec.nodeName%3Dgpu-a-001").body)["items"].size(), 2U);
    EXPECT_EQ(sim->counters().sum("LIST", "nodes"), 1U);
  }
}

TEST(Simulation, ACopiedNodeIsANodeOfItsOwn) {
  const auto sim = started({.tls = false});
  ASSERT_TRUE(sim->load_file(kExampleNodes));
  ASSERT_TRUE(sim->multiply_nodes(7));
  const Json model = Json::parse(get(*sim, "/api/v1/nodes/cpu-c-001").body);
  const Json copy = Json::parse(get(*sim, "/api/v1/nodes/cpu-c-001-000006").body);
  EXPECT_NE(copy["metadata"]["uid"], model["metadata"]["uid"]);
  EXPECT_NE(copy["spec"]["providerID"], model["spec"]["providerID"]);
  EXPECT_EQ(copy["metadata"]["labels"]["kubernetes.io/hostname"], "cpu-c-001-000006");
  EXPECT_EQ(copy["status"]["addresses"][0]["address"], "10.0.0.6");
  EXPECT_EQ(copy["status"]["images"], model["status"]["images"]);
}

TEST(Simulation, LoadingNamesWhatIsWrong) {
  EXPECT_EQ(loaded(R"({"kind":"List","apiVersion":"v1","items":[{"kind":"Node","apiVersion":"v1","metadata":{"name":"a"}},
                       {"kind":"Secret","apiVersion":"v1"}]})"),
            "x.json: items[1]: kind \"Secret\" of \"v1\" is none that the simulation has: ConfigMap, DaemonSet, Event, Lease, "
            "Namespace, Node, Pod, ResourceSlice");
  EXPECT_EQ(loaded("[]"), "x.json: not a Kubernetes object: it has no \"kind\"");
  EXPECT_EQ(loaded(R"({"kind":"NodeList","apiVersion":"v1"})"), "x.json: a NodeList without a list of \"items\"");
  EXPECT_THAT(loaded(R"({"kind":"Node","apiVersion":"v1","metadata":{"name":"A"}})"), HasSubstr("x.json: Node \"A\" is invalid"));
  EXPECT_EQ(loaded(R"({"kind":"NodeList","apiVersion":"v1","items":[{"metadata":{"name":"a"}}]})"), "");
}

TEST(Simulation, WritesAKubeconfigForItsOwnerOnly) {
  const auto sim = started();
  const std::filesystem::path file = std::filesystem::path(testing::TempDir()) / "sim-kubeconfig";
  std::ofstream(file) << "older";                 // with whatever mode
  ASSERT_TRUE(sim->write_kubeconfig(file));
  struct stat status {};
  ASSERT_EQ(::stat(file.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600U);
  const std::string text = read_file(file).value();
  EXPECT_THAT(text, HasSubstr("server: " + sim->origin()));
  EXPECT_THAT(text, HasSubstr("certificate-authority-data: "));
  std::filesystem::remove(file);
  EXPECT_THAT(sim->write_kubeconfig("/nowhere/x").error().message, HasSubstr("cannot write /nowhere/x: No such file"));
}

TEST(Simulation, HeartbeatsGoRoundTheNodes) {
  FakeClock clock;
  Store store;
  Writer writer(store, clock);
  Fleet fleet(store, writer, clock);
  const Json condition = {{"type", "Ready"}, {"status", "True"}};
  for (const char* name : {"a", "b", "c"}) {
    ASSERT_TRUE(fleet.load(
        {{"kind", "Node"}, {"apiVersion", "v1"}, {"metadata", {{"name", name}}}, {"status", {{"conditions", {condition}}}}},
        "x"));
  }
  fleet.heartbeat(2);
  clock.advance(1min);
  fleet.heartbeat(2);
  const Resource& nodes = *find_resource("", "v1", "nodes");
  const auto beat = [&](const char* name) {
    return store.find(nodes, name)->at({"status", "conditions"}).items()[0].at("lastHeartbeatTime").text();
  };
  EXPECT_EQ(beat("a"), "2026-09-01T07:01:00Z");
  EXPECT_EQ(beat("b"), "2026-09-01T07:00:00Z");
  EXPECT_EQ(beat("c"), "2026-09-01T07:01:00Z");
}

TEST(Simulation, AFilterStandsInFront) {
  const auto sim = started({.tls = false});
  sim->set_filter([](const std::shared_ptr<wire::Exchange>& exchange, const Simulation::Next& next) {
    if (exchange->request().target.starts_with("/version")) return exchange->answer({.status = 503});
    next(exchange);
  });
  EXPECT_EQ(get(*sim, "/version").status, 503);
  EXPECT_EQ(get(*sim, "/readyz").status, 200);
}

TEST(Simulation, ComesBackOnTheSamePort) {
  const auto sim = started({.tls = false});
  const std::string origin = sim->origin();
  sim->shut();
  ASSERT_TRUE(sim->open_again());
  EXPECT_EQ(sim->origin(), origin);
  EXPECT_EQ(get(*sim, "/readyz").status, 200);
}

TEST(Simulation, CopiesTakeNobodysPlace) {
  const auto sim = started({.tls = false});
  ASSERT_TRUE(sim->load(Json::parse(R"({"kind":"NodeList","apiVersion":"v1","items":[
                {"metadata":{"name":"a","labels":{"own":"1"}}},{"metadata":{"name":"a-000002","labels":{"own":"2"}}}]})"),
                        "x.json"));
  ASSERT_TRUE(sim->load(Json::parse(R"({"kind":"Pod","apiVersion":"v1","metadata":{"name":"p-000001","labels":{"own":"3"}},
                                        "spec":{"containers":[{"name":"c"}]}})"),
                        "x.json"));
  ASSERT_TRUE(sim->load(Json::parse(R"({"kind":"Pod","apiVersion":"v1","metadata":{"name":"p"},
                                        "spec":{"containers":[{"name":"c"}]}})"),
                        "x.json"));
  ASSERT_TRUE(sim->multiply_nodes(5));
  ASSERT_TRUE(sim->add_pods(2));
  EXPECT_EQ(Json::parse(get(*sim, "/api/v1/nodes").body)["items"].size(), 5U);
  EXPECT_EQ(Json::parse(get(*sim, "/api/v1/nodes/a-000002").body)["metadata"]["labels"]["own"], "2");
  EXPECT_EQ(Json::parse(get(*sim, "/api/v1/pods").body)["items"].size(), 12U);
  EXPECT_EQ(Json::parse(get(*sim, "/api/v1/namespaces/default/pods/p-000001").body)["metadata"]["labels"]["own"], "3");
}

TEST(Simulation, ACopyThatWouldBeIllegalIsRefused) {
  const auto sim = started({.tls = false});
  ASSERT_TRUE(sim->load({{"kind", "Node"}, {"apiVersion", "v1"}, {"metadata", {{"name", std::string(250, 'a')}}}}, "x.json"));
  EXPECT_THAT(sim->multiply_nodes(2).error().message, HasSubstr("metadata.name"));
}

TEST(Simulation, ANamespaceThatCannotBeIsRefused) {
  EXPECT_THAT(loaded(R"({"kind":"Pod","apiVersion":"v1","metadata":{"name":"p","namespace":"A/b"},
                         "spec":{"containers":[{"name":"c"}]}})"),
              HasSubstr("metadata.namespace: Invalid value: \"A/b\""));
}

TEST(Simulation, LeavesTheKubeconfigOfARealClusterAlone) {
  const auto sim = started();
  const std::filesystem::path file = std::filesystem::path(testing::TempDir()) / "real-kubeconfig";
  const std::string real = "apiVersion: v1\nkind: Config\nclusters: []\ncurrent-context: production\n";
  std::ofstream(file) << real;
  EXPECT_THAT(sim->write_kubeconfig(file).error().message, HasSubstr("real-kubeconfig: is the kubeconfig of something else"));
  EXPECT_EQ(read_file(file).value(), real);
  std::filesystem::remove(file);
  ASSERT_TRUE(sim->write_kubeconfig(file));
  EXPECT_TRUE(sim->write_kubeconfig(file)) << "its own";
  std::filesystem::remove(file);
}

TEST(Store, ForgetsOldChangesByTheirBytesToo) {
  Store store(1'000, 100'000);
  const Resource& nodes = *find_resource("", "v1", "nodes");
  const Shelf& shelf = store.shelf(nodes);
  const auto put = [&](int count, std::size_t bytes) {
    for (int i = 0; i < count; ++i) {
      const Json node = {{"metadata", {{"name", "a"}, {"annotations", {{"x", std::to_string(i) + std::string(bytes, 'y')}}}}}};
      store.put(nodes, "a", Doc::from(node));
    }
    return shelf.end_change() - shelf.first_change();
  };
  EXPECT_EQ(put(20, 10), 20U);
  const auto kept = put(50, 10'000);
  EXPECT_GE(kept, 5U);
  EXPECT_LE(kept, 10U);
  EXPECT_FALSE(shelf.change_after(1)) << "a watch from there is told that it is too old";
  EXPECT_EQ(put(1, 200'000), kept) << "what is replaced counts, not what is alive";
  EXPECT_EQ(put(1, 10), 1U);
}

}  // namespace
}  // namespace nodeward::sim
