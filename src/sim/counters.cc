#include "sim/counters.h"

#include <fmt/format.h>

namespace nodeward::sim {

std::uint64_t RequestCounters::sum(std::string_view verb, std::string_view resource) const {
  std::uint64_t sum = 0;
  for (const auto& [kind, count] : counts_) {
    if (kind.verb == verb && kind.resource == resource) sum += count;
  }
  return sum;
}

std::string RequestCounters::prometheus_text() const {
  std::string text =
      "# HELP apiserver_request_total Requests answered, by verb, resource and code.\n# TYPE apiserver_request_total counter\n";
  for (const auto& [kind, count] : counts_) {
    text += fmt::format(
        "apiserver_request_total{{code=\"{}\",component=\"{}\",dry_run=\"{}\",group=\"{}\",resource=\"{}\",scope=\"{}\","
        "subresource=\"{}\",verb=\"{}\",version=\"{}\"}} {}\n",
        kind.code, kind.resource.empty() ? "" : "apiserver", kind.dry_run ? "All" : "", kind.group, kind.resource, kind.scope,
        kind.subresource, kind.verb, kind.version, count);
  }
  return text;
}

}  // namespace nodeward::sim
