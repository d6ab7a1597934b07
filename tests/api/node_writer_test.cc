// NodeWriter on the real API server: the race for the taint list (R01), keys as they come (R34), and the answers that a real
// server gives. Transport, client, reflector and view are the product's.
#include "nodes/node_writer.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <atomic>
#include <cstdlib>
#include <iostream>
#include <thread>

#include "api/cluster.h"
#include "api/controller_process.h"
#include "api/labeler_objects.h"
#include "api/other_controller.h"
#include "kube/reflector.h"
#include "net/curl_transport.h"

namespace nodeward::api {
namespace {

using kube::Node;
using kube::NodeName;
using nodes::Later;
using nodes::NodePatch;
using nodes::NodeWriter;
using nodes::Outcome;
using nodes::Unchanged;
using nodes::Written;
using testing::HasSubstr;
using testing::Not;

std::string path_of(const std::string& node) { return "/api/v1/nodes/" + node; }

// Passes everything on, and remembers the bodies of patches; can take the guard out of them.
class WatchedTransport final : public net::Transport {
 public:
  explicit WatchedTransport(std::unique_ptr<net::Transport> real) : real_(std::move(real)) {}
  bool unguarded = false;

  Result<net::Response> send(const net::Request& request, const std::stop_token& stop) override {
    net::Request passed = request;
    if (request.method == "PATCH") {
      Json body = parse_json(request.body).value();
      if (unguarded) body["metadata"].erase("resourceVersion");
      bodies_.with([&](auto& bodies) { bodies.push_back(body); });
      passed.body = to_text(body);
    }
    return real_->send(passed, stop);
  }
  Result<std::unique_ptr<net::Stream>> open(const net::Request& request, const std::stop_token& stop) override {
    return real_->open(request, stop);
  }
  std::vector<Json> take_bodies() {
    return bodies_.with([](auto& bodies) { return std::exchange(bodies, {}); });
  }

 private:
  std::unique_ptr<net::Transport> real_;
  Guarded<std::vector<Json>> bodies_;
};

class NodeWriterOnTheServer : public ClusterTest {
 protected:
  const kube::NodeSelection selection_{
      .labels = {.all = true, .keys = {}}, .annotations = {.all = true, .keys = {}}, .spec = true};
  WatchedTransport transport_{net::make_curl_transport({.origin = cluster().origin(), .ca_pem = cluster().ca_cert()})};
  std::string token_ = cluster().token();
  kube::Client client_{
      transport_, {.authorization = [this](const std::stop_token&) { return "Bearer " + token_; }}, Clock::real()};
  nodes::NodeView view_{[](const NodeName&, const std::shared_ptr<const Node>&) {}};
  std::atomic<int> patches_ = 0;
  std::atomic<int> gets_ = 0;
  std::atomic<int> conflicts_ = 0;
  NodeWriter writer_{client_,
                     view_,
                     Clock::real(),
                     {.field_manager = "fault-quarantine",
                      .selection = selection_,
                      .qps = -1,
                      .on_attempt = [this](const nodes::Attempt& attempt) { count(attempt); }},
                     [](const NodeName&) {}};
  std::unique_ptr<kube::Reflector<Node>> reader_;
  std::jthread reading_;

  ~NodeWriterOnTheServer() override { reading_ = {}; }

