// Fault-quarantine at work: a source's events wait by node, one reflector keeps the nodes, workers plan all that waits for a node
// at once and write what differs with one PATCH; what became of each event goes back to the source.
// Built and run in main; readiness() and refresh() from any thread.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/clock.h"
#include "base/guarded.h"
#include "events/source.h"
#include "kube/client.h"
#include "kube/reflector.h"
#include "kube/work_queue.h"
#include "nodes/node_view.h"
#include "nodes/node_writer.h"
#include "quarantine/inbox.h"
#include "quarantine/metrics.h"
#include "quarantine/options.h"
#include "quarantine/plan.h"
#include "telemetry/metrics.h"

namespace nodeward::quarantine {

struct FaultQuarantineOptions {
  Options quarantine = {};
  kube::NodeSelection selection = {};  // merged(own_selection(...), what the rules look at)
  std::vector<std::string> rule_sets = {};  // names of those enabled, for the metrics
  double qps = 5;
  double burst = 10;
  int workers = 16;
  nodes::Fence fence = {};  // closed: another copy acts, events wait; see resume()
  // A write that the server refuses, each time its words are news.
  std::function<void(const kube::NodeName&, const std::string& why)> on_refused = [](const kube::NodeName&, const std::string&) {
  };
  // Each event settled with a decision; for Kubernetes Events.
  std::function<void(const events::HealthEvent&, const Judgement&)> on_settled = [](const events::HealthEvent&,
                                                                                    const Judgement&) {};
  // Set: nothing is sent; each body is given to this instead, and the next events of the node are judged as if it had been sent.
  std::function<void(const kube::NodeName&, std::string_view body)> print_only = {};
};

class FaultQuarantine {
 public:
  FaultQuarantine(kube::Client& client, events::Source& source, Judge judge, FaultQuarantineOptions options,
                  telemetry::Metrics& registry, Clock& clock);

  // Until stopped, or until the source has ended and its events are settled. The number of events that are not: those whose write
  // the server refuses, and those that still wait after five minutes in which nothing moved; each was reported to the source. 0
  // after a stop. An error: the source is gone; what it gave before is settled or reported all the same.
  Result<std::size_t> run(const std::stop_token& stop);

  // The fence is open again. Any thread.
  void resume();

  struct Readiness {
    bool ready = false;  // the nodes are read
    std::string text;  // what it waits for; which nodes the server refuses to have written
  };
  Readiness readiness() const;
  void refresh();  // gauges that are read off, before a scrape

 private:
  Result<> feed(const std::stop_token& stop);
  void accept(events::Arrived arrived);
  std::size_t report_the_rest();

  void work(const std::stop_token& stop);
  std::optional<MonoTime> handle(const kube::NodeName& name, const std::stop_token& stop);
  nodes::Outcome write(const kube::NodeName& name, const nodes::NodeWriter::Plan& plan, const std::stop_token& stop);
  std::optional<MonoTime> settle_planned(const kube::NodeName& name, InHand hand, const Plan& plan);
  std::optional<MonoTime> settle_missing(const kube::NodeName& name, InHand hand, bool gone);
  MonoTime wait(const kube::NodeName& name, InHand hand, WallTime planned_at, const std::optional<Plan>& plan,
                const nodes::Later& later);
  void settle(const events::Arrived& arrived, const Judgement& judgement, int requests);
  void settle_without_node(const events::Arrived& arrived, std::string why, int requests = 0);
  void tell_unreadable(const kube::NodeName& name, const std::vector<Unreadable>& unreadable);

  void node_changed(const kube::NodeName& name, bool gone);
  void list_read();
  void wake_all();

  const FaultQuarantineOptions options_;
  events::Source& source_;
  const Judge judge_;
  Clock& clock_;
  Metrics metrics_;
  Inbox inbox_;
  kube::WorkQueue queue_;
  nodes::NodeView view_;
  nodes::NodeWriter writer_;
  kube::Reflector<kube::Node> reader_;
  Guarded<std::unordered_set<kube::NodeName>> told_unreadable_;  // nodes whose unreadable annotations are in the log
  Guarded<std::unordered_map<kube::NodeName, kube::Node>> printed_;  // print_only: nodes as they would be
};

}  // namespace nodeward::quarantine
