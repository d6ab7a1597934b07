#include "sim/faults.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "base/fake_clock.h"
#include "net/curl_transport.h"

namespace nodeward::sim {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

namespace fs = std::filesystem;
const fs::path kData = NW_SOURCE_DIR "/tests/data";

std::string problem_of(const std::string& text) {
  const auto script = parse_fault_script(text);
  return script ? "" : script.error().message;
}

TEST(FaultScript, EveryScriptOfTheFieldIsReadAsItStands) {
  int read = 0;
  for (const auto& entry : fs::directory_iterator(kData / "http")) {
    if (entry.path().extension() != ".json") continue;
    const auto script = read_fault_script(entry.path());
    EXPECT_TRUE(script) << script.error().message;
    ++read;
  }
  EXPECT_EQ(read, 9);
}

TEST(FaultScript, HoldsWhatWasWritten) {
  const FaultScript script = parse_fault_script(R"({
    "rules": [{"on": {"verb": "PATCH", "header": "Authorization: Bearer x", "nth": 3, "after_ms": 1500}, "repeat": true,
               "replies": [{"status": 429, "body": "too-many", "headers": {"Retry-After": "3"}, "delay_ms": 20},
                           {"goaway": 4}, {"silent": true, "after_ms": 10000, "drop_packets_both_ways": true}]}],
    "timeline": [{"at_ms": 3000, "restart_server_ms": 8000}, {"when": "PATCH applied", "kill": true}],
    "token_file_steps": [{"at_ms": 0, "content": "tok\\n"}]})")
                                 .value()
                                 .stretched(0.5);
  const FaultRule& rule = script.rules.at(0);
  EXPECT_EQ(rule.on.header, "authorization");
  EXPECT_EQ(rule.on.header_value, "Bearer x");
  EXPECT_EQ(rule.on.nth, 3);
  EXPECT_EQ(rule.on.after, 750ms);
  EXPECT_TRUE(rule.repeat);
  EXPECT_EQ(rule.replies[0].delay, 10ms);
  EXPECT_EQ(rule.replies[0].headers.at(0).value, "3");
  EXPECT_THAT(rule.replies[0].body, HasSubstr(R"("reason":"TooManyRequests")"));
  EXPECT_EQ(rule.replies[1].goaway, 4);
  EXPECT_EQ(rule.replies[2].act, FaultReply::Act::kFreeze);
  EXPECT_EQ(rule.replies[2].freeze_after, 5s);
  EXPECT_EQ(std::get<RestartServer>(script.timeline[0].act).away, 4s);
  EXPECT_EQ(std::get<Signal>(script.timeline[1].act), Signal::kKill);
  EXPECT_EQ(script.timeline[1].when, "PATCH applied");
  EXPECT_EQ(script.token_file[0].content, "tok\n");
}

TEST(FaultScript, WhatIsWrongIsNamedWithItsPlace) {
  EXPECT_EQ(problem_of("[]"), "the script: is no object");
  EXPECT_EQ(problem_of(R"({"rulez": []})").substr(0, 27), "rulez: is unknown here; the");
  EXPECT_EQ(problem_of(R"({"rules": [{"replies": [{"apply": true}]}]})"), "rules[0].on: is no object");
  EXPECT_EQ(problem_of(R"({"rules": [{"on": {}, "replies": []}]})"), "rules[0].replies: has none");
  EXPECT_EQ(problem_of(R"({"rules": [{"on": {"verb": "patch"}, "replies": [{"apply": true}]}]})"),
            "rules[0].on.verb: \"patch\" is none of GET, LIST, WATCH, POST, PUT, PATCH, DELETE");
  EXPECT_EQ(problem_of(R"({"rules": [{"on": {}, "replies": [{"apply": true}, {"status": "409"}]}]})"),
            "rules[0].replies[1].status: is no number from 200 to 599");
  EXPECT_EQ(problem_of(R"({"rules": [{"on": {}, "replies": [{"apply": true, "silent": true}]}]})"),
            "rules[0].replies[0]: takes one of apply, apply_then_drop, goaway, silent, status");
  EXPECT_EQ(problem_of(R"({"rules": [{"on": {}, "replies": [{"apply": true, "first_change": {}}]}]})"),
            "rules[0].replies[0].first_change: changes nothing; it takes add_taint, labels, status");
  EXPECT_EQ(problem_of(R"({"timeline": [{"event": "x"}]})"), "timeline[0]: takes either at_ms or when");
  EXPECT_EQ(problem_of(R"({"timeline": [{"at_ms": -1, "event": "x"}]})"), "timeline[0].at_ms: is no number from 0 to 86400000");
  EXPECT_EQ(problem_of(R"({"objects": ["a", 1]})"), "objects: is no list of texts");
  const fs::path file = fs::path(testing::TempDir()) / "odd-script.json";
  std::ofstream(file) << R"({"background": {"status_patches": 4}})";
  EXPECT_THAT(read_fault_script(file).error().message, StartsWith(file.string() + ": background.status_patches: is unknown"));
}