  void count(const nodes::Attempt& attempt) {
    ++(attempt.verb == "PATCH" ? patches_ : gets_);
    if (attempt.error != nullptr && attempt.error->code == ErrorCode::kConflict) ++conflicts_;
  }
  void watch() {
    reader_ = std::make_unique<kube::Reflector<Node>>(client_, kube::Resource{"nodes", "/api/v1/nodes"},
                                                      kube::make_node_decoder(selection_), view_, Clock::real());
    reading_ = std::jthread([this](const std::stop_token& stop) { reader_->run(stop); });
    await("the nodes read", [&] { return reader_->synced(); });
  }
  // What the cache would hold had the watch shown nothing newer.
  void know(const std::string& node) {
    view_.apply(*kube::make_node_decoder(selection_)->object(admin().get(path_of(node)).body));
  }
  Outcome apply(const std::string& node, const std::function<void(NodePatch&)>& want) {
    return writer_.apply(NodeName(node),
                         [&](const Node& freshest) {
                           NodePatch patch(freshest.name);
                           want(patch);
                           return patch;
                         },
                         {});
  }
  // As the work queue would: again when it is due.
  void apply_in_the_end(const std::string& node, const std::function<void(NodePatch&)>& want) {
    for (Outcome outcome = apply(node, want); std::holds_alternative<Later>(outcome); outcome = apply(node, want)) {
      Clock::real().sleep_for(std::get<Later>(outcome).due - Clock::real().now(), {});
    }
  }
};

// ---- R01 ---------------------------------------------------------------------------------------------------------------------

constexpr int kNodes = 20;
constexpr auto kOurs = "gpu.example.com/fault";

std::vector<std::string> node_names() {
  std::vector<std::string> names;
  for (int i = 0; i < kNodes; ++i) names.push_back(fmt::format("gpu-{:02}", i));
  return names;
}

class R01 : public NodeWriterOnTheServer {
 protected:
  const std::vector<std::string> names_ = node_names();
  OtherController other_{cluster(), names_};

  void SetUp() override {
    ClusterTest::SetUp();
    std::vector<Json> nodes;
    for (const std::string& name : names_) nodes.push_back(node_in_state(name));
    admin().create_nodes(nodes);
    watch();
  }
  // All nodes at the same time, eight workers.
  void everywhere(const std::function<void(NodePatch&)>& want) {
    std::atomic<int> next = 0;
    std::vector<std::jthread> workers;
    for (int i = 0; i < 8; ++i) {
      workers.emplace_back([&] {
        for (int at = next++; at < kNodes; at = next++) apply_in_the_end(names_[static_cast<std::size_t>(at)], want);
      });
    }
  }
  void taint_and_free_all() {
    everywhere([](NodePatch& patch) { patch.add_taint({kOurs, "fatal", "NoSchedule", ""}); });
    everywhere([](NodePatch& patch) { patch.drop_taint({kOurs, "NoSchedule"}); });
  }
};

TEST_F(R01, NoForeignTaintIsLostToATaintOfOursInAnyRound) {
  const int least = std::getenv("NODEWARD_LONG") != nullptr ? 200 : 20;
  int rounds = 0;
  other_.start();
  // The simulated server is so quick that twenty rounds may pass without a race: then there are more.
  for (; rounds < least || (conflicts_ == 0 && rounds < 20 * least); ++rounds) taint_and_free_all();
  other_.stop();
  EXPECT_EQ(other_.lost, 0);
  for (const std::string& name : names_) {
    const Json node = admin().node(name);
    EXPECT_EQ(OtherController::taints_of_its_own(node), other_.has[name]) << name;
    EXPECT_THAT(to_text(node["spec"]), Not(HasSubstr(kOurs)));
  }
  const int writes = rounds * kNodes * 2;
  EXPECT_GE(patches_, writes);
  EXPECT_GT(conflicts_, 0) << "no race, no proof";
  EXPECT_EQ(patches_ - conflicts_, writes) << "one write each, and one more for each conflict";
  RecordProperty("conflicts", conflicts_);
  std::cout << fmt::format(
      "{} rounds: {} writes wanted, {} PATCH, {} of them answered 409, {} GET; {} foreign changes, {} lost\n", rounds, writes,
      patches_, conflicts_, gets_, other_.changes, other_.lost);
}

// The same race with the version taken out of the bodies: the proof that the test above can fail.
TEST_F(R01, WithoutTheGuardForeignTaintsAreLost) {
  transport_.unguarded = true;
  other_.start();
  int rounds = 0;
  for (; rounds < 200 && other_.lost == 0; ++rounds) taint_and_free_all();
  other_.stop();
  EXPECT_GT(other_.lost, 0);
  EXPECT_EQ(conflicts_, 0);
  std::cout << fmt::format("without the guard: {} foreign taints lost or back within {} rounds\n", other_.lost, rounds);
}

TEST_F(R01, WithoutARaceAWriteIsOneRequest) {
  taint_and_free_all();
  EXPECT_EQ(patches_, kNodes * 2);
  EXPECT_EQ(gets_, 0);
}

// The scripted form of the race on a real server: the foreign taints keep their order and their timeAdded, ours comes last.
TEST_F(R01, ForeignTaintsKeepTheirOrderAndTheirMembers) {
  const Json foreign = parse_json(R"([{"key":"nvidia.com/gpu","value":"present","effect":"NoSchedule"},
      {"key":"startup.example.org/agent","effect":"NoExecute","timeAdded":"2026-09-01T07:00:00Z"}])")
                           .value();
  Json node = node_in_state("gpu-99");
  node["spec"]["taints"] = foreign;
  admin().create_node(node);
  know("gpu-99");
  reading_ = {};
  Json late{{"key", "node.example.org/agent-not-ready"}, {"effect", "NoSchedule"}};
  Json with_late = foreign;
  with_late.push_back(late);
  ASSERT_EQ(admin().merge_patch(path_of("gpu-99"), {{"spec", {{"taints", with_late}}}}).status, 200);
  const Outcome outcome = apply("gpu-99", [](NodePatch& patch) { patch.add_taint({kOurs, "fatal", "NoSchedule", ""}); });
  EXPECT_TRUE(std::holds_alternative<Written>(outcome));
  Json wanted = with_late;
  wanted.push_back({{"key", kOurs}, {"value", "fatal"}, {"effect", "NoSchedule"}});
  EXPECT_EQ(admin().node("gpu-99")["spec"]["taints"], wanted);
  EXPECT_LE(patches_ + gets_, 3);
}

// ---- R34 ---------------------------------------------------------------------------------------------------------------------

constexpr auto kDotted = "a.b.example.org/c.d";

// The parts of a node that a client can mean to change.
Json meant_parts(const Json& node) {
  Json parts{{"labels", node["metadata"].value("labels", Json::object())},
             {"annotations", node["metadata"].value("annotations", Json::object())},
             {"spec", node["spec"]},
             {"status", node["status"]}};
  return parts;
}

class R34 : public NodeWriterOnTheServer, public testing::WithParamInterface<const char*> {
 protected:
  std::string name_;

