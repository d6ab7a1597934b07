#include "cordons/latency.h"

#include <fmt/format.h>

#include <atomic>
#include <mutex>
#include <stdexcept>

#include "base/clock.h"
#include "base/json.h"
#include "config/fault_quarantine.h"
#include "events/source.h"
#include "kube/client.h"
#include "net/scripted_transport.h"
#include "quarantine/fault_quarantine.h"
#include "telemetry/log.h"
#include "telemetry/metrics.h"

namespace nodeward::bench {
namespace {

// Gives an event, waits until it is settled and a little longer, so that all threads are at rest, gives the next.
class OneAtATime final : public events::Source {
 public:
  OneAtATime(const std::vector<std::string>& nodes, int events) : nodes_(nodes), events_(events) {}

  Result<events::Delivery> next(const std::stop_token& stop) override {
    while (given_ > settled_ && Clock::real().sleep_for(1ms, stop)) {
    }
    if (given_ == events_ || !Clock::real().sleep_for(10ms, stop)) return events::Delivery{events::End{}};
    events::HealthEvent event;
    event.agent = "gpu-health-monitor";
    event.component_class = "GPU";
    event.check_name = "GpuXidError";
    event.is_fatal = true;
    event.error_codes = {{"79"}};
    event.node_name = nodes_.at(static_cast<std::size_t>(given_));
    event.id = fmt::format("event-{}", given_);
    event.processing_strategy = events::kExecuteRemediation;
    const int position = ++given_;
    given_at = Clock::real().now();
    return events::Delivery{events::Arrived{static_cast<events::Position>(position), std::move(event)}};
  }
  void settle(const events::Arrived&, const events::Outcome&) override { ++settled_; }

  std::atomic<MonoTime> given_at{};

 private:
  const std::vector<std::string>& nodes_;
  const int events_;
  int given_ = 0;
  std::atomic<int> settled_ = 0;
};

}  // namespace

std::vector<double> event_to_patch_ms(const std::string& rule_file, const std::vector<std::string>& nodes,
                                      const std::string& node_json, int events) {
  const auto rules = config::load_fault_quarantine(rule_file, {.breaker_enabled = false});
  if (!rules || !rules->good()) throw std::runtime_error(rule_file + " cannot be used");
  telemetry::start_log({.module = "cordons", .level = telemetry::Level::kError});
  OneAtATime source(nodes, events);
  std::vector<double> waits;
  std::mutex mutex;
  const auto named = [&](const std::string& name, int version) {
    Json node = *parse_json(node_json);
    node["metadata"]["name"] = name;
    node["metadata"]["resourceVersion"] = std::to_string(version);
    return node;
  };
  net::ScriptedTransport transport([&](const net::Request& request) -> Result<net::Response> {
    if (request.method == "PATCH") {
      const double wait = std::chrono::duration<double, std::milli>(Clock::real().now() - source.given_at.load()).count();
      const std::lock_guard lock(mutex);
      waits.push_back(wait);
      const std::string name = request.path.substr(14, request.path.find('?') - 14);    // behind /api/v1/nodes/
      return net::Response{200, {}, to_text(named(name, 100 + static_cast<int>(waits.size())))};
    }
    if (request.path.find("watch=true") != std::string::npos) return fail(ErrorCode::kUnavailable, "no watch in this script");
    Json list = {{"kind", "NodeList"}, {"metadata", {{"resourceVersion", "9"}}}, {"items", Json::array()}};
    for (const std::string& name : nodes) list["items"].push_back(named(name, 1));
    return net::Response{200, {}, to_text(list)};
  });
  kube::Client client(transport, {}, Clock::real());
  telemetry::Metrics metrics;
  const quarantine::Options own{.label_prefix = rules->label_prefix};
  quarantine::FaultQuarantine controller(
      client, source, [&](const events::HealthEvent& event, const kube::Node& node) { return rules->book.judge(event, node); },
      {.quarantine = own,
       .selection = quarantine::merged(quarantine::own_selection(own, rules->book.label_keys()),
                                       rules::node_selection(rules->book)),
       .qps = -1},
      metrics, Clock::real());
  if (const auto left = controller.run({}); !left || *left != 0) throw std::runtime_error("an event was not settled");
  waits.erase(waits.begin());    // it waited for the nodes to be read
  return waits;
}

}  // namespace nodeward::bench
