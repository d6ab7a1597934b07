// A test's simulated server, and what tests read out of its answers. For tests only.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/json.h"
#include "sim/fake_server.h"

namespace nodeward::sim {

class Api : public testing::Test, public FakeServer {
 protected:
  static std::vector<std::string> names_of(const Json& list) {
    std::vector<std::string> names;
    for (const Json& item : list["items"]) names.push_back(item["metadata"]["name"]);
    return names;
  }
};

}  // namespace nodeward::sim
