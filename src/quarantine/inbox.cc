#include "quarantine/inbox.h"

#include <algorithm>
#include <utility>

namespace nodeward::quarantine {

using events::Arrived;
using kube::NodeName;

NodeName Inbox::add(Arrived arrived) {
  NodeName node(arrived.event.node_name);
  const MonoTime now = clock_.now();
  const std::lock_guard lock(mutex_);
  Entry& entry = entries_[node];
  refused_nodes_ -= entry.is_refused() ? 1 : 0;
  entry.untried = true;
  entry.waiting.push_back({std::move(arrived), now});
  ++unsettled_;
  return node;
}

InHand Inbox::take(const NodeName& node, std::size_t most) {
  InHand hand;
  const std::lock_guard lock(mutex_);
  const auto place = entries_.find(node);
  if (place == entries_.end()) return hand;
  Entry& entry = place->second;
  for (; hand.events.size() < most && !entry.waiting.empty(); entry.waiting.pop_front()) {
    hand.events.push_back(std::move(entry.waiting.front().arrived));
    hand.since.push_back(entry.waiting.front().since);
  }
  hand.trouble = entry.trouble;
  refused_nodes_ -= entry.is_refused() ? 1 : 0;
  entry.untried = false;
  refused_nodes_ += entry.is_refused() ? 1 : 0;
  return hand;
}

void Inbox::give_back(const NodeName& node, InHand hand, std::size_t settled, Trouble trouble) {
  const MonoTime now = clock_.now();
  const std::lock_guard lock(mutex_);
  const auto place = entries_.find(node);
  if (place == entries_.end()) return;
  Entry& entry = place->second;
  for (std::size_t i = hand.events.size(); i > settled; --i)
    entry.waiting.push_front({std::move(hand.events[i - 1]), hand.since[i - 1]});
  refused_nodes_ -= entry.is_refused() ? 1 : 0;
  entry.trouble = std::move(trouble);
  refused_nodes_ += entry.is_refused() ? 1 : 0;
  if (settled > 0) {
    entry.requests = 0;
    unsettled_ -= settled;
    progress_ = now;
  }
  if (entry.waiting.empty()) {
    refused_nodes_ -= entry.is_refused() ? 1 : 0;
    entries_.erase(place);
  }
  changed_.notify_all();
}

void Inbox::count_request(const NodeName& node) {
  const std::lock_guard lock(mutex_);
  if (const auto place = entries_.find(node); place != entries_.end()) ++place->second.requests;
}

int Inbox::requests(const NodeName& node) const {
  const std::lock_guard lock(mutex_);
  const auto place = entries_.find(node);
  return place == entries_.end() ? 0 : place->second.requests;
}

bool Inbox::waits(const NodeName& node) const {
  const std::lock_guard lock(mutex_);
  return entries_.contains(node);
}

std::vector<NodeName> Inbox::nodes() const {
  const std::lock_guard lock(mutex_);
  std::vector<NodeName> names;
  for (const auto& [name, entry] : entries_) names.push_back(name);
  return names;
}

std::size_t Inbox::unsettled() const {
  const std::lock_guard lock(mutex_);
  return unsettled_;
}

bool Inbox::wait_for_room(std::size_t most, const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  return clock_.wait_until(lock, changed_, MonoTime::max(), stop, [&] { return unsettled_ < most; });
}

bool Inbox::wait_for_the_last(Duration patience, const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  progress_ = clock_.now();
  const auto over = [&] { return entries_.size() == refused_nodes_; };
  while (!over() && !stop.stop_requested() && clock_.now() < progress_ + patience) {
    clock_.wait_until(lock, changed_, progress_ + patience, stop, over);
  }
  return !stop.stop_requested();
}

std::vector<Inbox::Left> Inbox::leave() {
  const std::lock_guard lock(mutex_);
  std::vector<Left> left;
  for (auto& [name, entry] : entries_) {
    for (Waiting& waiting : entry.waiting)
      left.push_back({std::move(waiting.arrived), entry.trouble, std::exchange(entry.requests, 0)});
  }
  entries_.clear();
  unsettled_ = refused_nodes_ = 0;
  std::sort(left.begin(), left.end(), [](const Left& a, const Left& b) { return a.arrived.position < b.arrived.position; });
  return left;
}

}  // namespace nodeward::quarantine
