// Kubernetes Events of a controller, written by a thread of its own beside the work. Built in run(); say() from any thread.
#pragma once

#include <stop_token>
#include <string>
#include <thread>

#include "kube/event_recorder.h"

namespace nodeward::apps {

inline constexpr const char* kWriteRefused = "NodeWriteRefused";

class NodeEvents {
 public:
  NodeEvents(kube::Client& client, const std::string& component, Clock& clock)
      : recorder_(client, {.component = component}, clock),
        thread_([this](const std::stop_token& stop) { recorder_.run(stop); }) {}

  void warn(const kube::NodeName& node, const std::string& reason, const std::string& message) {
    recorder_.record({node, kube::NodeEvent::Type::kWarning, reason, message});
  }
  void tell(const kube::NodeName& node, const std::string& reason, const std::string& message) {
    recorder_.record({node, kube::NodeEvent::Type::kNormal, reason, message});
  }

 private:
  kube::EventRecorder recorder_;
  std::jthread thread_;
};

}  // namespace nodeward::apps
