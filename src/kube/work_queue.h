// Dirty keys waiting for a worker. A key is in the queue at most once, is given to at most one worker at a time, and is given
// again when it was added while a worker had it. Bounded by the number of keys, whatever the number of events. Any thread.
//   while (auto name = queue.take(stop)) { ...; queue.done(*name); }        // or done(*name, when) to see it again then
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <set>
#include <stop_token>
#include <unordered_map>

#include "base/clock.h"
#include "kube/objects.h"

namespace nodeward::kube {

class WorkQueue {
 public:
  explicit WorkQueue(Clock& clock) : clock_(clock) {}

  void add(const NodeName& key) { add_at(key, MonoTime::min()); }
  // Due at `when`; a key that waits already is due at the earlier of the two.
  void add_at(const NodeName& key, MonoTime when);

  // Blocks for a key that is due, the one due first (then the one added first). nullopt: stopped.
  std::optional<NodeName> take(const std::stop_token& stop);
  // The worker is through with the key. `again`: to be seen again at that time, unless it was added meanwhile.
  void done(const NodeName& key, std::optional<MonoTime> again = std::nullopt);

  std::size_t size() const;             // waiting, due or not; those being worked on are not counted
  bool idle() const;                    // nothing waits and nobody works

 private:
  struct Entry {
    bool working = false;
    std::optional<MonoTime> due;        // waiting (or, while working, to wait afterwards)
    std::uint64_t ticket = 0;           // order among keys that are due
  };
  struct Waiting {
    MonoTime due;
    std::uint64_t ticket;
    NodeName key;
    friend auto operator<=>(const Waiting& a, const Waiting& b) {
      if (const auto order = a.due <=> b.due; order != 0) return order;
      return a.ticket <=> b.ticket;
    }
    friend bool operator==(const Waiting& a, const Waiting& b) { return a.due == b.due && a.ticket == b.ticket; }
  };
  void wait_in_line(Entry& entry, const NodeName& key, MonoTime when);

  Clock& clock_;
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  std::unordered_map<NodeName, Entry> entries_;
  std::set<Waiting> line_;
  std::uint64_t tickets_ = 0;
};

}  // namespace nodeward::kube
