// What a real API server says in protobuf is what it says in JSON: the same nodes and pods, as records, in lists in pages, in
// streaming lists and in watches. Transport, client, reflector and decoders are the product's.
#include <gmock/gmock.h>

#include <map>
#include <thread>

#include "api/cluster.h"
#include "api/labeler_objects.h"
#include "base/guarded.h"
#include "kube/protobuf_decode.h"
#include "kube/reflector.h"
#include "net/curl_transport.h"

namespace nodeward::api {
namespace {

using kube::Encoding;
using kube::Node;
using kube::Pod;
using namespace std::chrono_literals;

std::string text_of(const kube::SymbolMap& map) {
  std::string text;
  for (const auto& [key, value] : map) text += std::string(key.view()) + "=" + std::string(value.view()) + "\n";
  return text;
}
// All there is in a record.
std::string record_of(const Node& node) {
  return node.name.str() + " " + std::to_string(node.uid.high) + " " + std::to_string(node.uid.low) + " at " +
         node.version.str() + (node.labelled ? " labelled " : " ") + std::to_string(node.annotation_bytes) + "\n" +
         text_of(node.labels) + text_of(node.annotations);
}
std::string record_of(const Pod& pod) {
  std::string text = pod.name_space + "/" + pod.name + " " + std::to_string(pod.uid.high) + " " + std::to_string(pod.uid.low) +
                     " on " + pod.node + (pod.ready ? " ready\n" : "\n");
  for (const auto& [key, value] : pod.labels) text += key + "=" + value + "\n";
  for (const std::string& image : pod.images) text += image + "\n";
  return text;
}

// Everything that came, in order: a list as "+", "+", "end", a watch as "+" and "-". A list is sorted, since its order says nothing.
template <class T>
class Recorder final : public kube::Sink<T> {
 public:
  void list_begins() override {}
  void apply(T object) override { add("+" + record_of(object)); }
  void remove(const T& last) override { add("-" + record_of(last)); }
  void unreadable(const T&) override { add("unreadable"); }
  void list_ends(const kube::ResourceVersion&) override {
    seen_.with([](auto& seen) {
      std::sort(seen.begin(), seen.end());
      seen.push_back("end");
    });
  }
  std::vector<std::string> seen() const {
    return seen_.with([](const auto& seen) { return seen; });
  }

 private:
  void add(std::string what) {
    seen_.with([&](auto& seen) { seen.push_back(std::move(what)); });
  }
  Guarded<std::vector<std::string>> seen_;
};

// Remembers which encodings the answers came in.
class WatchedTransport final : public net::Transport {
 public:
  explicit WatchedTransport(std::unique_ptr<net::Transport> real) : real_(std::move(real)) {}
  Result<net::Response> send(const net::Request& request, const std::stop_token& stop) override {
    return real_->send(request, stop);
  }
  Result<std::unique_ptr<net::Stream>> open(const net::Request& request, const std::stop_token& stop) override {
    auto stream = real_->open(request, stop);
    if (stream) {
      const bool protobuf = kube::encoding_of((*stream)->header("content-type")) == Encoding::kProtobuf;
      answers_.with([&](auto& answers) { ++answers[protobuf ? "protobuf" : "json"]; });
    }
    return stream;
  }
  std::map<std::string, int> answers() const {
    return answers_.with([](const auto& answers) { return answers; });
  }

 private:
  std::unique_ptr<net::Transport> real_;
  Guarded<std::map<std::string, int>> answers_;
};

class ProtobufOnTheServer : public ClusterTest {
 protected:
  const kube::NodeSelection all_ = {.labels = {.all = true, .keys = {}}, .annotations = {.all = true, .keys = {}}};

  // A reader of nodes and one of pods, in one encoding, until it is destroyed.
  class Reader {
   public:
    Reader(const Cluster& cluster, const kube::NodeSelection& selection, Encoding encoding, bool streaming)
        : transport_(net::make_curl_transport({.origin = cluster.origin(), .ca_pem = cluster.ca_cert()})),
          client_(transport_, {.authorization = [token = cluster.token()](const std::stop_token&) { return "Bearer " + token; }},
                  Clock::real()),
          // Two a page, so that there are several.
          node_reader_(client_, {"nodes", "/api/v1/nodes"}, kube::make_node_decoder(selection), nodes, Clock::real(),
                       {.streaming = streaming, .page_size = 2},
                       encoding == Encoding::kProtobuf ? kube::make_node_decoder(selection, encoding) : nullptr),
          pod_reader_(client_, {"pods", "/api/v1/pods"}, kube::make_pod_decoder(), pods, Clock::real(),
                      {.streaming = streaming, .page_size = 2},
                      encoding == Encoding::kProtobuf ? kube::make_pod_decoder(encoding) : nullptr) {}
    bool synced() const { return node_reader_.synced() && pod_reader_.synced(); }
    std::map<std::string, int> answers() const { return transport_.answers(); }