class FaultsOnAServer : public testing::Test {
 protected:
  FaultsOnAServer() {
    EXPECT_TRUE(sim_->load_file(kData / "nodes/node-three-foreign-taints.json"));
    transport_ = net::make_curl_transport({.origin = sim_->origin(), .ca_pem = sim_->ca_pem()});
  }
  void play(const std::string& rules) { faults_.emplace(*sim_, parse_fault_script(R"({"rules":)" + rules + "}").value().rules); }
  net::Request patch(const std::string& body) const {
    return {.method = "PATCH",
            .path = "/api/v1/nodes/gpu-a-017",
            .headers = {{"Authorization", "Bearer " + sim_->token()}, {"Content-Type", "application/merge-patch+json"}},
            .body = body,
            .timeout = 10s};
  }
  Result<net::Response> send(const std::string& body) { return transport_->send(patch(body), {}); }
  int status(const std::string& body = kLabel) {
    const auto answer = send(body);
    return answer ? answer->status : 0;
  }
  Json node() {
    return sim_->run_on_loop(
        [](ApiServer& api) { return api.store().find(*find_resource("", "v1", "nodes"), "gpu-a-017")->json(); });
  }

  static inline const std::string kLabel = R"({"metadata":{"labels":{"a":"b"}}})";
  const std::unique_ptr<Simulation> sim_ = Simulation::start({}).value();
  std::unique_ptr<net::Transport> transport_;
  std::optional<Faults> faults_;
};

TEST_F(FaultsOnAServer, RepliesComeInTurnAndThenARuleIsUsedUp) {
  play(R"([{"on": {"verb": "PATCH", "path": "/api/v1/nodes/gpu-a-017"},
            "replies": [{"status": 503, "body": "unavailable"}, {"apply": true}, {"status": 409, "body": "conflict"}]}])");
  EXPECT_EQ(status(), 503);
  EXPECT_FALSE(node()["metadata"]["labels"].contains("a"));
  EXPECT_EQ(status(), 200);
  EXPECT_EQ(status(), 409);
  EXPECT_EQ(status(), 200);
  std::vector<int> answers;
  for (const Asked& asked : faults_->asked("PATCH", "/api/v1/nodes/")) answers.push_back(asked.status);
  EXPECT_THAT(answers, ElementsAre(503, 200, 409, 200));
}

