// The standard process_* metrics, read from /proc at the moment of the call. Private to telemetry.
#pragma once

#include <string>
#include <vector>

namespace nodeward::telemetry {

struct ProcessMetric {
  std::string name;
  std::string help;
  bool counter = false;    // else a gauge
  double value = 0;
};

std::vector<ProcessMetric> process_metrics();

}  // namespace nodeward::telemetry
