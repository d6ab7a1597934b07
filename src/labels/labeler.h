// The labeler at work: four reflectors mark nodes dirty, workers compute all labels of a node at once and write what differs
// with one PATCH. No write before every cache has been read once, but for the opt-out (labeler spec, section 9).
// Built and run in main; readiness() and refresh() from any thread.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "base/guarded.h"
#include "kube/client.h"
#include "kube/reflector.h"
#include "kube/work_queue.h"
#include "labels/options.h"
#include "labels/pod_table.h"
#include "labels/wanted.h"
#include "nodes/node_view.h"
#include "nodes/node_writer.h"
#include "telemetry/metrics.h"

namespace nodeward::labels {

struct LabelerOptions {
  Options labels = {};
  double qps = 5;
  double burst = 10;
  int workers = 16;
  kube::Encoding ask_for = kube::Encoding::kProtobuf;    // in lists and watches; either is read (docs/adr/0012)
  bool name_pods = false;      // keep pod names, so that lines say which pod led to a label
  nodes::Fence fence = {};     // closed: another copy writes; see resume()
  // A write that the server refuses, each time its words are news.
  std::function<void(const kube::NodeName&, const std::string& why)> on_refused = [](const kube::NodeName&, const std::string&) {
  };
};

// The metrics of labeler spec, section 11, and our additions. References into the registry.
struct LabelerMetrics {
  explicit LabelerMetrics(telemetry::Metrics& registry);
  telemetry::Counter& pod_events;
  telemetry::Histogram& pod_event_seconds;
  telemetry::Counter& failed_writes;
  telemetry::Counter& skipped_managed;
  telemetry::Counter& unversioned_images;
  telemetry::Gauge& queue_depth;
  telemetry::Gauge& nodes_cached;
  telemetry::Gauge& pods_cached;
  telemetry::Gauge& sweep_seconds;
};

class Labeler {
 public:
  Labeler(kube::Client& client, LabelerOptions options, telemetry::Metrics& registry, Clock& clock);

  // Until stopped.
  void run(const std::stop_token& stop);
  // Reads everything once, prints a line per node, sends no write. False when it was stopped before it knew everything.
  bool print_once(const std::function<void(std::string_view)>& print, const std::stop_token& stop);

  // The fence is open again. Any thread.
  void resume() { writer_.resume(); }

  struct Readiness {
    bool ready = false;        // the first sweep is queued
    std::string text;          // what it waits for; which nodes the server refuses to have written
  };
  Readiness readiness() const;
  void refresh();              // gauges that are read off, before a scrape

 private:
  struct PodEvents {           // of one node, not yet worked off
    int count = 0;
    MonoTime first;
  };

  std::vector<std::jthread> start_reading(const std::stop_token& stop);
  void work(const std::stop_token& stop);
  std::optional<MonoTime> handle(const kube::NodeName& name, const std::stop_token& stop);
  WantedLabels decide(const kube::Node& node) const;
  void pod_changed(const kube::NodeName& node);
  void count_pod_events(const kube::NodeName& node, std::string_view status);
  bool is_own_strip(const kube::Node& node) const;
  void list_read();            // the last of the first lists starts the sweep
  void note_end_of_sweep();
  bool synced() const;

  const LabelerOptions options_;
  Clock& clock_;
  LabelerMetrics metrics_;
  kube::WorkQueue queue_;
  nodes::NodeView view_;
  PodTable pods_;
  nodes::NodeWriter writer_;
  std::unique_ptr<kube::Reflector<kube::Node>> node_reader_;
  std::vector<std::unique_ptr<kube::Reflector<kube::Pod>>> pod_readers_;
  Guarded<std::unordered_map<kube::NodeName, PodEvents>> pod_events_;
  Guarded<std::unordered_map<kube::NodeName, kube::ResourceVersion>> stripped_;   // opted-out nodes, as our strip left them
  std::atomic<bool> sweep_begun_ = false;
  std::atomic<bool> swept_ = false;            // all of it is queued
  std::atomic<bool> sweep_done_ = false;
  std::atomic<MonoTime> sweep_began_{};
};

}  // namespace nodeward::labels