TEST_F(FaultsOnAServer, TheFirstRuleThatMatchesAnswersAndEachCountsEveryRequest) {
  play(R"([{"on": {"verb": "PATCH", "nth": 2}, "replies": [{"status": 502}]},
           {"on": {"verb": "PATCH", "nth": 3}, "replies": [{"status": 504}]},
           {"on": {"body_has": "metadata.annotations"}, "repeat": true, "replies": [{"status": 422, "body": "invalid"}]},
           {"on": {"query_has": "Selector=a in (b"}, "replies": [{"status": 418}]},
           {"on": {"header": "authorization: Bearer else"}, "replies": [{"status": 401}]}])");
  EXPECT_EQ(status(), 200);
  EXPECT_EQ(status(), 502);
  EXPECT_EQ(status(), 504);
  EXPECT_EQ(status(R"({"metadata":{"annotations":{}}})"), 422);
  EXPECT_EQ(status(R"({"metadata":{"annotations":{}}})"), 422);
  EXPECT_EQ(status(), 200);
  EXPECT_EQ(transport_->send({.path = "/api/v1/pods?labelSelector=a%20in%20%28b,c%29"}, {})->status, 418);
}

TEST_F(FaultsOnAServer, AnotherClientsChangeComesFirst) {
  play(
      R"([{"on": {"verb": "PATCH"}, "replies": [{"first_change": {"add_taint": {"key": "x", "effect": "NoSchedule"}}, "apply": true}]}])");
  const std::string version = node()["metadata"]["resourceVersion"];
  EXPECT_EQ(status(R"({"metadata":{"resourceVersion":")" + version + R"(","labels":{"a":"b"}}})"), 409);
  EXPECT_EQ(node()["spec"]["taints"].size(), 4U);
}

TEST_F(FaultsOnAServer, AWriteThatIsDoneAndNotAnswered) {
  play(R"([{"on": {"verb": "PATCH"}, "replies": [{"apply_then_drop": true}]}])");
  EXPECT_EQ(status(), 0);
  EXPECT_EQ(node()["metadata"]["labels"]["a"], "b");
}

TEST_F(FaultsOnAServer, ARequestAboveTheLastStreamIsSentAgainOnANewConnection) {
  play(R"([{"on": {"verb": "PATCH", "nth": 2}, "replies": [{"goaway": 1}]}])");
  EXPECT_EQ(status(), 200);
  EXPECT_EQ(status(), 200);
  EXPECT_EQ(faults_->asked("PATCH", "").size(), 3U);
}

TEST_F(FaultsOnAServer, ADelayIsWaitedFor) {
  play(R"([{"on": {"verb": "PATCH"}, "replies": [{"delay_ms": 50, "apply": true}]}])");
  EXPECT_EQ(status(), 200);
  const Asked asked = faults_->asked().at(0);
  EXPECT_GE(*asked.answered - asked.at, 50ms);
}

TEST_F(FaultsOnAServer, SilenceIsOfARequestAndADeadPathOfItsConnection) {
  play(R"([{"on": {"verb": "PATCH", "nth": 1}, "replies": [{"silent": true}]},
           {"on": {"verb": "PATCH", "nth": 3}, "replies": [{"silent": true, "drop_packets_both_ways": true}]}])");
  net::Request unheard = patch(kLabel);
  unheard.timeout = 200ms;
  EXPECT_EQ(transport_->send(unheard, {}).error().code, ErrorCode::kTimeout);
  EXPECT_EQ(status(), 200);
  EXPECT_EQ(transport_->send(unheard, {}).error().code, ErrorCode::kTimeout);
}

TEST_F(FaultsOnAServer, ObjectsAreMadeFromATemplate) {
  FaultScript script;
  script.generated = {.count = 12, .from = "nodes/node-bare.json", .name = "gpu-%03d-x"};
  ASSERT_TRUE(load_objects(*sim_, script, kData));
  const auto names = sim_->run_on_loop([](ApiServer& api) {
    std::vector<std::string> all;
    for (const auto& [name, node] : api.store().shelf(*find_resource("", "v1", "nodes")).objects()) all.push_back(name);
    return all;
  });
  EXPECT_EQ(names.size(), 13U);
  EXPECT_EQ(names.back(), "gpu-a-017");
  EXPECT_EQ(names[11], "gpu-011-x");
}

}  // namespace
}  // namespace nodeward::sim