  void SetUp() override {
    ClusterTest::SetUp();
    const Json node = objects_of_file(GetParam()).at(0);
    name_ = node["metadata"]["name"];
    admin().create_node(node);
    know(name_);
  }
  Json now() { return meant_parts(admin().node(name_)); }
};

TEST_P(R34, SettingAndRemovingOneKeyTouchesNothingElse) {
  Json wanted = now();
  wanted["labels"][kDotted] = "7";
  EXPECT_TRUE(std::holds_alternative<Written>(apply(name_, [](NodePatch& patch) { patch.label(kDotted, "7"); })));
  EXPECT_EQ(now(), wanted);

  wanted["labels"].erase(kDotted);
  EXPECT_TRUE(std::holds_alternative<Written>(apply(name_, [](NodePatch& patch) { patch.drop_label(kDotted); })));
  EXPECT_EQ(now(), wanted);
  for (const Json& body : transport_.take_bodies()) EXPECT_FALSE(body.contains("spec")) << body;

  EXPECT_TRUE(std::holds_alternative<Unchanged>(apply(name_, [](NodePatch& patch) { patch.drop_label(kDotted); })));
  EXPECT_EQ(patches_, 2) << "what is not there is not removed again";
  EXPECT_EQ(gets_, 0);
}

TEST_P(R34, ARemovalThatAnotherClientWasQuickerWithIsNoError) {
  ASSERT_TRUE(std::holds_alternative<Written>(apply(name_, [](NodePatch& patch) { patch.label(kDotted, "7"); })));
  ASSERT_EQ(admin().merge_patch(path_of(name_), {{"metadata", {{"labels", {{kDotted, nullptr}}}}}}).status, 200);
  const Json before = now();
  EXPECT_TRUE(std::holds_alternative<Written>(apply(name_, [](NodePatch& patch) { patch.drop_label(kDotted); })));
  EXPECT_EQ(now(), before);
}

TEST_P(R34, TheFirstAnnotationWithTildesAndSlashesArrivesAsItIs) {
  Json wanted = now();
  const std::string value = R"({"k":"v/~0~1","quote":"\"","null":null})";
  wanted["annotations"]["weird.example.org/other_json"] = value;
  EXPECT_TRUE(std::holds_alternative<Written>(
      apply(name_, [&](NodePatch& patch) { patch.annotation("weird.example.org/other_json", value); })));
  EXPECT_EQ(now(), wanted);
}

