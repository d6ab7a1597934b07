// How fast a list of nodes becomes records: MB/s of one core through ItemSplitter and the node decoder, the same for the lines
// of a watch, and what a node keeps in memory. google-benchmark.
#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <malloc.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "kube/decode.h"
#include "kube/splitters.h"
#include "nodes/node_view.h"
#include "writes/fleet.h"

namespace nodeward::bench {
namespace {

constexpr std::size_t kChunk = 64 * 1024;    // as the transport hands them over
constexpr int kNodes = 500;                  // a page of the reflector

// What is kept of a node, as the argument `decode` counts it; 0: nothing is decoded.
enum Kept : std::int64_t { kNothing, kMetadata, kWithSpec, kAllLabels };

// What the labeler keeps (kMetadata); taints and cordon besides, as fault-quarantine does; all labels besides, which a rule set
// that names node.metadata.labels as a whole asks for.
kube::NodeSelection selection(std::int64_t kept) {
  return {.labels = {.all = kept == kAllLabels,
                     .keys = {"katacontainers.io/kata-runtime", "nvidia.com/gpu.present", "nvsentinel.dgxc.nvidia.com/managed",
                              "nvsentinel.dgxc.nvidia.com/dcgm.version", "nvsentinel.dgxc.nvidia.com/driver.installed",
                              "nvsentinel.dgxc.nvidia.com/kata.enabled"}},
          .annotations = {.all = false, .keys = {"nvsentinel.dgxc.nvidia.com/dcgm-bootstrap-completed"}},
          .spec = kept >= kWithSpec};
}

// As the server answers them: with uid, version and the labels set.
std::vector<std::string> node_texts(int count) {
  std::vector<std::string> texts;
  int number = 0;
  for (Json& node : make_fleet(1, count).nodes) {
    Json& metadata = node["metadata"];
    metadata["uid"] = fmt::format("1e9b8a8c-90dd-4ef7-b38f-{:012x}", ++number);
    metadata["resourceVersion"] = std::to_string(100'000 + number);
    metadata["labels"]["nvsentinel.dgxc.nvidia.com/dcgm.version"] = "4.x";
    metadata["labels"]["nvsentinel.dgxc.nvidia.com/driver.installed"] = "true";
    metadata["labels"]["nvsentinel.dgxc.nvidia.com/kata.enabled"] = "false";
    texts.push_back(to_text(node));
  }
  return texts;
}

std::string list_of(const std::vector<std::string>& nodes) {
  std::string list = R"({"kind":"NodeList","apiVersion":"v1","metadata":{"resourceVersion":"7"},"items":[)";
  for (const std::string& node : nodes) list += (&node == &nodes.front() ? "" : ",") + node;
  return list + "]}\n";
}

template <class OnChunk>
void in_chunks(std::string_view text, OnChunk&& on_chunk) {
  for (; !text.empty(); text.remove_prefix(std::min(kChunk, text.size()))) on_chunk(text.substr(0, kChunk));
}

void check(benchmark::State& state, const Result<>& result) {
  if (!result) state.SkipWithError(result.error().message.c_str());
}

void list_of_nodes(benchmark::State& state) {
  const std::string list = list_of(node_texts(kNodes));
  const auto decoder = kube::make_node_decoder(selection(state.range(0)));
  for (auto step : state) {
    kube::ItemSplitter splitter;
    in_chunks(list, [&](std::string_view chunk) {
      check(state, splitter.feed(chunk, [&](std::string_view json) -> Result<> {
        if (state.range(0) == kNothing) return {};
        NW_TRY_ASSIGN(const auto node, decoder->object(json));
        benchmark::DoNotOptimize(node.version);
        return {};
      }));
    });
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(list.size()));
  state.SetItemsProcessed(state.iterations() * kNodes);
}

void watch_lines(benchmark::State& state) {
  std::string lines;
  for (const std::string& node : node_texts(kNodes)) lines += R"({"type":"MODIFIED","object":)" + node + "}\n";
  const auto decoder = kube::make_node_decoder(selection(kMetadata));
  for (auto step : state) {
    kube::LineSplitter splitter;
    in_chunks(lines, [&](std::string_view chunk) {
      check(state, splitter.feed(chunk, [&](std::string_view line) -> Result<> {
        NW_TRY_ASSIGN(const auto event, decoder->event(line));
        benchmark::DoNotOptimize(event.version);
        return {};
      }));
    });
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(lines.size()));
  state.SetItemsProcessed(state.iterations() * kNodes);
}

// Heap bytes a node costs in the cache, by the allocator's own count.
void bytes_kept(benchmark::State& state) {
  const auto texts = node_texts(2000);
  const auto decoder = kube::make_node_decoder(selection(state.range(0)));
  for (const std::string& text : texts) benchmark::DoNotOptimize(decoder->object(text));    // buffers grow first
  double bytes = 0;
  for (auto step : state) {
    const auto before = mallinfo2().uordblks;
    nodes::NodeView view([](const auto&, const auto&) {});
    view.list_begins();
    for (const std::string& text : texts) view.apply(*decoder->object(text));
    bytes = static_cast<double>(mallinfo2().uordblks - before) / static_cast<double>(texts.size());
  }
  state.counters["bytes/node"] = bytes;
}

BENCHMARK(list_of_nodes)->ArgName("decode")->DenseRange(kNothing, kAllLabels)->Unit(benchmark::kMillisecond);
BENCHMARK(watch_lines)->Unit(benchmark::kMillisecond);
BENCHMARK(bytes_kept)->ArgName("decode")->DenseRange(kMetadata, kAllLabels)->Iterations(1)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace nodeward::bench

BENCHMARK_MAIN();
