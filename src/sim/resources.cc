#include "sim/resources.h"

#include <fmt/format.h>

#include <algorithm>

namespace nodeward::sim {
namespace {

constexpr Rename kEventRenames[] = {{"involvedObject", "regarding"},
                                    {"message", "note"},
                                    {"source", "deprecatedSource"},
                                    {"firstTimestamp", "deprecatedFirstTimestamp"},
                                    {"lastTimestamp", "deprecatedLastTimestamp"},
                                    {"count", "deprecatedCount"},
                                    {"reportingComponent", "reportingController"}};

const std::vector<Resource> kResources = {
    {.group = "",
     .version = "v1",
     .plural = "configmaps",
     .singular = "configmap",
     .kind = "ConfigMap",
     .namespaced = true,
     .short_names = {"cm"}},
    {.group = "",
     .version = "v1",
     .plural = "events",
     .singular = "event",
     .kind = "Event",
     .namespaced = true,
     .create_on_update = true,
     .short_names = {"ev"},
     .fields = {"involvedObject.kind", "involvedObject.namespace", "involvedObject.name", "involvedObject.uid",
                "involvedObject.apiVersion", "involvedObject.resourceVersion", "involvedObject.fieldPath", "reason",
                "reportingComponent", "source", "type"}},
    {.group = "",
     .version = "v1",
     .plural = "namespaces",
     .singular = "namespace",
     .kind = "Namespace",
     .has_status = true,
     .delete_shows_object = true,
     .short_names = {"ns"},
     .fields = {"status.phase"}},
    {.group = "",
     .version = "v1",
     .plural = "nodes",
     .singular = "node",
     .kind = "Node",
     .has_status = true,
     .short_names = {"no"},
     .fields = {"spec.unschedulable"}},
    {.group = "",
     .version = "v1",
     .plural = "pods",
     .singular = "pod",
     .kind = "Pod",
     .namespaced = true,
     .has_status = true,
     .delete_shows_object = true,
     .short_names = {"po"},
     .fields = {"spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName", "spec.hostNetwork",
                "status.phase", "status.podIP", "status.nominatedNodeName"},
     .categories = {"all"}},
    {.group = "apps",
     .version = "v1",
     .plural = "daemonsets",
     .singular = "daemonset",
     .kind = "DaemonSet",
     .namespaced = true,
     .has_status = true,
     .short_names = {"ds"},
     .categories = {"all"}},
    {.group = "coordination.k8s.io",
     .version = "v1",
     .plural = "leases",
     .singular = "lease",
     .kind = "Lease",
     .namespaced = true,
     .unconditional_update = false,
     .create_on_update = true},
    {.group = "events.k8s.io",
     .version = "v1",
     .plural = "events",
     .singular = "event",
     .kind = "Event",
     .namespaced = true,
     .create_on_update = true,
     .short_names = {"ev"},
     .fields = {"regarding.kind", "regarding.namespace", "regarding.name", "regarding.uid", "regarding.apiVersion",
                "regarding.resourceVersion", "regarding.fieldPath", "reason", "reportingController", "type"},
     .renames = kEventRenames},
    {.group = "resource.k8s.io",
     .version = "v1",
     .plural = "resourceslices",
     .singular = "resourceslice",
     .kind = "ResourceSlice",
     .delete_shows_object = true,
     .fields = {"spec.driver", "spec.nodeName"}},
};

}  // namespace

std::string Resource::group_version() const {
  return group.empty() ? std::string(version) : fmt::format("{}/{}", group, version);
}
std::string Resource::qualified() const { return group.empty() ? std::string(plural) : fmt::format("{}.{}", plural, group); }

std::span<const Resource> resources() { return kResources; }

const Resource* find_resource(std::string_view group, std::string_view version, std::string_view plural) {
  const auto found = std::find_if(kResources.begin(), kResources.end(), [&](const Resource& row) {
    return row.plural == plural && row.group == group && row.version == version;
  });
  return found == kResources.end() ? nullptr : &*found;
}

const Resource* find_kind(std::string_view api_version, std::string_view kind) {
  const auto found = std::find_if(kResources.begin(), kResources.end(),
                                  [&](const Resource& row) { return row.kind == kind && row.group_version() == api_version; });
  return found == kResources.end() ? nullptr : &*found;
}

bool has_group_version(std::string_view group, std::string_view version) {
  return std::any_of(kResources.begin(), kResources.end(),
                     [&](const Resource& row) { return row.group == group && row.version == version; });
}

const Resource& stored_as(const Resource& resource) {
  return resource.renames.empty() ? resource : *find_resource("", "v1", resource.plural);
}

}  // namespace nodeward::sim