    Recorder<Node> nodes;
    Recorder<Pod> pods;

   private:
    WatchedTransport transport_;
    kube::Client client_;
    kube::Reflector<Node> node_reader_;
    kube::Reflector<Pod> pod_reader_;
    std::jthread nodes_thread_{[this](const std::stop_token& stop) { node_reader_.run(stop); }};
    std::jthread pods_thread_{[this](const std::stop_token& stop) { pod_reader_.run(stop); }};
  };

  static bool soon(const std::function<bool()>& holds) {
    for (int i = 0; i < 2000 && !holds(); ++i) std::this_thread::sleep_for(10ms);
    return holds();
  }

  void make_objects() {
    for (const char* file : {"examples/nodes.json"}) admin().create_nodes(objects_of_file(file));
    Json node = node_in_state("odd", "D=4.x K=false");
    node["metadata"]["annotations"]["note"] = "caf\u00e9 \u2603 \"quoted\"\n";
    node["metadata"]["annotations"]["long"] = std::string(100'000, 'a');
    node["metadata"]["labels"]["empty"] = "";
    admin().create_node(node);
    admin().create_node({{"metadata", {{"name", "bare"}}}});
    admin().create_pod(dcgm_pod(4, kReady, {"dcgm", "odd"}));
    admin().create_pod(driver_pod(kNotReady, {"driver", "odd"}));
    admin().create_pod(installer_pod(kReady, {"installer", "bare"}));
  }
  // In each way in which a watch can tell of an object.
  void change_objects() {
    admin().merge_patch("/api/v1/nodes/odd", key_patch("D", "3.x"));
    admin().merge_patch("/api/v1/nodes/bare", {{"metadata", {{"labels", {{"now", "labelled"}}}}}});
    admin().remove("/api/v1/nodes/bare");
    admin().create_node(node_in_state("later"));
    admin().merge_patch(path_of_pod("driver") + "/status", readiness(kReady));
    admin().remove(path_of_pod("dcgm"));
    admin().create_pod(dcgm_pod(3, kReady, {"dcgm", "odd"}));
    const Json last = {{"metadata", {{"labels", {{"last", "change"}}}}}};
    admin().merge_patch("/api/v1/nodes/later", last);
    admin().merge_patch(path_of_pod("dcgm"), last);
  }

  void expect_equal(bool streaming) {
    make_objects();
    Reader json(cluster(), all_, Encoding::kJson, streaming);
    Reader protobuf(cluster(), all_, Encoding::kProtobuf, streaming);
    ASSERT_TRUE(soon([&] { return json.synced() && protobuf.synced(); }));
    change_objects();
    const auto has_all = [](const Reader& reader) {
      const auto is_last = [](const std::string& record) { return record.find("\nlast=change\n") != std::string::npos; };
      return is_last(reader.nodes.seen().back()) && is_last(reader.pods.seen().back());
    };
    ASSERT_TRUE(soon([&] { return has_all(json) && has_all(protobuf); }));
    EXPECT_EQ(protobuf.nodes.seen(), json.nodes.seen());
    EXPECT_EQ(protobuf.pods.seen(), json.pods.seen());
    EXPECT_THAT(json.nodes.seen(), testing::Not(testing::Contains("unreadable")));
    EXPECT_EQ(json.answers().count("protobuf"), 0U);
    EXPECT_EQ(protobuf.answers().count("json"), 0U) << "the server has protobuf for all of them";
    EXPECT_GE(protobuf.answers()["protobuf"], 2);
  }
};

TEST_F(ProtobufOnTheServer, SaysTheSameAsJsonInPagesAndWatches) { expect_equal(false); }

TEST_F(ProtobufOnTheServer, SaysTheSameAsJsonInStreamingLists) { expect_equal(true); }

TEST_F(ProtobufOnTheServer, SaysWhyItRefusesInWordsThatAreRead) {
  const auto transport = net::make_curl_transport({.origin = cluster().origin(), .ca_pem = cluster().ca_cert()});
  kube::Client client(*transport, {.authorization = [this](const std::stop_token&) { return "Bearer " + cluster().token(); }},
                      Clock::real());
  const auto answer = client.send({.path = "/api/v1/nodes/nobody",
                                   .headers = {{"Accept", kube::accept_object(kube::Detail::kMetadata, Encoding::kProtobuf)}}},
                                  {});
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().message, R"(GET /api/v1/nodes/nobody: 404 NotFound: nodes "nobody" not found)");
}

}  // namespace
}  // namespace nodeward::api
