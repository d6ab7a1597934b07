// How fast node writes may go. Both are plain arithmetic under their owner's lock; neither waits.
#pragma once

#include <deque>
#include <unordered_set>
#include <vector>

#include "base/backoff.h"
#include "base/clock.h"
#include "kube/objects.h"

namespace nodeward::nodes {

// A token bucket that hands out places in time: reserve() says when the write may go. What is not used is given back.
class Bucket {
 public:
  // per_second <= 0: no limit. burst: tokens saved up at most.
  Bucket(double per_second, double burst) : per_second_(per_second), burst_(burst), tokens_(burst) {}

  MonoTime reserve(MonoTime now);
  void give_back();

 private:
  const double per_second_;
  const double burst_;
  double tokens_;                 // below zero: places handed out in advance
  MonoTime filled_ = MonoTime::min();
};

// Requests in flight: starts at its most, halves when the server is overloaded, grows by one for each `limit` good answers.
// Who finds no room leaves its name and is told when there is some.
class FlightLimit {
 public:
  explicit FlightLimit(int most) : most_(most), limit_(most) {}

  bool enter(const kube::NodeName& name);
  enum class Answer { kGood, kOverload, kOther };
  // Names that may try again now.
  std::vector<kube::NodeName> leave(Answer answer);
  int limit() const { return limit_; }
  int in_flight() const { return in_flight_; }

 private:
  const int most_;
  int limit_;
  int in_flight_ = 0;
  int good_ = 0;
  std::deque<kube::NodeName> waiting_;                    // in the order they came, each once
  std::unordered_set<kube::NodeName> is_waiting_;         // the same: a fleet may wait here
};

// Shut while there is no way to the server: one node's failure is every node's, and a hundred thousand of them must not knock
// on a dead door in turn.
class Gate {
 public:
  explicit Gate(BackoffShape shape) : shape_(shape) {}

  MonoTime opens() const { return opens_; }
  // True when it was open before. Failures of requests that were under way together count as one.
  bool shut(MonoTime now);
  bool open();                    // true when it was shut

 private:
  const BackoffShape shape_;
  MonoTime opens_ = MonoTime::min();
  int failures_ = 0;
};

}  // namespace nodeward::nodes
