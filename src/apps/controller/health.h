// What the health server of a controller shows of it: one with readiness() and refresh(). Built in run(); everything outlives the
// server.
#pragma once

#include "apps/controller/leadership.h"
#include "apps/controller/process.h"
#include "telemetry/metrics.h"

namespace nodeward::apps {

template <class Controller>
Health health_of(Controller& controller, const Leadership& leadership, telemetry::Metrics& metrics) {
  return {.ready =
              [&] {
                const auto state = controller.readiness();
                return net::Page{state.ready ? 200 : 503, leadership.readiness() + state.text};
              },
          .metrics =
              [&] {
                controller.refresh();
                return metrics.text();
              }};
}

}  // namespace nodeward::apps
