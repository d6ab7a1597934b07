// A server that answers, but not as wished: passing failures (R02), a body that it does not like (R07), throttling (R16), a token
// that it takes no more (R32).
#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <set>

#include "base/text.h"
#include "chaos/program_on_sim.h"

namespace nodeward::chaos {
namespace {

using testing::AnyOf;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Le;
using testing::SizeIs;

constexpr const char* kNode = "gpu-a-017";
constexpr const char* kOther = "gpu-a-018";

std::vector<sim::FaultRule> always(const sim::FaultMatch& on, int status, const std::string& body) {
  sim::FaultReply reply{.act = sim::FaultReply::Act::kAnswer, .status = status};
  reply.headers = {{"Content-Type", "application/json"}};
  reply.body = sim::status_body(body, status).value();
  return {{.on = on, .replies = {reply}, .repeat = true}};
}

// ---- R02 ----------------------------------------------------------------------------------------------------------------------

class R02 : public ProgramOnSim {
 protected:
  void begin(const sim::FaultScript& loss) {
    serve(loss);
    load_node(kOther);
    before_answer_ = [this](const sim::Asked& asked) {
      if (asked.verb == "PATCH" && asked.path.ends_with(kNode) && outcomes().contains(1)) settled_early_ = true;
    };
    start();
    controller().await_ready();
    play(loss);  // line 1
    append(kOther);  // line 2
  }
  void expect_done() {
    await_outcomes(2);
    EXPECT_EQ(outcomes()[1]["status"], "Quarantined");
    EXPECT_TRUE(node().cordoned());
    EXPECT_THAT(node().tracked(), SizeIs(1));
    EXPECT_FALSE(settled_early_);
  }
  std::atomic<bool> settled_early_ = false;
};

TEST_F(R02, AThrottledReadOnTheWayLosesNothing) {
  begin(script("transient-loss"));
  await_quarantined(kOther, 2s);
  expect_done();
  EXPECT_THAT(answers_of(kNode), ElementsAre(409, 503, 200));
  EXPECT_EQ(answers_of(kNode, "GET").front(), 429);
}

TEST_F(R02, AServerThatFailsForAWhileLosesNothing) {
  auto loss = script("transient-loss");
  loss.rules = {};
  serve(loss);
  load_node(kOther);
  start();
  controller().await_ready();
  serve_by(always({}, 503, "unavailable"));
  play(loss);
  append(kOther);
  sleep_until(is_long() ? Duration(40s) : Duration(2s));
  EXPECT_THAT(outcomes(), IsEmpty());
  EXPECT_GE(answers_of(kNode).size(), 3U);
  serve_by({});
  await_quarantined(kNode, 62s);  // the longest back-off is a minute
  expect_done();
}

TEST_F(R02, AWriteThatNeverSucceedsIsLeftToTheNextStart) {
  auto loss = script("transient-loss");
  loss.rules = always({.verb = "PATCH", .path = "/api/v1/nodes/gpu-a-017"}, 503, "unavailable");
  begin(loss);
  await_quarantined(kOther, 2s);
  sleep_until(is_long() ? Duration(20s) : Duration(1500ms));
  EXPECT_FALSE(outcomes().contains(1));
  EXPECT_LE(stop(), 10s);
  serve_by({});
  start();
  await_quarantined();
  expect_done();
}

// ---- R07 ----------------------------------------------------------------------------------------------------------------------

class R07 : public ProgramOnSim {
 protected:
  void expect_cordon_and_taint(const sim::FaultScript& refusal) {
    serve(refusal);
    start();
    controller().await_ready();
    const Duration begin = passed();
    play(refusal);
    await_quarantined(kNode, 5s);
    EXPECT_THAT(node().taints(), testing::HasSubstr("gpu.example.com/fault=fatal:NoSchedule"));
    sleep_until(begin + (is_long() ? Duration(60s) : Duration(2s)));
    const auto asked = asked_of(kNode);
    EXPECT_LE(asked.size(), 3U);
    EXPECT_EQ(asked.at(0).status, 422);
    std::set<std::string> bodies;
    for (const sim::Asked& one : asked) EXPECT_TRUE(bodies.insert(one.request.body).second) << "sent again: " << one.request.body;
  }
};

TEST_F(R07, ALabelThatIsRefusedOnceStopsNoCordon) { expect_cordon_and_taint(script("label-422")); }

TEST_F(R07, ALabelThatIsAlwaysRefusedStopsNoCordon) {
  auto refusal = script("label-422");
  refusal.rules[0].repeat = true;
  expect_cordon_and_taint(refusal);
}

// ---- R16 ----------------------------------------------------------------------------------------------------------------------

class R16 : public ProgramOnSim {
 protected:
  // Between the first answer and the second request.
  Duration gap(const std::string& node) {
    const auto asked = asked_of(node);
    EXPECT_GE(asked.size(), 2U) << node;
    return asked.size() < 2 ? Duration(0s) : asked[1].at - *asked[0].answered;
  }
};

TEST_F(R16, RetryAfterIsObeyedWhereItIsANumberAndNobodyWaitsForAnotherNode) {
  serve(script("throttled"));
  start();
  controller().await_ready();
  for (const std::string& name : nodes()) append(name);
  await_quarantined({"gpu-t-0", "gpu-t-1", "gpu-t-3", "gpu-t-4"}, 10s);

  const auto between = [](Duration least, Duration most) { return testing::AllOf(testing::Ge(least), Le(most)); };
  EXPECT_THAT(gap("gpu-t-0"), between(3s, 4s));
  EXPECT_THAT(gap("gpu-t-1"), between(200ms, 2s));
  EXPECT_THAT(gap("gpu-t-3"), between(200ms, 2s));
  EXPECT_THAT(gap("gpu-t-4"), between(1s, 2s));
  EXPECT_EQ(asked_of("gpu-t-2").size(), 1U);
  EXPECT_EQ(controller().get("/healthz").status, 200);
  if (!is_long()) {
    EXPECT_LE(stop(), 10s);
    return;
  }
  await_quarantined("gpu-t-2", 130s);
  EXPECT_THAT(gap("gpu-t-2"), between(120s, 125s));
}

TEST_F(R16, RetriesTakeTheirPlaceInTheSameRateAsFirstTries) {
  constexpr double kQps = 2;
  constexpr int kBurst = 5;
  serve(script("throttled"));
  start({fmt::format("--kube-api-qps={}", kQps), fmt::format("--kube-api-burst={}", kBurst)});
  controller().await_ready();
  const Duration begin = passed();
  for (const std::string& name : nodes()) append(name);
  await_quarantined({"gpu-t-1", "gpu-t-3", "gpu-t-4"}, 10s);
  const auto sent = faults_->asked("PATCH", "/api/v1/nodes/");
  ASSERT_GE(sent.size(), 8U);
  for (std::size_t i = 0; i < sent.size(); ++i) {
    const double seconds = std::chrono::duration<double>(sent[i].at - begin).count();
    EXPECT_LE(static_cast<double>(i + 1), kBurst + kQps * seconds + 0.1) << "at " << seconds << " s";
  }
}

// ---- R32 ----------------------------------------------------------------------------------------------------------------------

class R32 : public ProgramOnSim {
 protected:
  void begin(const sim::FaultScript& rotation) {
    serve(rotation, {.token = "tok-1", .other_token = "tok-2"});
    load_node(kNode);
    load_node(kOther);
    put_token(rotation.token_file.at(0).content);
    std::string config = read_file(kubeconfig()).value();
    const auto token = config.find("token: ");
    config.replace(token, config.find('\n', token) - token, "tokenFile: " + token_file().string());
    std::ofstream(kubeconfig()) << config;
    start();
    controller().await_ready();
  }
  void put_token(const std::string& content) const {
    const auto fresh = folder_.path() / "token.new";
    std::ofstream(fresh) << content;
    std::filesystem::rename(fresh, token_file());
  }
  int count(const std::function<bool(const sim::Asked&)>& which) const {
    const auto asked = faults_->asked();
    return static_cast<int>(std::count_if(asked.begin(), asked.end(), which));
  }
  int reads() const {
    return count([](const sim::Asked& asked) { return asked.verb == "LIST" || asked.verb == "WATCH"; });
  }
  static bool refused(const sim::Asked& asked) { return asked.status == 401; }
  std::filesystem::path token_file() const { return folder_.path() / "token"; }
};

TEST_F(R32, ATokenThatIsSwappedCostsOneRefusalAndNoEvent) {
  const auto rotation = script("token-401").stretched(is_long() ? 1 : 0.1);
  begin(rotation);
  const int reads_at_first = reads();
  const std::jthread rotate([&] {
    sleep_until(rotation.token_file.at(1).at);
    put_token(rotation.token_file.at(1).content);
  });
  play(rotation);
  await_quarantined(nodes());
  await_outcomes(2);
  for (const sim::Asked& asked : faults_->asked()) {
    EXPECT_THAT(std::string(asked.request.header("authorization")), AnyOf("Bearer tok-1", "Bearer tok-2"));
  }
  EXPECT_EQ(count(refused), 1);
  EXPECT_LE(reads(), reads_at_first + 1);
  EXPECT_EQ(asked_of(kOther).back().request.header("authorization"), "Bearer tok-2");
}

TEST_F(R32, ARefusalThatStaysIsWaitedForAndDropsNothing) {
  auto rotation = script("token-401");
  rotation.timeline.clear();
  begin(rotation);
  serve_by(always({.verb = "PATCH"}, 401, "unauthorized"));
  append(kNode);
  sleep_until(is_long() ? Duration(60s) : Duration(2s));
  const auto asked = asked_of(kNode);
  EXPECT_GE(asked.size(), 3U);
  EXPECT_LE(asked.size(), is_long() ? 11U : 6U);  // 0.2 s doubling up to 30 s
  EXPECT_EQ(controller().metric(R"(fault_quarantine_api_requests_total{code="401",verb="PATCH"})"),
            static_cast<double>(asked.size()));
  EXPECT_THAT(outcomes(), IsEmpty());
  serve_by({});
  await_quarantined(kNode, 40s);
}

}  // namespace
}  // namespace nodeward::chaos
