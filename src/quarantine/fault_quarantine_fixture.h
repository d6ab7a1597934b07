// The loop of fault-quarantine on an API server in memory and a clock that a test moves, with a source that gives a list of events.
// For tests only.
#pragma once

#include <gtest/gtest.h>

#include <condition_variable>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/fake_clock.h"
#include "base/json.h"
#include "quarantine/fault_quarantine.h"
#include "quarantine/memory_api_fixture.h"
#include "quarantine/scenario.h"

namespace nodeward::quarantine::testing {

using events::Arrived;
using events::HealthEvent;

// Gives what it was given, then the end; or, while open, waits.
class ListedSource final : public events::Source {
 public:
  explicit ListedSource(std::vector<events::Delivery> deliveries, bool ends = true)
      : deliveries_(std::move(deliveries)), ends_(ends) {}

  Result<events::Delivery> next(const std::stop_token& stop) override {
    if (at_ == 0) before_the_first();
    if (at_ < deliveries_.size()) return deliveries_[at_++];
    std::unique_lock lock(mutex_);
    if (!ends_) changed_.wait(lock, stop, [] { return false; });
    if (fails_) return fail(ErrorCode::kUnavailable, "the store is gone");
    return events::End{};
  }
  void settle(const Arrived& arrived, const events::Outcome& outcome) override {
    const std::lock_guard lock(mutex_);
    settled_.emplace_back(arrived, outcome);
    changed_.notify_all();
  }
  std::function<void()> before_the_first = [] {};
  void fails_at_its_end() { fails_ = true; }
  void wait_settled(std::size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return settled_.size() >= count; });
  }
  std::vector<std::pair<Arrived, events::Outcome>> settled() const {
    const std::lock_guard lock(mutex_);
    return settled_;
  }

 private:
  const std::vector<events::Delivery> deliveries_;
  const bool ends_;
  bool fails_ = false;
  std::size_t at_ = 0;
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  std::vector<std::pair<Arrived, events::Outcome>> settled_;
};

inline std::vector<events::Delivery> deliveries(std::vector<HealthEvent> events) {
  std::vector<events::Delivery> all;
  for (HealthEvent& event : events) all.emplace_back(Arrived{all.size() + 1, std::move(event)});
  return all;
}
inline std::vector<events::Delivery> examples(std::initializer_list<std::string_view> names) {
  std::vector<HealthEvent> events;
  for (const std::string_view name : names) events.push_back(example_event(name));
  return deliveries(std::move(events));
}

class FaultQuarantineLoop : public ::testing::Test {
 protected:
  FaultQuarantineLoop() {
    api_.put(example_node("gpu-a-001"));
    for (const Rule& rule : example_rules()) options_.rule_sets.push_back(rule.name);
    options_.quarantine.label_prefix = "ops.example.com/";
    const std::vector<std::string> label_keys = {"gpu.example.com/state", "ops.example.com/replace"};
    options_.selection = own_selection(options_.quarantine, label_keys);
    options_.workers = 4;
  }
  void give(std::vector<events::Delivery> list, bool ends = true) {
    source_ = std::make_unique<ListedSource>(std::move(list), ends);
  }
  void start() {
    loop_ = std::make_unique<FaultQuarantine>(client_, *source_, judge_by(rules_), options_, registry_, clock_);
    runner_ = std::jthread([this](const std::stop_token& stop) { left_ = loop_->run(stop).value(); });
  }
  std::size_t run_to_the_end() {
    start();
    runner_.join();
    return left_;
  }
  // Until the loop ends, time runs at 250 times its speed.
  std::size_t run_through_time() {
    start();
    std::jthread mover([this](const std::stop_token& done) {
      while (!done.stop_requested()) {
        clock_.advance(250ms);
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
    });
    runner_.join();
    return left_;
  }
  std::vector<std::string> verbs() const {
    std::vector<std::string> found;
    for (const net::Request& request : api_.writes()) found.push_back(request.method);
    return found;
  }
  std::vector<std::string> statuses() const {
    std::vector<std::string> found;
    for (const auto& [arrived, outcome] : source_->settled()) found.push_back(outcome.status);
    return found;
  }
  double counted(const std::string& name, const telemetry::MetricLabels& labels = {}) {
    std::vector<std::string> keys;
    for (const auto& [key, value] : labels) keys.push_back(key);
    return registry_.counter("fault_quarantine_" + name, "", keys).value(labels);
  }
  double errors(const std::string& type) { return counted("processing_errors_total", {{"error_type", type}}); }

  void pass(Duration time) {
    for (const MonoTime end = clock_.now() + time; clock_.now() < end; clock_.advance(250ms)) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  // The events come while the nodes cannot be read; `meanwhile` changes them, and then they can be read again.
  void run_out_of_sight(std::vector<HealthEvent> events, const std::function<void()>& meanwhile) {
    const std::size_t count = events.size();
    give(deliveries(std::move(events)), false);
    std::promise<void> out_of_sight;
    source_->before_the_first = [&] {
      while (!loop_->readiness().ready) pass(1s);
      api_.hide_nodes(true);
      while (loop_->readiness().text == "ok") pass(1s);
      meanwhile();
      out_of_sight.set_value();
    };
    start();
    out_of_sight.get_future().wait();
    pass(100s);
    settled_out_of_sight_ = source_->settled().size();
    api_.hide_nodes(false);
    for (int i = 0; i < 1000 && source_->settled().size() < count; ++i) pass(1s);
  }
  Json unmanaged_node() const {
    Json node = api_.node("gpu-a-001");
    node["metadata"]["labels"][kManaged] = "false";
    return node;
  }
  void manage(Json node) {
    node["metadata"]["labels"].erase(kManaged);
    api_.put(std::move(node));
  }

  static constexpr auto kManaged = "nvsentinel.dgxc.nvidia.com/managed";
  std::vector<Rule> rules_ = example_rules();
  std::size_t settled_out_of_sight_ = 0;
  FakeClock clock_;
  MemoryApi api_;
  kube::Client client_{api_, {}, clock_};
  telemetry::Metrics registry_;
  FaultQuarantineOptions options_;
  std::unique_ptr<ListedSource> source_;
  std::unique_ptr<FaultQuarantine> loop_;
  std::size_t left_ = 0;
  std::jthread runner_;  // last: ends before what it uses
};

}  // namespace nodeward::quarantine::testing
