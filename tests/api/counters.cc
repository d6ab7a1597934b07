#include "api/counters.h"

#include <fmt/format.h>

#include <cstdlib>

#include "base/text.h"

namespace nodeward::api {
namespace {

// The value of `name` in `{a="x",b="y"}`. The labels read here never hold an escaped quote.
std::string label(std::string_view line, std::string_view name) {
  const std::string start = fmt::format("{}=\"", name);
  for (std::size_t at = line.find(start); at != std::string_view::npos; at = line.find(start, at + 1)) {
    if (line[at - 1] != '{' && line[at - 1] != ',') continue;  // "resource" is also the end of "subresource"
    const std::size_t from = at + start.size();
    return std::string(line.substr(from, line.find('"', from) - from));
  }
  return "";
}

}  // namespace

Counters Counters::parse(std::string_view prometheus_text) {
  constexpr std::string_view kMetric = "apiserver_request_total{";
  Counters counters;
  for (std::size_t at = 0; at < prometheus_text.size();) {
    const std::size_t end = std::min(prometheus_text.find('\n', at), prometheus_text.size());
    const std::string_view line = prometheus_text.substr(at, end - at);
    at = end + 1;
    if (!line.starts_with(kMetric)) continue;
    const CallKind kind{.verb = label(line, "verb"),
                        .resource = label(line, "resource"),
                        .subresource = label(line, "subresource"),
                        .code = static_cast<int>(parse_int(label(line, "code")).value_or(0))};
    if (kind.resource.empty()) continue;  // /readyz, /metrics and the like
    counters.add(kind, static_cast<long>(std::strtod(std::string(line.substr(line.rfind(' ') + 1)).c_str(), nullptr)));
  }
  return counters;
}

long Counters::count(std::string_view verb, std::string_view resource, std::string_view subresource, int code) const {
  long sum = 0;
  for (const auto& [kind, count] : counts_) {
    if (kind.verb != verb || kind.resource != resource || kind.subresource != subresource) continue;
    if (code == 0 || kind.code == code) sum += count;
  }
  return sum;
}

Counters operator-(const Counters& later, const Counters& earlier) {
  Counters difference = later;
  for (const auto& [kind, count] : earlier.counts_) difference.add(kind, -count);
  std::erase_if(difference.counts_, [](const auto& entry) { return entry.second == 0; });
  return difference;
}

std::string Counters::text() const {
  std::string lines;
  for (const auto& [kind, count] : counts_) {
    const std::string resource = kind.subresource.empty() ? kind.resource : kind.resource + "/" + kind.subresource;
    lines += fmt::format("{} {} {}: {}\n", kind.verb, resource, kind.code, count);
  }
  return lines;
}

}  // namespace nodeward::api
