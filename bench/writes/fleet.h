// A fleet as GPU monitoring finds it: nodes of 17 KB JSON made from the example node, each with a DCGM and a driver pod that are
// Ready, and none of the labels that the labeler is to set. Pure but for reading the example.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"

namespace nodeward::bench {

struct Fleet {
  std::vector<std::string> names;
  std::vector<Json> nodes;
  std::vector<Json> pods;
};

// Nodes number `first` up to `first + count - 1`. Throws std::runtime_error when the example is not there.
Fleet make_fleet(int first, int count);

}  // namespace nodeward::bench