TEST_P(R34, ATaintAndACordonComeAndGoWithoutATrace) {
  const Json before = now();
  const auto fault = [](NodePatch& patch) {
    patch.unschedulable(true).add_taint({kOurs, "fatal", "NoSchedule", ""}).label("x", "z");
  };
  EXPECT_TRUE(std::holds_alternative<Written>(apply(name_, fault)));
  EXPECT_EQ(now()["spec"]["unschedulable"], true);
  EXPECT_TRUE(std::holds_alternative<Written>(apply(name_, [&](NodePatch& patch) {
    patch.unschedulable(false).drop_taint({kOurs, "NoSchedule"});
    before["labels"].contains("x") ? patch.label("x", before["labels"]["x"].get<std::string>()) : patch.drop_label("x");
  })));
  EXPECT_EQ(now(), before);
}

INSTANTIATE_TEST_SUITE_P(Nodes, R34,
                         testing::Values("nodes/node-dotted-keys.json", "nodes/node-bare.json", "nodes/node-aks-nd96.json"),
                         [](const auto& one) {
                           std::string name = std::string(one.param).substr(11);
                           std::erase_if(name, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; });
                           return name;
                         });

// ---- The answers of a real server --------------------------------------------------------------------------------------------

TEST_F(NodeWriterOnTheServer, A409MeansANewPlanOnTheNewerNode) {
  admin().create_node(node_in_state("n1"));
  know("n1");
  const Json foreign{{"key", "foreign"}, {"effect", "NoExecute"}};
  ASSERT_EQ(admin().merge_patch(path_of("n1"), {{"spec", {{"taints", {foreign}}}}}).status, 200);
  std::vector<std::size_t> taints_seen;
  const Outcome outcome = writer_.apply(NodeName("n1"),
                                        [&](const Node& node) {
                                          taints_seen.push_back(node.taints.size());
                                          return std::move(NodePatch(node.name).add_taint({kOurs, "fatal", "NoSchedule", ""}));
                                        },
                                        {});
  EXPECT_TRUE(std::holds_alternative<Written>(outcome));
  EXPECT_THAT(taints_seen, testing::Contains(1U)) << "planned on what the other client left";
  EXPECT_EQ(admin().node("n1")["spec"]["taints"].size(), 2U);
  EXPECT_EQ(patches_, 2);
  EXPECT_EQ(gets_, 1) << "without a watch the newer node has to be asked for";
}

TEST_F(NodeWriterOnTheServer, A422IsNamedAndNotSentAgain) {
  admin().create_node(node_in_state("n1"));
  know("n1");
  const auto illegal = [](NodePatch& patch) { patch.label("no label key", "1"); };
  const Outcome outcome = apply("n1", illegal);
  ASSERT_TRUE(std::holds_alternative<Later>(outcome));
  EXPECT_EQ(std::get<Later>(outcome).reason, Later::Reason::kRefused);
  EXPECT_THAT(std::get<Later>(outcome).why, HasSubstr("422 Invalid"));
  EXPECT_THAT(std::get<Later>(outcome).why, HasSubstr("no label key"));
  EXPECT_THAT(writer_.refusals(), HasSubstr("refused: n1: "));
  apply("n1", illegal);
  EXPECT_EQ(patches_, 1);
}

