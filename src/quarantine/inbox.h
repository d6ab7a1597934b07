// Events that wait for their node, in order per node, and how much of it all is not settled yet. Any thread; one worker per node
// at a time (the work queue sees to that).
//   InHand hand = inbox.take(node, 100);
//   ...                                        // the first n are settled, the others go back to the front
//   inbox.give_back(node, std::move(hand), n, trouble);
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "events/source.h"
#include "kube/objects.h"

namespace nodeward::quarantine {

// Why a node's events wait.
struct Trouble {
  std::string why = {};
  bool refused = false;                    // the server refuses the write: waiting alone will not help
  // The wall time that the refused body was made with: the same wish must give the same bytes.
  std::optional<WallTime> planned_at = {};
};

struct InHand {
  std::vector<events::Arrived> events;     // oldest first
  std::vector<MonoTime> since;             // when each came
  Trouble trouble;                         // as given back last time
};

class Inbox {
 public:
  explicit Inbox(Clock& clock) : clock_(clock) {}

  // The node that waits for it.
  kube::NodeName add(events::Arrived arrived);
  InHand take(const kube::NodeName& node, std::size_t most);
  void give_back(const kube::NodeName& node, InHand hand, std::size_t settled, Trouble trouble = {});
  // Requests sent for the node since one of its events was settled last.
  void count_request(const kube::NodeName& node);
  int requests(const kube::NodeName& node) const;

  bool waits(const kube::NodeName& node) const;
  std::vector<kube::NodeName> nodes() const;
  std::size_t unsettled() const;

  // Until fewer than `most` events are unsettled. False: stopped.
  bool wait_for_room(std::size_t most, const std::stop_token& stop);
  // Until all is settled, or what is left is refused, or nothing was settled for so long. False: stopped.
  bool wait_for_the_last(Duration patience, const std::stop_token& stop);

  struct Left {
    events::Arrived arrived;
    Trouble trouble;
    int requests = 0;
  };
  // What was never settled. For when no worker runs any more; empties the inbox.
  std::vector<Left> leave();

 private:
  struct Waiting {
    events::Arrived arrived;
    MonoTime since;
  };
  struct Entry {
    std::deque<Waiting> waiting;
    bool untried = false;                  // something came since they were taken last
    int requests = 0;
    Trouble trouble;
    bool is_refused() const { return trouble.refused && !untried; }
  };

  Clock& clock_;
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  std::unordered_map<kube::NodeName, Entry> entries_;   // of nodes with unsettled events only
  std::size_t unsettled_ = 0;
  std::size_t refused_nodes_ = 0;
  MonoTime progress_{};                                 // when something was settled last
};

}  // namespace nodeward::quarantine
