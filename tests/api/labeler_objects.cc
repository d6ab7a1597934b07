#include "api/labeler_objects.h"

#include <map>
#include <stdexcept>

#include "base/text.h"

namespace nodeward::api {
namespace {

constexpr auto kNamespace = "gpu-operator";

const std::map<std::string, std::string, std::less<>>& keys_by_letter() {
  static const std::map<std::string, std::string, std::less<>> keys{
      {"D", "nvsentinel.dgxc.nvidia.com/dcgm.version"}, {"I", "nvsentinel.dgxc.nvidia.com/driver.installed"},
      {"K", "nvsentinel.dgxc.nvidia.com/kata.enabled"}, {"B", "nvsentinel.dgxc.nvidia.com/dcgm-bootstrap-completed"},
      {"M", "nvsentinel.dgxc.nvidia.com/managed"},      {"G", "nvidia.com/gpu.present"},
      {"kata", "katacontainers.io/kata-runtime"},
  };
  return keys;
}

std::string key_of(std::string_view word) {
  const auto found = keys_by_letter().find(word);
  return found == keys_by_letter().end() ? std::string(word) : found->second;
}
const char* map_of(std::string_view word) { return word == "B" ? "annotations" : "labels"; }

Json pod(const PodPlace& place, const char* label, const char* value, const std::string& image, bool ready) {
  return {{"metadata", {{"name", place.name}, {"namespace", kNamespace}, {"labels", {{label, value}}}}},
          {"spec", {{"nodeName", place.node}, {"containers", {{{"name", "main"}, {"image", image}}}}}},
          {"status", readiness(ready)["status"]}};
}

}  // namespace

Json node_in_state(const std::string& name, std::string_view state) {
  Json node{{"metadata", {{"name", name}}}};
  for (const std::string& word : split(state, ' ')) {
    if (word.empty()) continue;
    const auto equals = word.find('=');
    const std::string key = word.substr(0, equals);
    node["metadata"][map_of(key)][key_of(key)] = word.substr(equals + 1);
  }
  return node;
}

std::string state_of(const Json& node) {
  std::string text;
  for (const char* letter : {"D", "I", "K", "B"}) {
    const Json map = node.at("metadata").value(map_of(letter), Json::object());
    if (!map.contains(key_of(letter))) continue;
    text += (text.empty() ? "" : " ") + std::string(letter) + "=" + map[key_of(letter)].get<std::string>();
  }
  return text;
}

Json key_patch(std::string_view key, const std::optional<std::string>& value) {
  return {{"metadata", {{map_of(key), {{key_of(key), value ? Json(*value) : Json()}}}}}};
}

Json dcgm_pod(int major, bool ready, PodPlace place) {
  return pod(place, "app", "nvidia-dcgm", "example.com/dcgm:" + std::to_string(major) + ".2.3-1", ready);
}
Json driver_pod(bool ready, PodPlace place) {
  return pod(place, "app", "nvidia-driver-daemonset", "example.com/driver:580.1", ready);
}
Json installer_pod(bool ready, PodPlace place) {
  return pod(place, "k8s-app", "nvidia-driver-installer", "example.com/installer:1", ready);
}

Json readiness(bool ready) { return {{"status", {{"conditions", {{{"type", "Ready"}, {"status", ready ? "True" : "False"}}}}}}}; }

std::string path_of_pod(const std::string& name) { return std::string("/api/v1/namespaces/") + kNamespace + "/pods/" + name; }

std::vector<Json> objects_of_file(const std::string& file) {
  const auto text = read_file(NW_SOURCE_DIR "/tests/data/" + file);
  if (!text) throw std::runtime_error(text.error().message);
  const Json whole = parse_json(*text).value();
  std::vector<Json> objects;
  if (whole.contains("items")) {
    objects = whole["items"].get<std::vector<Json>>();
  } else {
    objects = {whole};
  }
  for (Json& object : objects) {
    for (const char* member : {"uid", "resourceVersion", "creationTimestamp"}) object["metadata"].erase(member);
  }
  return objects;
}

}  // namespace nodeward::api
