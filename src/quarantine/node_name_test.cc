#include "quarantine/node_name.h"

#include <gtest/gtest.h>

#include <string>

namespace nodeward::quarantine {
namespace {

TEST(NodeName, OnlyADnsSubdomainCanNameANode) {
  for (const std::string name : {"gpu-a-017", "10.0.74.31", "a", "ip-10-0-1-2.eu-west-1.compute.internal", "0"}) {
    EXPECT_TRUE(can_name_a_node(name)) << name;
  }
  for (const std::string name :
       {"", "GPU-A-017", "gpu-a-017.", ".a", "a..b", "gpu-a-017 ", "-a", "a-", "a.-b", "a_b", "a/b", "größe"}) {
    EXPECT_FALSE(can_name_a_node(name)) << '"' << name << '"';
  }
  EXPECT_TRUE(can_name_a_node(std::string(253, 'x')));
  EXPECT_FALSE(can_name_a_node(std::string(254, 'x')));
}

}  // namespace
}  // namespace nodeward::quarantine
