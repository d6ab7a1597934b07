// docs/client.md shows tests/client_doc/example.cc as it stands, and that does what the page says.
#include <gmock/gmock.h>

#include <algorithm>
#include <thread>

#include "api/child.h"
#include "api/sim_cluster.h"
#include "base/text.h"

namespace nodeward::api {
namespace {

using testing::HasSubstr;

std::string output_of(const SimCluster& cluster) { return read_file(cluster.folder() / "example.log").value_or(""); }

// As from a shell outside of any pod: with `variable` in its environment.
Child started(const SimCluster& cluster, const std::string& variable) {
  return Child({"/usr/bin/env", "-u", "KUBERNETES_SERVICE_HOST", variable, NW_BINARY_DIR "/tests/client_example"},
               cluster.folder() / "example.log");
}

bool await(const std::function<bool()>& holds) {
  for (const MonoTime end = Clock::real().now() + 20s; Clock::real().now() < end;) {
    if (holds()) return true;
    std::this_thread::sleep_for(10ms);  // another process: no clock to fake
  }
  return false;
}

TEST(ClientPage, ShowsTheExampleAsItIsCompiled) {
  const std::string page = read_file(NW_SOURCE_DIR "/docs/client.md").value();
  const std::string example = read_file(NW_SOURCE_DIR "/tests/client_doc/example.cc").value();
  const std::string shown = example.substr(example.find("#include <fmt"));
  EXPECT_THAT(page, HasSubstr("```cpp\n" + shown + "```\n"));
  EXPECT_LE(std::count(shown.begin(), shown.end(), '\n'), 60);
}

TEST(ClientPage, ItsExampleListsWatchesAndPatches) {
  SimCluster cluster;
  cluster.admin().create_node({{"metadata", {{"name", "n1"}, {"labels", {{"a", "b"}}}}}});
  Child example = started(cluster, "KUBECONFIG=" + cluster.kubeconfig().string());
  const auto seen = [&](const std::string& node) {
    return cluster.admin().node(node)["metadata"]["labels"].value("example.org/seen", "") == "true";
  };
  EXPECT_TRUE(await([&] { return seen("n1"); })) << output_of(cluster);
  cluster.admin().create_node({{"metadata", {{"name", "n2"}, {"labels", {{"a", "b"}}}}}});
  EXPECT_TRUE(await([&] { return seen("n2"); })) << output_of(cluster);
  cluster.admin().remove("/api/v1/nodes/n1");
  EXPECT_TRUE(await([&] { return output_of(cluster).find("n1 is gone") != std::string::npos; })) << output_of(cluster);
  EXPECT_EQ(cluster.admin().counters().count("PATCH", "nodes"), 2);
}

TEST(ClientPage, ItsExampleSaysWhatIsWrongWithAKubeconfig) {
  SimCluster cluster;
  Child example = started(cluster, "KUBECONFIG=/nowhere/config");
  EXPECT_TRUE(await([&] { return !example.running(); }));
  EXPECT_EQ(example.exit_code(), 1);
  EXPECT_THAT(output_of(cluster), HasSubstr("/nowhere/config"));
}

TEST(ClientPage, ItsExampleWithoutAKubeconfigIsAPodOrSaysThatItIsNone) {
  SimCluster cluster;
  Child example = started(cluster, "KUBECONFIG=");
  EXPECT_TRUE(await([&] { return !example.running(); }));
  EXPECT_EQ(example.exit_code(), 1);
  EXPECT_THAT(output_of(cluster), HasSubstr("not in a cluster"));
}

}  // namespace
}  // namespace nodeward::api
