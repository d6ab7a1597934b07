// What is kept of pods: a few bits per uid, and which pods are on a node. Three watches write into one table, each through its
// own sink; a pod that two of them show is one pod. Pods of nodes that nobody knows (yet) are kept all the same.
//   PodTable table(options, {.dirty = ...});
//   reflector(..., table.sink(PodWatchId::kApps)); ...
//   wanted(node, table.facts_of(node.name), options)
// Sinks: one thread each, as sink.h says. Everything else: any thread.
#pragma once

#include <array>
#include <functional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/guarded.h"
#include "kube/objects.h"
#include "kube/sink.h"
#include "kube/symbol.h"
#include "labels/dcgm_version.h"
#include "labels/options.h"
#include "labels/pod_watches.h"

namespace nodeward::labels {

struct PodFact {
  kube::Uid uid;
  Roles roles = 0;
  bool ready = false;
  DcgmMajor major = DcgmMajor::kNone;    // of a DCGM pod
  std::string name = {};                 // only when PodTable keeps names
};
using PodFacts = std::vector<PodFact>;   // of one node, by uid

class PodTable {
 public:
  // Called from the sinks' threads, no lock held; must not block.
  struct Events {
    std::function<void(const kube::NodeName&)> dirty;                     // the facts of this node changed
    std::function<void(std::string_view image)> unversioned = nullptr;    // a DCGM pod's image tells no major; once per text
    bool keep_pod_names = false;                                          // for --print-only: costs some 100 bytes a pod
  };

  PodTable(Options options, Events events);

  kube::Sink<kube::Pod>& sink(PodWatchId watch) { return sinks_[static_cast<std::size_t>(watch)]; }

  PodFacts facts_of(const kube::NodeName& node) const;
  std::size_t pods() const;              // bound pods, each counted once

 private:
  class WatchSink final : public kube::Sink<kube::Pod> {
   public:
    WatchSink(PodTable& table, PodWatchId watch) : table_(table), watch_(watch) {}
    void list_begins() override {
      nameless_ = false;
      table_.list_begins(watch_);
    }
    void apply(kube::Pod pod) override { table_.apply(watch_, pod); }
    void remove(const kube::Pod& last) override { table_.remove(watch_, last); }
    void unreadable(const kube::Pod& who) override {
      nameless_ = nameless_ || who.uid.empty();
      table_.still_there(watch_, who.uid);
    }
    void list_ends(const kube::ResourceVersion&) override {
      if (!nameless_) table_.list_ends(watch_);
    }

   private:
    PodTable& table_;
    PodWatchId watch_;
    bool nameless_ = false;              // the list under way holds an object that may be any of the pods
  };

  // A pod as one watch shows it, in a byte: 200,000 pods are to fit in 40 MB. Kept apart per watch, since nothing orders the
  // events of one watch against those of another.
  struct View {
    Roles roles : 4 = 0;                 // 0: this watch does not show the pod
    bool ready : 1 = false;
    bool listed : 1 = false;             // shown since the last list began
    DcgmMajor major : 2 = DcgmMajor::kNone;
  };
  struct Entry {
    kube::Symbol node;
    std::array<View, kPodWatches> views;
    bool shown() const;
    PodFact fact(const kube::Uid& uid) const;
  };
  using Dirty = std::vector<kube::Symbol>;

  // Under the lock; each returns the nodes whose facts changed.
  struct Records {
    std::unordered_map<kube::Uid, Entry> pods;
    std::unordered_map<kube::Symbol, std::vector<kube::Uid>> by_node;
    std::unordered_map<kube::Uid, std::string> names;
    std::unordered_set<std::string> reported_images;

    Dirty put(const kube::Uid& uid, PodWatchId watch, const kube::Symbol& node, View view);
    Dirty take(const kube::Uid& uid, PodWatchId watch);
    void link(const kube::Uid& uid, const kube::Symbol& node);
    void unlink(const kube::Uid& uid, const kube::Symbol& node);
  };

  void list_begins(PodWatchId watch);
  void apply(PodWatchId watch, const kube::Pod& pod);
  void remove(PodWatchId watch, const kube::Pod& last);
  void still_there(PodWatchId watch, const kube::Uid& uid);
  void list_ends(PodWatchId watch);
  void announce(const Dirty& dirty) const;
  void report_unversioned(const kube::Pod& pod);

  const Options options_;
  const Events events_;
  std::array<WatchSink, kPodWatches> sinks_;
  Guarded<Records> records_;
};

}  // namespace nodeward::labels