TEST_F(NodeWriterOnTheServer, A422OfAnOrnamentDoesNotStopTheCordon) {
  admin().create_node(node_in_state("n1"));
  know("n1");
  const Outcome outcome = apply(
      "n1", [](NodePatch& patch) { patch.unschedulable(true).label("no label key", "1", nodes::Weight::kOrnament); });
  ASSERT_TRUE(std::holds_alternative<Written>(outcome));
  EXPECT_TRUE(std::get<Written>(outcome).lightened);
  EXPECT_EQ(admin().node("n1")["spec"]["unschedulable"], true);
  EXPECT_EQ(patches_, 2);
}

TEST_F(NodeWriterOnTheServer, A403IsTriedAgainTwiceThenRefusedAndNamesNoToken) {
  admin().create_node(node_in_state("n1"));
  know("n1");
  token_ = cluster().powerless_token();
  for (const auto reason : {Later::Reason::kFailed, Later::Reason::kFailed, Later::Reason::kRefused}) {
    const Outcome outcome = apply("n1", [](NodePatch& patch) { patch.label("l", "1"); });
    ASSERT_TRUE(std::holds_alternative<Later>(outcome));
    EXPECT_EQ(std::get<Later>(outcome).reason, reason);
    EXPECT_THAT(std::get<Later>(outcome).why, HasSubstr("403 Forbidden"));
    EXPECT_THAT(std::get<Later>(outcome).why, Not(HasSubstr(token_)));
    if (reason == Later::Reason::kFailed) std::this_thread::sleep_until(std::get<Later>(outcome).due);
  }
  EXPECT_EQ(patches_, 3);
}

TEST_F(NodeWriterOnTheServer, A401WaitsAndGoesOnWithANewToken) {
  admin().create_node(node_in_state("n1"));
  know("n1");
  token_ = "expired-token";
  const Outcome refused = apply("n1", [](NodePatch& patch) { patch.label("l", "1"); });
  ASSERT_TRUE(std::holds_alternative<Later>(refused));
  EXPECT_EQ(std::get<Later>(refused).reason, Later::Reason::kFailed);
  EXPECT_THAT(std::get<Later>(refused).why, Not(HasSubstr(token_)));
  token_ = cluster().token();
  apply_in_the_end("n1", [](NodePatch& patch) { patch.label("l", "1"); });
  EXPECT_EQ(admin().node("n1")["metadata"]["labels"]["l"], "1");
}

TEST_F(NodeWriterOnTheServer, A404IsFinal) {
  admin().create_node(node_in_state("n1"));
  know("n1");
  ASSERT_EQ(admin().remove(path_of("n1")).status, 200);
  EXPECT_TRUE(std::holds_alternative<nodes::Gone>(apply("n1", [](NodePatch& patch) { patch.label("l", "1"); })));
  EXPECT_EQ(patches_, 1);
}

// Back to back, before any watch could show the first: the answer is the base of the second.
TEST_F(NodeWriterOnTheServer, TheAnswerIsTheBaseOfTheNextWrite) {
  admin().create_node(node_in_state("n1"));
  know("n1");
  const auto add = [](const char* key) { return [key](NodePatch& patch) { patch.add_taint({key, "", "NoSchedule", ""}); }; };
  for (const char* key : {"a", "b", "c"}) EXPECT_TRUE(std::holds_alternative<Written>(apply("n1", add(key))));
  EXPECT_EQ(admin().node("n1")["spec"]["taints"].size(), 3U);
  EXPECT_EQ(patches_, 3);
  EXPECT_EQ(conflicts_, 0);
  EXPECT_EQ(gets_, 0);
}

}  // namespace
}  // namespace nodeward::api
