// What the demo shows, as text. Pure.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "api/counters.h"
#include "base/json.h"

namespace nodeward::demo {

// What `labeler --print-only` says, a line per node.
struct Plan {
  std::size_t nodes = 0;
  std::size_t nodes_to_change = 0;
  std::map<std::string, std::string> because;  // "gpu-07 dcgm.version" -> "pod nvidia-dcgm-x7"
};
// Lines that are no plan of a node (the log) are passed over.
Plan read_plan(std::string_view output);

struct NodeStory {
  Json before;
  Json after;
};
// A row for each label or annotation that differs: node, key, before, after and why.
std::string change_table(const std::vector<NodeStory>& nodes, const Plan& plan);

// A health event, what fault-quarantine said of it (a line of --outcomes), and the node before and after.
struct FaultStep {
  Json event;
  Json outcome;
  NodeStory node;
  api::Counters asked = {};
};
std::string step_text(std::size_t number, const FaultStep& step);

// The calls by verb, beside a program that reads a node and writes it back for each of `writes`.
std::string call_table(std::string_view program, const api::Counters& asked, std::size_t writes);

}  // namespace nodeward::demo
