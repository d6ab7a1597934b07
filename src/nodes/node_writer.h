// The only way this product writes a node: plan on the freshest node, one PATCH with the keys that differ, and one place that
// knows what each answer means (docs/architecture.md, "The write contract"). Never waits but for the request in hand and,
// after a conflict, for at most 50 ms: what has to wait comes back as Later and goes into the work queue with its due time.
//
//   const auto done = writer.apply(name, [&](const kube::Node& node) { return wanted(node); }, stop);
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <variant>
#include <vector>

#include "base/backoff.h"
#include "base/clock.h"
#include "base/guarded.h"
#include "kube/client.h"
#include "kube/decode.h"
#include "nodes/node_patch.h"
#include "nodes/node_view.h"
#include "nodes/rate.h"

namespace nodeward::nodes {

struct Unchanged {};                                          // the node is as wanted: no call
struct Written {
  std::shared_ptr<const kube::Node> node;                     // as the server answered it
  bool lightened = false;                                     // a part that the server refused was left out
};
struct Later {                                                // nothing is lost: come back then and plan again
  enum class Reason {
    kRate,                                                    // waits for its place in the rate, or in flight
    kFailed,                                                  // the server, or the way to it, failed
    kRefused,                                                 // the server refused the body (400, 403, 422)
    kFenced,                                                  // another copy writes; woken by resume()
  };
  MonoTime due;
  Reason reason = Reason::kRate;
  std::string why = {};                                       // for the log and /readyz
};
struct Unknown {};                                            // no such node in the cache
struct Gone {};                                               // the server said 404: final
struct Stopped {};
using Outcome = std::variant<Unchanged, Written, Later, Unknown, Gone, Stopped>;

// One request sent, as the metrics want it.
struct Attempt {
  const kube::NodeName& node;
  std::string_view verb;                                      // "PATCH" or "GET"
  const Error* error = nullptr;                               // null: answered 200
};

// Where another copy of the program may run (kube/lease.h). Both are asked just before a send.
struct Fence {
  std::function<bool()> may_write = [] { return true; };
  // Every body names the version it was computed from: a write that the other copy had sent may still land.
  std::function<bool()> guard_all = [] { return false; };
};

struct WriterOptions {
  std::string field_manager;                                  // "labeler", "fault-quarantine"
  kube::NodeSelection selection;                              // what the answers are decoded into: as the watch does
  double qps = 5;                                             // 5/s is our half of the bargain with API Priority and Fairness
  double burst = 10;                                          // lets a rack of eight fail without queueing
  int workers = 16;
  std::function<void(const Attempt&)> on_attempt = [](const Attempt&) {};
  // A write that the server refuses, each time its words are news.
  std::function<void(const kube::NodeName&, const std::string& why)> on_refused = [](const kube::NodeName&, const std::string&) {
  };
  Fence fence = {};
};

class NodeWriter {
 public:
  using Plan = std::function<NodePatch(const kube::Node&)>;
  // `wake` puts a node into the work queue: called when there is room for a node that found none.
  NodeWriter(kube::Client& client, NodeView& freshest, Clock& clock, WriterOptions options,
             std::function<void(const kube::NodeName&)> wake);

  // Any thread, one caller per node at a time (the work queue sees to that). `plan` is called for each attempt, on the freshest
  // node of that moment, and must be pure.
  Outcome apply(const kube::NodeName& name, const Plan& plan, const std::stop_token& stop);

  // The fence is open again: wakes every node that waits behind it. Any thread.
  void resume();

  // The node was deleted: nothing about it is remembered.
  void forget(const kube::NodeName& name);

  // Nodes whose write the server refuses, with its words, a line each, for /readyz. A right that is missing refuses a whole
  // fleet: after the first twenty only how many more there are.
  std::string refusals() const;
  int in_flight_limit() const;

 private:
  // What is remembered of a node between tries. Only nodes in trouble, or with a place in the rate, have one.
  struct Refusal {
    std::string identity;  // of the body that was refused
    std::shared_ptr<const kube::Node> node;  // on which it was planned
    MonoTime until;
    int times = 0;
    bool passing = false;  // as a server that has just come up refuses everybody
    std::string why;
  };
  struct Trouble {
    int failures = 0;
    MonoTime not_before = MonoTime::min();
    std::string why;
    std::optional<MonoTime> slot;  // its place in the rate, kept while it waits
    bool outcome_unknown = false;  // an unguarded body may or may not have been done: look first
    std::optional<Refusal> refusal;
    Weight least = Weight::kOrnament;  // of what is sent for the body `too_heavy`
    std::string too_heavy;  // identity of a whole body of which a part was refused
  };

  struct Round;
  tl::expected<Round, Outcome> prepare(const kube::NodeName& name, const Plan& plan);
  Outcome written(const kube::NodeName& name, const Round& round, kube::Node node);
  std::optional<Outcome> after_conflict(const kube::NodeName& name, const Round& round, int conflicts,
                                        const std::stop_token& stop);
  std::optional<Outcome> after_failure(const kube::NodeName& name, const Round& round, const Error& error);

  static Later later(const Refusal& refusal);
  std::optional<Later> too_early(const kube::NodeName& name, MonoTime now) const;
  std::optional<Later> still_refused(const kube::NodeName& name, const std::string& identity, const kube::Node& node,
                                     MonoTime now) const;
  std::optional<Later> fenced(const kube::NodeName& name);
  std::optional<Later> claim(const kube::NodeName& name, MonoTime now);
  void notice(const kube::NodeName& name, std::string_view verb, const Result<net::Response>& answer);
  net::Header accept() const;
  Result<kube::Node> node_in(const net::Response& answer, const kube::NodeName& name) const;
  Result<kube::Node> patch(const kube::NodeName& name, const NodePatch::Body& body, const std::stop_token& stop);
  std::optional<Outcome> look(const kube::NodeName& name, const std::stop_token& stop);
  std::optional<Outcome> read(const kube::NodeName& name, const std::stop_token& stop);
  Weight weight_for(const kube::NodeName& name, const std::string& identity) const;
  void lighten(const kube::NodeName& name, const std::string& identity, Weight least, const Error& error);
  static std::optional<Weight> lighter_than(const NodePatch& wanted, Weight least, const kube::Node& node,
                                            const NodePatch::Body& refused);
  void remember_unknown(const kube::NodeName& name, const NodePatch::Body& body);
  Later back_off(const kube::NodeName& name, const Error& error);
  Later refuse(const kube::NodeName& name, const std::string& identity, std::shared_ptr<const kube::Node> node,
               const Error& error);
  void settled(const kube::NodeName& name);

  kube::Client& client_;
  NodeView& freshest_;
  Clock& clock_;
  const WriterOptions options_;
  const std::function<void(const kube::NodeName&)> wake_;
  Guarded<Bucket> bucket_;
  Guarded<FlightLimit> flight_;
  Guarded<Gate> gate_;
  Guarded<std::unordered_map<kube::NodeName, Trouble>> troubles_;
  Guarded<std::unordered_set<kube::NodeName>> fenced_;
};

}  // namespace nodeward::nodes
