// Kubernetes Events (core/v1) on nodes, for people who run `kubectl describe node`. The same event again is counted, not written
// anew: what is said many times in a row costs one request each ten seconds. Best effort by design: record() never waits, what
// cannot be written is dropped, and an account that may not write Events costs one line of the log and a request a minute. Nothing
// depends on them.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <tuple>
#include <utility>

#include "base/clock.h"
#include "base/json.h"
#include "kube/client.h"
#include "kube/objects.h"

namespace nodeward::kube {

struct NodeEvent {
  enum class Type { kNormal, kWarning };
  NodeName node;
  Type type = Type::kNormal;
  std::string reason;  // "NodeWriteRefused"
  std::string message;  // cut to 1,024 bytes
};

struct EventRecorderOptions {
  std::string component;  // "fault-quarantine"
  double per_second = 1;  // new events and counts together, beyond the burst
  int burst = 25;
  Duration count_every = 10s;  // an event that happens again is written again at most this often
};

class EventRecorder {
 public:
  EventRecorder(Client& client, EventRecorderOptions options, Clock& clock);

  // Any thread. Dropped when 1,000 others wait.
  void record(NodeEvent event);
  // Writes what is recorded, until stopped; then what waits is dropped. A thread of its own.
  void run(const std::stop_token& stop);

 private:
  using Key = std::tuple<NodeName, std::string, std::string>;  // node, reason, message
  struct Entry {
    NodeEvent event = {};
    WallTime first = {};
    WallTime last = {};
    std::int64_t count = 0;
    std::int64_t written = 0;  // the count that the server knows
    std::string name = {};  // of the object, once there is one
    MonoTime due = {};
    int failures = 0;  // in a row
  };

  bool make_room();
  const std::pair<const Key, Entry>* next() const;
  std::optional<Key> wait_for_due(const std::stop_token& stop);
  void write(const Key& key, const std::stop_token& stop);
  void took(const Key& key, const Entry& sent, const Result<net::Response>& answer);
  Json object_for(const Entry& entry) const;

  Client& client_;
  const EventRecorderOptions options_;
  Clock& clock_;
  std::mutex mutex_;  // of the rest
  std::condition_variable_any changed_;
  std::map<Key, Entry> entries_;
  MonoTime denied_until_ = MonoTime::min();  // what is recorded before is dropped
};

}  // namespace nodeward::kube
