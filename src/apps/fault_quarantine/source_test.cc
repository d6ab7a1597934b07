#include "apps/fault_quarantine/source.h"

#include <gmock/gmock.h>

#include <map>

namespace nodeward::apps {
namespace {

using testing::HasSubstr;
using Variables = std::map<std::string, std::string>;

std::optional<Refusal> refusal(const std::vector<std::string>& args, const Variables& variables = {}) {
  const auto flags = read_fault_quarantine_flags(args);
  if (!flags) return Refusal{flags.error().exit_code, flags.error().text};
  return refusal_of(*flags, [&](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

TEST(EventSource, LinesAreTaken) {
  EXPECT_FALSE(refusal({"--event-source", "file:events.jsonl"}));
  EXPECT_FALSE(refusal({"-event-source=file:-", "--circuit-breaker-enabled=false"}, {{"DATASTORE_PROVIDER", "postgresql"}}));
}

TEST(EventSource, ALeaseGoesWithASourceThatDoesNotEnd) {
  EXPECT_FALSE(refusal({"--leader-elect", "--event-source=file:events.jsonl?follow"}));
  const auto refused = refusal({"--leader-elect", "--event-source=file:events.jsonl"});
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->exit_code, 2);
  EXPECT_THAT(refused->sentence, HasSubstr("?follow"));
}

TEST(EventSource, WithoutAFlagOnlyPostgresIsMeant) {
  for (const Variables& variables :
       {Variables{}, Variables{{"MONGODB_URI", "mongodb://db"}}, Variables{{"DATASTORE_PROVIDER", "mongodb"}}}) {
    const auto refused = refusal({}, variables);
    ASSERT_TRUE(refused);
    EXPECT_EQ(refused->exit_code, 1);
    EXPECT_THAT(refused->sentence, HasSubstr("--event-source file:PATH"));
  }
}

TEST(EventSource, WithoutAnyTheFirstWordIsTheFlagToGive) {
  EXPECT_THAT(refusal({})->sentence, testing::StartsWith("--event-source file:PATH"));
}

TEST(EventSource, WhatIsNotBuiltYetIsRefusedInASentence) {
  for (const auto& [args, variables] : {std::pair{std::vector<std::string>{"--event-source=postgres"}, Variables{}},
                                        {std::vector<std::string>{}, Variables{{"DATASTORE_PROVIDER", "postgresql"}}},
                                        {std::vector<std::string>{}, Variables{{"DATASTORE_YAML", "provider: postgresql"}}},
                                        {std::vector<std::string>{"--dry-run", "--event-source=file:x"}, Variables{}}}) {
    const auto refused = refusal(args, variables);
    ASSERT_TRUE(refused);
    EXPECT_EQ(refused->exit_code, 2);
    EXPECT_THAT(refused->sentence, HasSubstr("this version"));
  }
}

TEST(FaultQuarantineFlags, TakesUpstreamsCommandLine) {
  const std::vector<std::string> args = {"--metrics-port=2112",
                                         "--dry-run=false",
                                         "--tls-enabled=false",
                                         "--circuit-breaker-enabled=true",
                                         "--gpu-node-label=nvidia.com/gpu.present=true",
                                         "--event-source=file:x"};
  EXPECT_FALSE(refusal(args));
  EXPECT_EQ(refusal({"--no-such-flag"})->exit_code, 2);
}

TEST(FaultQuarantineFlags, TheGpuNodeLabelHasAKeyAndAnEqualsSign) {
  for (const char* good : {"a=b", "a=", "a=b=c"}) EXPECT_TRUE(check_gpu_node_label(good)) << good;
  for (const char* bad : {"", "a", "=", "=b"}) {
    const auto checked = check_gpu_node_label(bad);
    ASSERT_FALSE(checked) << bad;
    EXPECT_THAT(checked.error().message, HasSubstr("--gpu-node-label"));
  }
}

}  // namespace
}  // namespace nodeward::apps
