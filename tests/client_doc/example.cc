// Watches the nodes of a cluster, says what changes, and marks each with a label of its own: docs/client.md.
//   KUBECONFIG=... example
#include <fmt/format.h>

#include <cstdio>

#include "kube/client.h"
#include "kube/config/credentials.h"
#include "kube/config/in_cluster.h"
#include "kube/config/kubeconfig.h"
#include "kube/reflector.h"
#include "net/curl_transport.h"

using namespace nodeward;

// What a reflector reads goes into a sink; here it is said, and marked. Called on the thread that called run().
struct Sayer final : kube::Sink<kube::Node> {
  explicit Sayer(kube::Client& to) : client(to) {}
  void list_begins() override { fmt::print("reading the nodes\n"); }
  void apply(kube::Node node) override {
    fmt::print("{} is at version {}, {}\n", node.name.str(), node.version.str(), node.unschedulable ? "cordoned" : "in service");
    if (node.labels.get("example.org/seen")) return;
    // A merge patch with the one key that differs. A real program sends it from a thread of its own: a sink must not wait.
    net::Request patch{.method = "PATCH", .path = "/api/v1/nodes/" + kube::url_encoded(node.name.str())};
    patch.headers = {{"Content-Type", "application/merge-patch+json"}};
    patch.body = R"({"metadata":{"labels":{"example.org/seen":"true"}}})";
    if (const auto answer = client.send(patch, {}); !answer) fmt::print("{}: {}\n", node.name.str(), answer.error().message);
  }
  void remove(const kube::Node& node) override { fmt::print("{} is gone\n", node.name.str()); }
  void unreadable(const kube::Node& node) override { fmt::print("{} cannot be read\n", node.name.str()); }
  void list_ends(const kube::ResourceVersion& version) override { fmt::print("all read, up to version {}\n", version.str()); }
  kube::Client& client;
};

Result<> watch(const std::stop_token& stop) {
  Clock& clock = Clock::real();
  const std::string files = kube::env_value(kube::process_environment(), "KUBECONFIG");    // empty: we are a pod
  NW_TRY_ASSIGN(const kube::ClusterConfig config, files.empty() ? kube::load_in_cluster() : kube::load_kubeconfigs(files));
  kube::Credentials credentials(config, clock);    // tokens, certificates and plugins, renewed when it is time
  const auto transport = net::make_curl_transport(net::EndpointSource([&] { return credentials.endpoint(); }));
  kube::ClientOptions options{.path_prefix = config.path_prefix, .headers = config.impersonation};
  options.authorization = [&](const auto& token) { return credentials.authorization(token); };
  options.reload_credentials = [&](const auto& old, const auto& token) { return credentials.reload(old, token); };
  kube::Client client(*transport, options, clock);
  Sayer sayer(client);
  // Kept of each node: one label, and whether it is cordoned. Nothing else costs memory.
  const kube::NodeSelection selection{.labels = {.all = false, .keys = {"example.org/seen"}}, .spec = true};
  kube::Reflector<kube::Node> nodes(client, {.name = "nodes", .path = "/api/v1/nodes"}, kube::make_node_decoder(selection), sayer,
                                    clock);
  nodes.run(stop);    // until stopped, whatever happens to the server
  return {};
}

int main() {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  std::stop_source end;    // end.request_stop(), from any thread, ends run() at once
  const auto ended = watch(end.get_token());
  if (!ended) fmt::print(stderr, "{}\n", ended.error().message);
  return ended ? 0 : 1;
}
