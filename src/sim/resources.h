// The resources that the simulated server has, one row each. Another one is another row.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace nodeward::sim {

// A member that stands under another name in the second version of the same object.
struct Rename {
  std::string_view stored;
  std::string_view shown;
};

struct Resource {
  std::string_view group;                         // "" is the core group
  std::string_view version;
  std::string_view plural;
  std::string_view singular;
  std::string_view kind;
  bool namespaced = false;
  bool has_status = false;                        // the status subresource
  bool unconditional_update = true;               // a PUT may leave out the version
  bool create_on_update = false;                  // a PUT of what is not there creates it
  bool delete_shows_object = false;               // the answer to a DELETE is the object, not a Status
  std::vector<std::string_view> short_names = {};
  std::vector<std::string_view> fields = {};      // field selectors beside metadata.name and metadata.namespace
  std::span<const Rename> renames = {};           // given: shows the objects of the same plural in the core group
  std::vector<std::string_view> categories = {};
  std::string_view hash = {};                     // of the storage version; clients compare it, nothing else

  std::string group_version() const;              // "apps/v1", "v1"
  std::string qualified() const;                  // "daemonsets.apps", "nodes"
};

std::span<const Resource> resources();
const Resource* find_resource(std::string_view group, std::string_view version, std::string_view plural);
const Resource* find_kind(std::string_view api_version, std::string_view kind);
bool has_group_version(std::string_view group, std::string_view version);
// The row whose objects this row shows: itself, but for events.k8s.io.
const Resource& stored_as(const Resource& resource);

}  // namespace nodeward::sim
