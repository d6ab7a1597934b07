#include "labels/pod_table.h"

#include <algorithm>
#include <utility>

namespace nodeward::labels {
namespace {

// Enough for every image a fleet runs at once, and a bound for one whose texts never repeat.
constexpr std::size_t kMostReportedImages = 1000;

std::size_t index_of(PodWatchId watch) { return static_cast<std::size_t>(watch); }

bool same_facts(const PodFact& a, const PodFact& b) { return a.roles == b.roles && a.ready == b.ready && a.major == b.major; }

}  // namespace

PodTable::PodTable(Options options, Events events)
    : options_(std::move(options)),
      events_(std::move(events)),
      sinks_{WatchSink(*this, PodWatchId::kApps), WatchSink(*this, PodWatchId::kCrdDrivers),
             WatchSink(*this, PodWatchId::kInstallers)} {}

bool PodTable::Entry::shown() const {
  return std::any_of(views.begin(), views.end(), [](const View& view) { return view.roles != 0; });
}

// Two watches that disagree about readiness do so until the slower one catches up; till then the pod counts as Ready.
PodFact PodTable::Entry::fact(const kube::Uid& uid) const {
  PodFact fact{.uid = uid};
  for (const View& view : views) {
    fact.roles |= view.roles;
    fact.ready |= view.ready;
    fact.major = std::max(fact.major, view.major);
  }
  return fact;
}

PodTable::Dirty PodTable::Records::put(const kube::Uid& uid, PodWatchId watch, const kube::Symbol& node, View view) {
  Entry& entry = pods[uid];
  const PodFact before = entry.fact(uid);
  const kube::Symbol old_node = std::exchange(entry.node, node);
  entry.views[index_of(watch)] = view;
  if (old_node == node) return same_facts(before, entry.fact(uid)) ? Dirty{} : Dirty{node};
  link(uid, node);
  if (old_node.empty()) return {node};
  unlink(uid, old_node);
  return {old_node, node};
}

PodTable::Dirty PodTable::Records::take(const kube::Uid& uid, PodWatchId watch) {
  const auto found = pods.find(uid);
  if (found == pods.end()) return {};
  Entry& entry = found->second;
  const PodFact before = entry.fact(uid);
  const kube::Symbol node = entry.node;
  entry.views[index_of(watch)] = View{};
  if (same_facts(before, entry.fact(uid))) return {};
  if (!entry.shown()) {
    unlink(uid, node);
    names.erase(uid);
    pods.erase(found);
  }
  return {node};
}

void PodTable::Records::link(const kube::Uid& uid, const kube::Symbol& node) { by_node[node].push_back(uid); }

void PodTable::Records::unlink(const kube::Uid& uid, const kube::Symbol& node) {
  const auto found = by_node.find(node);
  std::erase(found->second, uid);
  if (found->second.empty()) by_node.erase(found);
}

void PodTable::list_begins(PodWatchId watch) {
  records_.with([&](Records& records) {
    for (auto& [uid, entry] : records.pods) entry.views[index_of(watch)].listed = false;
  });
}

void PodTable::apply(PodWatchId watch, const kube::Pod& pod) {
  const Roles roles = roles_of(watch, pod, options_);
  if (roles == 0 || pod.node.empty()) return remove(watch, pod);
  const bool dcgm = (roles & kDcgm) != 0;
  const DcgmMajor major = dcgm ? dcgm_major(pod.images) : DcgmMajor::kNone;
  if (dcgm && major == DcgmMajor::kNone) report_unversioned(pod);
  const View view{.roles = roles, .ready = pod.ready, .listed = true, .major = major};
  const kube::Symbol node(pod.node);
  announce(records_.with([&](Records& records) {
    if (events_.keep_pod_names) records.names[pod.uid] = pod.name;
    return records.put(pod.uid, watch, node, view);
  }));
}

void PodTable::remove(PodWatchId watch, const kube::Pod& last) {
  announce(records_.with([&](Records& records) { return records.take(last.uid, watch); }));
}

void PodTable::still_there(PodWatchId watch, const kube::Uid& uid) {
  records_.with([&](Records& records) {
    if (const auto found = records.pods.find(uid); found != records.pods.end())
      found->second.views[index_of(watch)].listed = true;
  });
}

void PodTable::list_ends(PodWatchId watch) {
  announce(records_.with([&](Records& records) {
    std::vector<kube::Uid> gone;
    for (const auto& [uid, entry] : records.pods) {
      const View& view = entry.views[index_of(watch)];
      if (view.roles != 0 && !view.listed) gone.push_back(uid);
    }
    Dirty dirty;
    for (const kube::Uid& uid : gone) {
      for (kube::Symbol& node : records.take(uid, watch)) dirty.push_back(std::move(node));
    }
    return dirty;
  }));
}

void PodTable::announce(const Dirty& dirty) const {
  for (const kube::Symbol& node : dirty) events_.dirty(kube::NodeName(node.view()));
}

void PodTable::report_unversioned(const kube::Pod& pod) {
  if (!events_.unversioned) return;
  for (const std::string& image : pod.images) {
    if (!is_unversioned_dcgm(image)) continue;
    const bool fresh = records_.with([&](Records& records) {
      auto& reported = records.reported_images;
      return reported.size() < kMostReportedImages && reported.insert(image).second;
    });
    if (fresh) events_.unversioned(image);
  }
}

PodFacts PodTable::facts_of(const kube::NodeName& node) const {
  const kube::Symbol key(node.str());
  PodFacts facts = records_.with([&](const Records& records) {
    PodFacts found;
    const auto on_node = records.by_node.find(key);
    if (on_node == records.by_node.end()) return found;
    for (const kube::Uid& uid : on_node->second) {
      found.push_back(records.pods.at(uid).fact(uid));
      if (const auto name = records.names.find(uid); name != records.names.end()) found.back().name = name->second;
    }
    return found;
  });
  std::sort(facts.begin(), facts.end(), [](const PodFact& a, const PodFact& b) { return a.uid < b.uid; });
  return facts;
}

std::size_t PodTable::pods() const {
  return records_.with([](const Records& records) { return records.pods.size(); });
}

}  // namespace nodeward::labels
