#include "nodes/node_view.h"

#include <compare>
#include <optional>
#include <utility>

namespace nodeward::nodes {

using kube::Node;
using kube::NodeName;

std::shared_ptr<const Node> NodeView::freshest(const NodeName& name) const {
  return state_.with([&](const State& state) -> Shared {
    const auto place = state.entries.find(name);
    return place == state.entries.end() ? nullptr : place->second.freshest();
  });
}

std::vector<NodeName> NodeView::names() const {
  return state_.with([](const State& state) {
    std::vector<NodeName> names;
    names.reserve(state.entries.size());
    for (const auto& [name, entry] : state.entries) names.push_back(name);
    return names;
  });
}

std::size_t NodeView::size() const {
  return state_.with([](const State& state) { return state.entries.size(); });
}

void NodeView::answered(Node node) {
  auto shared = std::make_shared<const Node>(std::move(node));
  state_.with([&](State& state) {
    const auto place = state.entries.find(shared->name);
    if (place == state.entries.end()) return;    // deleted meanwhile, and the watch was quicker to say so
    Entry& entry = place->second;
    const auto order = compare(entry.cached->version, shared->version);
    if (order && std::is_gteq(*order)) return;            // the watch was quicker, be it with another node of this name
    entry.overlay = shared;
    entry.overlay_list = state.list;
    state.saw(shared->version);
  });
}

void NodeView::missing(const NodeName& name) {
  state_.with([&](State& state) {
    const auto place = state.entries.find(name);
    if (place == state.entries.end()) return;
    place->second.overlay.reset();
  });
}

void NodeView::list_begins() {
  state_.with([](State& state) {
    ++state.list;
    state.nameless = false;
    state.before_list = state.newest;
  });
}

void NodeView::State::saw(const kube::ResourceVersion& version) {
  const auto order = compare(newest, version);
  if (!order || std::is_lt(*order)) newest = version;
}

bool NodeView::overlay_outlives(const Entry& entry, const Node& cached, std::uint32_t list) {
  if (!entry.overlay || entry.overlay->uid != cached.uid) return false;
  const auto order = compare(cached.version, entry.overlay->version);
  if (order) return std::is_lt(*order);
  return entry.overlay_list == list;         // no order between the two: a list begun after the answer is newer
}

void NodeView::apply(Node node) {
  auto shared = std::make_shared<const Node>(std::move(node));
  const auto [before, now] = state_.with([&](State& state) {
    Entry& entry = state.entries[shared->name];
    Shared was = entry.freshest();
    if (!overlay_outlives(entry, *shared, state.list)) entry.overlay.reset();
    entry.cached = shared;
    entry.list = state.list;
    state.saw(shared->version);
    return std::pair(std::move(was), entry.freshest());
  });
  report(shared->name, before, now);
}

void NodeView::remove(const Node& last) {
  const Shared before = state_.with([&](State& state) -> Shared {
    const auto place = state.entries.find(last.name);
    if (place == state.entries.end()) return nullptr;
    Shared was = place->second.freshest();
    state.entries.erase(place);
    return was;
  });
  report(last.name, before, nullptr);
}

void NodeView::unreadable(const Node& who) {
  state_.with([&](State& state) {
    if (who.name.empty()) state.nameless = true;
    if (const auto place = state.entries.find(who.name); place != state.entries.end()) place->second.list = state.list;
  });
}

void NodeView::list_ends(const kube::ResourceVersion& version) {
  struct Change {
    NodeName name;
    Shared before, now;
  };
  const auto changes = state_.with([&](State& state) {
    std::vector<Change> found;
    const auto order = compare(version, state.before_list);
    const bool restored = order && std::is_lt(*order);
    if (restored) state.newest = version;
    state.saw(version);
    for (auto place = state.entries.begin(); place != state.entries.end();) {
      Entry& entry = place->second;
      if (entry.list != state.list && !state.nameless) {        // not in this list: gone
        found.push_back({place->first, entry.freshest(), nullptr});
        place = state.entries.erase(place);
        continue;
      }
      if (restored && entry.overlay) {
        found.push_back({place->first, std::exchange(entry.overlay, nullptr), entry.cached});
      }
      ++place;
    }
    return found;
  });
  for (const Change& change : changes) report(change.name, change.before, change.now);
}

void NodeView::report(const NodeName& name, const Shared& before, const Shared& now) const {
  if (!before && !now) return;
  if (before && now && (before == now || before->same_content(*now))) return;
  on_change_(name, now);
}

}  // namespace nodeward::nodes
