// Nodes and pods as the labeler's acceptance rows write them, for the real API server. Values, pure but for objects_of_file().
// A state reads "D=4.x I=true K=false B=true M=false G=true kata=Yes"; another word before '=' is a label key as it stands.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace nodeward::api {

Json node_in_state(const std::string& name, std::string_view state = "K=false");
// "D=4.x K=false": our keys on a node that was read, in the order D I K B.
std::string state_of(const Json& node);
// The merge patch that sets one label, or the annotation B, by its letter or key; nullopt removes it.
Json key_patch(std::string_view key, const std::optional<std::string>& value);

struct PodPlace {
  std::string name;
  std::string node = "n1";
};
inline constexpr bool kReady = true;
inline constexpr bool kNotReady = false;
Json dcgm_pod(int major, bool ready, PodPlace place = {"dcgm"});
Json driver_pod(bool ready, PodPlace place = {"driver"});
Json installer_pod(bool ready, PodPlace place = {"installer"});
Json readiness(bool ready);                        // a merge patch of a pod's status
std::string path_of_pod(const std::string& name);  // of the pods above

// A file below tests/data: a List or one object, without what only a server may give (uid, resourceVersion).
std::vector<Json> objects_of_file(const std::string& file);

}  // namespace nodeward::api
