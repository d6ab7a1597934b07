// The objects of the simulated server: present ones, and what changed lately, from which watches are fed and from which lists of
// an earlier version are put together. One counter numbers all changes. One thread.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "sim/document.h"
#include "sim/path.h"
#include "sim/resources.h"
#include "sim/status.h"

namespace nodeward::sim {

struct Change {
  std::uint64_t version = 0;
  Doc before;                                     // null: created
  Doc after;                                      // of a deletion: the last state, with the deletion's version
  bool deleted = false;
  std::size_t bytes = 0;                          // that only this remembers, about
  std::shared_ptr<const std::string> text = nullptr;      // the whole object as JSON, while several watches want it
};

// Told of each change of its kind.
class ChangeListener {
 public:
  virtual ~ChangeListener() = default;
  virtual void changed() = 0;
};

// All objects of one resource.
class Shelf {
 public:
  using Objects = std::map<std::string, Doc, std::less<>>;
  const Objects& objects() const { return objects_; }

  // Changes are numbered from 0 for ever; those before first_change() are forgotten.
  std::uint64_t first_change() const { return forgotten_; }
  std::uint64_t end_change() const { return forgotten_ + changes_.size(); }
  Change& change(std::uint64_t number) { return changes_[number - forgotten_]; }
  // The first change after a version; nullopt: some change after it is forgotten.
  std::optional<std::uint64_t> change_after(std::uint64_t version) const;

  // Watches that keep up share one text per change; one alone, and those further behind, write it without keeping it: 50,000
  // texts would be 850 MB.
  bool keeps_text(std::uint64_t number) const { return listeners_.size() > 1 && end_change() - number <= kTextsKept; }

  void listen(ChangeListener* listener) { listeners_.insert(listener); }
  void unlisten(ChangeListener* listener) { listeners_.erase(listener); }

 private:
  friend class Store;
  static constexpr std::size_t kTextsKept = 2'000;
  void add(Change change, std::size_t most, std::size_t most_bytes);
  void forget(std::size_t count);

  Objects objects_;
  std::deque<Change> changes_;
  std::size_t bytes_ = 0;                         // of all of them
  std::uint64_t forgotten_ = 0;                   // how many changes
  std::uint64_t forgotten_version_ = 0;           // of the newest of them
  std::unordered_set<ChangeListener*> listeners_;
};

// "namespace/name", or "name": the order of lists.
std::string object_key(std::string_view space, std::string_view name);

class Store {
 public:
  // What is remembered per resource.
  explicit Store(std::size_t most_changes = 50'000, std::size_t most_bytes = 512UL << 20)
      : most_changes_(most_changes), most_bytes_(most_bytes) {}

  std::uint64_t version() const { return version_; }
  Shelf& shelf(const Resource& resource);
  const Doc* find(const Resource& resource, std::string_view key);

  // Numbers the object, stores it, and returns it as stored.
  Doc put(const Resource& resource, const std::string& key, const Doc& object);
  // The object as it was last, with the deletion's version; null: it was not there.
  Doc remove(const Resource& resource, const std::string& key);
  // Everything so far counts as compacted: lists and watches of earlier versions are told so.
  void compact();

  struct ListQuery {
    std::string space = {};                       // empty: all
    std::string start = {};                       // the first key wanted
    std::uint64_t version = 0;                    // 0: the present
    std::size_t limit = SIZE_MAX;
    std::optional<std::size_t> known = {};        // how many objects there are from `start` on; else they are counted
    std::function<bool(const Doc&)> wanted = {};  // empty: all
  };
  struct Listed {
    std::vector<Doc> objects = {};
    std::uint64_t version = 0;
    std::string next = {};                        // the key to go on from; empty: that was all
    std::size_t left = 0;                         // objects from there on, wanted or not
  };
  // nullopt: the version is compacted.
  std::optional<Listed> list(const Resource& resource, const ListQuery& query);

 private:
  const std::size_t most_changes_;
  const std::size_t most_bytes_;
  std::uint64_t version_ = 1;
  std::map<const Resource*, Shelf> shelves_;
};

}  // namespace nodeward::sim
