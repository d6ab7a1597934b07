#include "sim/store.h"

#include <fmt/format.h>

#include <algorithm>

namespace nodeward::sim {
namespace {

Doc numbered(const Doc& object, std::uint64_t version) {
  return object.with({"metadata", "resourceVersion"}, Doc::string(std::to_string(version)));
}

}  // namespace

std::string object_key(std::string_view space, std::string_view name) {
  return space.empty() ? std::string(name) : fmt::format("{}/{}", space, name);
}

std::optional<std::uint64_t> Shelf::change_after(std::uint64_t version) const {
  if (version < forgotten_version_) return std::nullopt;
  const auto found = std::upper_bound(changes_.begin(), changes_.end(), version,
                                      [](std::uint64_t wanted, const Change& change) { return wanted < change.version; });
  return forgotten_ + static_cast<std::uint64_t>(found - changes_.begin());
}

void Shelf::forget(std::size_t count) {
  for (; count > 0; --count) {
    forgotten_version_ = changes_.front().version;
    bytes_ -= changes_.front().bytes;
    changes_.pop_front();
    ++forgotten_;
  }
}

void Shelf::add(Change change, std::size_t most, std::size_t most_bytes) {
  change.bytes = change.deleted ? change.after.bytes_beside({}) : change.before.bytes_beside(change.after);
  bytes_ += change.bytes;
  changes_.push_back(std::move(change));
  if (changes_.size() > kTextsKept) changes_[changes_.size() - 1 - kTextsKept].text = nullptr;
  if (changes_.size() > most) forget(changes_.size() - most);
  while (bytes_ > most_bytes && changes_.size() > 1) forget(1);
  for (ChangeListener* listener : listeners_) listener->changed();
}

Shelf& Store::shelf(const Resource& resource) { return shelves_[&stored_as(resource)]; }

const Doc* Store::find(const Resource& resource, std::string_view key) {
  const auto& objects = shelf(resource).objects();
  const auto found = objects.find(key);
  return found == objects.end() ? nullptr : &found->second;
}

Doc Store::put(const Resource& resource, const std::string& key, const Doc& object) {
  Shelf& shelf = this->shelf(resource);
  Doc& place = shelf.objects_[key];
  Doc stored = numbered(object, ++version_);
  Change change{.version = version_, .before = std::exchange(place, stored), .after = stored};
  shelf.add(std::move(change), most_changes_, most_bytes_);
  return stored;
}

Doc Store::remove(const Resource& resource, const std::string& key) {
  Shelf& shelf = this->shelf(resource);
  const auto found = shelf.objects_.find(key);
  if (found == shelf.objects_.end()) return {};
  Doc last = numbered(found->second, ++version_);
  Change change{.version = version_, .before = found->second, .after = last, .deleted = true};
  shelf.objects_.erase(found);
  shelf.add(std::move(change), most_changes_, most_bytes_);
  return last;
}

void Store::compact() {
  for (auto& [resource, shelf] : shelves_) shelf.forget(shelf.changes_.size());
  // A resource without changes is compacted too: nothing tells a version without changes from a forgotten one.
  for (const Resource& resource : resources()) shelf(resource).forgotten_version_ = version_;
}

std::optional<Store::Listed> Store::list(const Resource& resource, const ListQuery& query) {
  Shelf& shelf = this->shelf(resource);
  Listed listed{.version = query.version == 0 ? version_ : query.version};
  // What stood otherwise at that version: the state before the first change after it.
  std::map<std::string, Doc, std::less<>> earlier;
  if (query.version != 0 && query.version < version_) {
    const auto after = shelf.change_after(query.version);
    if (!after) return std::nullopt;
    for (std::uint64_t number = shelf.end_change(); number-- > *after;) {
      const Change& change = shelf.change(number);
      const Doc& metadata = change.after.at("metadata");
      earlier[object_key(metadata.at("namespace").text(), metadata.at("name").text())] = change.before;
    }
  }
  std::optional<std::size_t> left = query.known;
  if (!left && query.space.empty() && query.start.empty() && earlier.empty()) left = shelf.objects().size();
  const std::string prefix = query.space.empty() ? "" : query.space + "/";
  const std::string& start = std::max(prefix, query.start);
  auto now = shelf.objects().lower_bound(start);
  auto then = earlier.lower_bound(start);
  std::size_t passed = 0;
  while (now != shelf.objects().end() || then != earlier.end()) {
    const bool from_then = then != earlier.end() && (now == shelf.objects().end() || then->first <= now->first);
    const std::string& key = from_then ? then->first : now->first;
    const Doc& object = from_then ? then->second : now->second;
    if (!key.starts_with(prefix)) break;
    if (!object.is_null()) {
      const bool full = listed.objects.size() == query.limit;
      if (listed.next.empty() && full && (!query.wanted || query.wanted(object))) listed.next = key;
      if (!listed.next.empty() && left) break;
      if (!listed.next.empty()) {
        ++listed.left;
      } else {
        ++passed;
        if (!query.wanted || query.wanted(object)) listed.objects.push_back(object);
      }
    }
    if (from_then && now != shelf.objects().end() && now->first == key) ++now;
    from_then ? void(++then) : void(++now);
  }
  if (left) listed.left = *left - std::min(*left, passed);
  return listed;
}

}  // namespace nodeward::sim
