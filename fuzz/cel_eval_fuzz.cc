// Any expression over an event and a node: it ends within its bound, its value can be printed, and the traced program, which
// takes none of the short cuts of the ordinary one, yields the same.
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "cel/document.h"
#include "cel/environment.h"

namespace {

using namespace nodeward;
using namespace nodeward::cel;

constexpr const char* kEvent =
    R"({"version": 1, "agent": "gpu-health-monitor", "componentClass": "GPU", "checkName": "GpuXidError",
    "isFatal": true, "isHealthy": false, "message": "fell off the bus, unit \u00b5-42 \ud83e\uddef", "recommendedAction": 24,
    "errorCode": ["79", "x"], "entitiesImpacted": [{"entityType": "GPU", "entityValue": "3"}], "metadata": {"rack": "r07"},
    "generatedTimestamp": {"seconds": 1767225600, "nanos": 500}, "nodeName": "gpu-a-017", "quarantineOverrides": null,
    "drainOverrides": null, "processingStrategy": 1, "id": "", "customRecommendedAction": ""})";
constexpr const char* kNode =
    R"({"metadata": {"name": "gpu-a-017", "labels": {"a/b": "8", "c": "true"}}, "spec": {"taints": []}})";

struct World {
  Environment environment;
  Document event = *to_document(*parse_json(kEvent), Numbers::kDoubles);
  Document node = *to_document(*parse_json(kNode), Numbers::kWhole);
  World() { environment.variable("event").variable("node").all_extensions(); }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const World world;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto program = world.environment.compile(text, Wanted::kAny);
  if (!program) return 0;
  const std::array values{world.event.root(), world.node.root()};
  Scratch scratch, traced_scratch;
  const std::string value = to_cel_text(program->evaluate(values, scratch));
  const auto traced = world.environment.compile(text, {.container = {}, .traced = true});
  NW_CHECK(traced.has_value(), "tracing refuses nothing more");
  std::vector<Part> parts;
  const Value traced_value = traced->explain(values, traced_scratch, parts);
  const bool one_ran_out = value.find("costs too much") != std::string::npos ||
                           to_cel_text(traced_value).find("costs too much") != std::string::npos;
  const bool both_errors = value.starts_with("error: ") && traced_value.is_error();
  NW_CHECK(one_ran_out || both_errors || value == to_cel_text(traced_value), "a traced program yields the same");
  NW_CHECK(!parts.empty(), "a traced program has parts");
  return 0;
}
