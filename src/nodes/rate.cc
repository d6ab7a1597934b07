#include "nodes/rate.h"

#include <algorithm>
#include <utility>

namespace nodeward::nodes {

MonoTime Bucket::reserve(MonoTime now) {
  if (per_second_ <= 0) return now;
  if (filled_ == MonoTime::min()) filled_ = now;
  const double passed = std::chrono::duration<double>(std::max(now, filled_) - filled_).count();
  tokens_ = std::min(burst_, tokens_ + passed * per_second_);
  filled_ = std::max(now, filled_);
  tokens_ -= 1;
  if (tokens_ >= 0) return now;
  constexpr double kFarAhead = 365.0 * 86400;  // seconds; beyond it a rate is none, and the arithmetic stays within its range
  return now + std::chrono::duration_cast<Duration>(std::chrono::duration<double>(std::min(-tokens_ / per_second_, kFarAhead)));
}

void Bucket::give_back() {
  if (per_second_ > 0) tokens_ = std::min(burst_, tokens_ + 1);
}

bool FlightLimit::enter(const kube::NodeName& name) {
  if (in_flight_ < limit_) {
    ++in_flight_;
    return true;
  }
  if (is_waiting_.insert(name).second) waiting_.push_back(name);
  return false;
}

std::vector<kube::NodeName> FlightLimit::leave(Answer answer) {
  --in_flight_;
  if (answer == Answer::kOverload) {
    limit_ = std::max(1, limit_ / 2);
    good_ = 0;
  } else if (answer == Answer::kGood && limit_ < most_ && ++good_ >= limit_) {
    ++limit_;
    good_ = 0;
  }
  std::vector<kube::NodeName> next;
  while (!waiting_.empty() && in_flight_ + static_cast<int>(next.size()) < limit_) {
    is_waiting_.erase(waiting_.front());
    next.push_back(std::move(waiting_.front()));
    waiting_.pop_front();
  }
  return next;
}

bool Gate::shut(MonoTime now) {
  const bool was_open = failures_ == 0;
  if (opens_ <= now) opens_ = now + backoff_delay(shape_, ++failures_, 0);
  return was_open;
}

bool Gate::open() {
  opens_ = MonoTime::min();
  return std::exchange(failures_, 0) != 0;
}

}  // namespace nodeward::nodes
