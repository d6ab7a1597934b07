#include "labels/labeler.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>
#include <variant>

#include "base/overload.h"
#include "labels/to_patch.h"
#include "telemetry/log.h"

namespace nodeward::labels {

using kube::NodeName;
using nodes::Later;

namespace {

// Written again at once when the answer shows that more is wanted: somebody changed a key while our write was under way, and
// the watch will show nothing newer than the answer. More rounds than this mean two programs that disagree.
constexpr int kRounds = 3;
// Then the node is looked at once more after this.
constexpr Duration kTruce = 1s;

// For its place in the rate, or for the lease: the attempt is still to come.
bool waits_in_line(const nodes::Outcome& outcome) {
  const auto* later = std::get_if<Later>(&outcome);
  return later != nullptr && (later->reason == Later::Reason::kRate || later->reason == Later::Reason::kFenced);
}

nodes::WriterOptions writer_options(const LabelerOptions& options, LabelerMetrics& metrics) {
  return {.field_manager = "labeler",
          .selection = node_selection(options.labels),
          .qps = options.qps,
          .burst = options.burst,
          .workers = options.workers,
          .on_attempt =
              [&metrics](const nodes::Attempt& attempt) {
                if (attempt.error != nullptr && attempt.error->code != ErrorCode::kNotFound &&
                    attempt.error->code != ErrorCode::kCancelled) {
                  metrics.failed_writes.add();
                }
              },
          .on_refused = options.on_refused,
          .fence = options.fence};
}

}  // namespace

LabelerMetrics::LabelerMetrics(telemetry::Metrics& registry)
    : pod_events(registry.counter("labeler_events_processed_total", "Pod events worked off, by status.", {"status"})),
      pod_event_seconds(registry.histogram("labeler_event_handling_duration_seconds",
                                           "From a pod event to its node being right, API time included.",
                                           {.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10})),
      failed_writes(registry.counter("labeler_node_update_failures_total", "Node requests that failed, 404 excepted.")),
      skipped_managed(
          registry.counter("labeler_node_labels_skipped_managed_total", "Times an opted-out node was left alone or stripped.")),
      unversioned_images(
          registry.counter("labeler_dcgm_image_without_version_total", "DCGM images whose tag names no known major version.")),
      queue_depth(registry.gauge("labeler_queue_depth", "Nodes that wait to be worked on.")),
      nodes_cached(registry.gauge("labeler_nodes_cached", "Nodes in the cache.")),
      pods_cached(registry.gauge("labeler_pods_cached", "Pods in the cache.")),
      sweep_seconds(registry.gauge("labeler_sweep_duration_seconds", "From the last first list to every node being right.")) {}

Labeler::Labeler(kube::Client& client, LabelerOptions options, telemetry::Metrics& registry, Clock& clock)
    : options_(std::move(options)),
      clock_(clock),
      metrics_(registry),
      queue_(clock),
      view_([this](const NodeName& name, const std::shared_ptr<const kube::Node>& now) {
        if (now) {
          // Before the sweep, which looks at every node, only an opt-out is worth a look of its own.
          if (sweep_begun_ || !wanted(*now, {}, options_.labels, Phase::kBeforeSync).edits.empty()) queue_.add(name);
          return;
        }
        writer_.forget(name);
        stripped_.with([&](auto& stripped) { stripped.erase(name); });
      }),
      pods_(options_.labels,
            {.dirty = [this](const NodeName& name) { pod_changed(name); },
             .unversioned =
                 [this](std::string_view image) {
                   metrics_.unversioned_images.add();
                   telemetry::warn("a DCGM image names no version that is known", {{"image", std::string(image)}});
                 },
             .keep_pod_names = options_.name_pods}),
      writer_(client, view_, clock, writer_options(options_, metrics_), [this](const NodeName& name) { queue_.add(name); }) {
  const kube::ReflectorOptions reading{.on_list = [this] { list_read(); }};
  const bool both = options_.ask_for == kube::Encoding::kProtobuf;
  const auto nodes_in = [&](kube::Encoding encoding) {
    return kube::make_node_decoder(node_selection(options_.labels), encoding);
  };
  node_reader_ = std::make_unique<kube::Reflector<kube::Node>>(client, kube::Resource{"nodes", "/api/v1/nodes"},
                                                               nodes_in(kube::Encoding::kJson), view_, clock, reading,
                                                               both ? nodes_in(kube::Encoding::kProtobuf) : nullptr);
  for (const PodWatch& watch : pod_watches(options_.labels)) {
    pod_readers_.push_back(std::make_unique<kube::Reflector<kube::Pod>>(
        client, kube::Resource{fmt::format("pods ({})", watch.name), "/api/v1/pods", watch.label_selector},
        kube::make_pod_decoder(), pods_.sink(watch.id), clock, reading,
        both ? kube::make_pod_decoder(kube::Encoding::kProtobuf) : nullptr));
  }
}

void Labeler::run(const std::stop_token& stop) {
  const auto readers = start_reading(stop);
  std::vector<std::jthread> workers;
  for (int i = 0; i < options_.workers; ++i) workers.emplace_back([&] { work(stop); });
}

bool Labeler::print_once(const std::function<void(std::string_view)>& print, const std::stop_token& stop) {
  std::stop_source enough;
  const std::stop_callback outer(stop, [&] { enough.request_stop(); });
  {
    const auto readers = start_reading(enough.get_token());
    while (!synced() && clock_.sleep_for(50ms, stop)) {
    }
    enough.request_stop();
  }
  if (!synced()) return false;
  auto names = view_.names();
  std::sort(names.begin(), names.end());
  for (const NodeName& name : names) {
    const auto node = view_.freshest(name);
    print(describe(*node, decide(*node)));
  }
  return true;
}

std::vector<std::jthread> Labeler::start_reading(const std::stop_token& stop) {
  std::vector<std::jthread> readers;
  readers.emplace_back([this, stop] { node_reader_->run(stop); });
  for (const auto& reader : pod_readers_) readers.emplace_back([&reader, stop] { reader->run(stop); });
  return readers;
}

bool Labeler::synced() const {
  return node_reader_->synced() &&
         std::all_of(pod_readers_.begin(), pod_readers_.end(), [](const auto& reader) { return reader->synced(); });
}

void Labeler::list_read() {
  if (!synced() || sweep_begun_.exchange(true)) return;
  sweep_began_ = clock_.now();
  for (const NodeName& name : view_.names()) queue_.add(name);
  swept_ = true;
  telemetry::info("all caches are read; every node is looked at once",
                  {{"nodes", std::to_string(view_.size())}, {"pods", std::to_string(pods_.pods())}});
  note_end_of_sweep();       // there may be no node, or the workers may have been quicker than this thread
}

// An idle queue says that the sweep is through only after all of it was queued.
void Labeler::note_end_of_sweep() {
  if (!swept_ || sweep_done_ || !queue_.idle() || sweep_done_.exchange(true)) return;
  metrics_.sweep_seconds.set(std::chrono::duration<double>(clock_.now() - sweep_began_.load()).count());
}

void Labeler::work(const std::stop_token& stop) {
  while (const auto name = queue_.take(stop)) {
    queue_.done(*name, handle(*name, stop));
    note_end_of_sweep();
  }
}

// The phase is read before the pods: once every list is in, what the table holds is whole.
WantedLabels Labeler::decide(const kube::Node& node) const {
  const Phase phase = synced() ? Phase::kSynced : Phase::kBeforeSync;
  return wanted(node, pods_.facts_of(node.name), options_.labels, phase);
}

std::optional<MonoTime> Labeler::handle(const NodeName& name, const std::stop_token& stop) {
  std::optional<bool> skipped;         // as the first plan saw it: one attempt, however often it is planned
  std::string change;
  const auto plan = [&](const kube::Node& node) {
    const bool after_sync = synced();
    const WantedLabels labels = decide(node);
    if (!skipped) skipped = labels.opted_out && (after_sync || !labels.edits.empty()) && !is_own_strip(node);
    change = describe(node, labels);
    return to_patch(node.name, labels);
  };
  nodes::Outcome outcome;
  for (int round = 0; round < kRounds; ++round) {
    outcome = writer_.apply(name, plan, stop);
    const auto* written = std::get_if<nodes::Written>(&outcome);
    if (written == nullptr) break;
    if (skipped.value_or(false)) stripped_.with([&](auto& stripped) { stripped[name] = written->node->version; });
    telemetry::info("labels written", {{"node", name.str()}, {"change", change}});
  }
  if (skipped.value_or(false) && !waits_in_line(outcome)) metrics_.skipped_managed.add();
  const auto done = [&](std::string_view status) {
    count_pod_events(name, status);
    return std::optional<MonoTime>{};
  };
  return std::visit(Overload{[&](const nodes::Unchanged&) { return done("success"); },
                             [&](const nodes::Written&) {
                               done("success");
                               return std::optional(clock_.now() + kTruce);
                             },
                             [&](const nodes::Gone&) { return done("failed"); },
                             [&](const nodes::Unknown&) {
                               // Its pods wait for it; when they are gone too, so is the reason to remember their events.
                               if (pods_.facts_of(name).empty()) pod_events_.with([&](auto& events) { events.erase(name); });
                               return std::optional<MonoTime>{};
                             },
                             [&](const nodes::Stopped&) { return std::optional<MonoTime>{}; },
                             [&](const Later& later) {
                               if (!waits_in_line(later)) count_pod_events(name, "failed");
                               return std::optional(later.due);
                             }},
                    outcome);
}

// The watch may show our own strip before its answer is here, and the node is looked at once more: that is no further attempt.
bool Labeler::is_own_strip(const kube::Node& node) const {
  const bool as_left = stripped_.with([&](const auto& stripped) {
    const auto place = stripped.find(node.name);
    return place != stripped.end() && place->second == node.version;
  });
  return as_left && !pod_events_.with([&](const auto& events) { return events.contains(node.name); });
}

void Labeler::pod_changed(const NodeName& node) {
  pod_events_.with([&](auto& events) {
    PodEvents& mine = events[node];
    if (mine.count++ == 0) mine.first = clock_.now();
  });
  if (sweep_begun_) queue_.add(node);  // else the sweep will come by
}

void Labeler::count_pod_events(const NodeName& node, std::string_view status) {
  const PodEvents events = pod_events_.with([&](auto& all) {
    const auto place = all.find(node);
    if (place == all.end()) return PodEvents{};
    const PodEvents found = place->second;
    all.erase(place);
    return found;
  });
  if (events.count == 0) return;
  metrics_.pod_events.add(events.count, {{"status", std::string(status)}});
  metrics_.pod_event_seconds.observe(std::chrono::duration<double>(clock_.now() - events.first).count());
}

Labeler::Readiness Labeler::readiness() const {
  std::string text;
  const auto report = [&](const auto& reader) {
    if (!reader.synced()) text += fmt::format("not read yet: {}\n", reader.resource().name);
    if (const std::string trouble = reader.trouble(); !trouble.empty())
      text += fmt::format("cannot be read now: {}: {}\n", reader.resource().name, trouble);
  };
  report(*node_reader_);
  for (const auto& reader : pod_readers_) report(*reader);
  text += writer_.refusals();
  return {swept_, text.empty() ? "ok" : text};
}

void Labeler::refresh() {
  metrics_.queue_depth.set(static_cast<double>(queue_.size()));
  metrics_.nodes_cached.set(static_cast<double>(view_.size()));
  metrics_.pods_cached.set(static_cast<double>(pods_.pods()));
}

}  // namespace nodeward::labels
