#include "writes/fleet.h"

#include <fmt/format.h>

#include <stdexcept>

#include "base/text.h"

namespace nodeward::bench {
namespace {

constexpr std::size_t kNodeBytes = 17'000;

// The example's first node without what the server sets and what the labeler sets, with as many images as 17 KB hold.
Json template_node() {
  const auto text = read_file(NW_SOURCE_DIR "/tests/data/examples/nodes.json");
  if (!text) throw std::runtime_error(text.error().message);
  Json node = Json::parse(*text).at("items").at(0);
  Json& metadata = node["metadata"];
  for (const char* key : {"uid", "resourceVersion", "creationTimestamp"}) metadata.erase(key);
  for (const char* map : {"labels", "annotations"}) {
    Json kept = Json::object();
    for (const auto& [key, value] : metadata[map].items()) {
      if (key.find("nvsentinel") == std::string::npos) kept[key] = value;
    }
    metadata[map] = kept;
  }
  Json& images = node["status"]["images"];
  while (!images.empty() && to_text(node).size() > kNodeBytes) images.erase(images.end() - 1);
  return node;
}

Json ready_pod(const std::string& name, const std::string& app, const std::string& image, const std::string& node) {
  const auto condition = [](const char* type) { return Json{{"type", type}, {"status", "True"}}; };
  return {{"metadata", {{"name", name}, {"namespace", "gpu-operator"}, {"labels", {{"app", app}}}}},
          {"spec", {{"nodeName", node}, {"containers", {{{"name", "main"}, {"image", image}}}}}},
          {"status",
           {{"phase", "Running"},
            {"conditions",
             {condition("PodScheduled"), condition("Initialized"), condition("ContainersReady"), condition("Ready")}}}}};
}

}  // namespace

Fleet make_fleet(int first, int count) {
  const Json model = template_node();
  Fleet fleet;
  for (int number = first; number < first + count; ++number) {
    const std::string name = fmt::format("gpu-{:05}", number);
    Json node = model;
    node["metadata"]["name"] = name;
    node["metadata"]["labels"]["kubernetes.io/hostname"] = name;
    node["spec"]["providerID"] = "example://zone-a/" + name;
    fleet.pods.push_back(ready_pod("dcgm-" + name, "nvidia-dcgm", "nvcr.io/nvidia/cloud-native/dcgm:4.2.3-1-ubuntu22.04", name));
    fleet.pods.push_back(
        ready_pod("driver-" + name, "nvidia-driver-daemonset", "nvcr.io/nvidia/driver:570.124.06-ubuntu22.04", name));
    fleet.nodes.push_back(std::move(node));
    fleet.names.push_back(name);
  }
  return fleet;
}

}  // namespace nodeward::bench
