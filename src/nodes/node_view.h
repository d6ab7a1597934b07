// The freshest node that this process knows of: the watch cache, overlaid with the answers to our own writes, so that
// back-to-back writes need no GET (docs/architecture.md, "How work flows"). One reflector writes (the Sink part); any thread reads.
//
// An overlay ends when the cache holds the same or a newer version, on DELETED, on another uid, or when a list is older than
// what was seen before (a restored etcd).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <unordered_map>
#include <vector>

#include "base/guarded.h"
#include "kube/objects.h"
#include "kube/sink.h"

namespace nodeward::nodes {

class NodeView final : public kube::Sink<kube::Node> {
 public:
  // Called after a node appeared, went, or changed in something that is kept (a heartbeat changes nothing); under no lock, on
  // the thread that brought the news. `now` is null for a node that went.
  using OnChange = std::function<void(const kube::NodeName&, const std::shared_ptr<const kube::Node>& now)>;
  explicit NodeView(OnChange on_change) : on_change_(std::move(on_change)) {}

  // null: not known (or not yet).
  std::shared_ptr<const kube::Node> freshest(const kube::NodeName& name) const;
  std::vector<kube::NodeName> names() const;
  std::size_t size() const;

  // The answer to a write or a GET of ours; of no use for a node that the cache does not know.
  void answered(kube::Node node);
  // The server said 404: an overlay is worth nothing any more.
  void missing(const kube::NodeName& name);

  void list_begins() override;
  void apply(kube::Node node) override;
  void remove(const kube::Node& last) override;
  void unreadable(const kube::Node& who) override;
  void list_ends(const kube::ResourceVersion& version) override;

 private:
  using Shared = std::shared_ptr<const kube::Node>;
  struct Entry {
    Shared cached;  // never null
    Shared overlay;  // null: the cache is the freshest
    std::uint32_t list = 0;  // the list that last showed it
    std::uint32_t overlay_list = 0;  // the list under way, or the last one, when the overlay was made
    const Shared& freshest() const { return overlay ? overlay : cached; }
  };
  struct State {
    std::unordered_map<kube::NodeName, Entry> entries;
    std::uint32_t list = 0;
    bool nameless = false;  // the list under way holds an object that may be any of the entries
    kube::ResourceVersion newest;  // of all that was seen: lists, events, answers
    kube::ResourceVersion
        before_list;  // the same when the list under way began; the list cannot be older, but for a restored etcd
    void saw(const kube::ResourceVersion& version);
  };
  static bool overlay_outlives(const Entry& entry, const kube::Node& cached, std::uint32_t list);
  void report(const kube::NodeName& name, const Shared& before, const Shared& now) const;

  const OnChange on_change_;
  Guarded<State> state_;
};

}  // namespace nodeward::nodes
