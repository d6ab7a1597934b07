// The labeler at work on a scripted API server: what it does with answers that a healthy server never gives. Everything above
// HTTP is the real code; time is a FakeClock's. The rows with a healthy server stand in tests/api.
#include "labels/labeler.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <latch>
#include <set>

#include "base/fake_clock.h"
#include "base/guarded.h"
#include "base/json.h"
#include "labels/keys.h"
#include "net/scripted_transport.h"

namespace nodeward::labels {
namespace {

using net::Request;
using net::Response;
using testing::HasSubstr;
using testing::Not;

Response status(int code) {
  return {code,
          {},
          fmt::format(R"({{"kind":"Status","code":{},"reason":"{}","message":"because"}})", code, code == 404 ? "NotFound" : "")};
}
bool is_list_of(const Request& request, std::string_view resource) {
  return request.method == "GET" && request.path.starts_with(fmt::format("/api/v1/{}?", resource)) &&
         request.path.find("watch=true") == std::string::npos;
}
bool is_pod_list(const Request& request) { return is_list_of(request, "pods"); }

// Just enough of an API server: nodes and pods in memory, lists, watches that stay open, merge patches. It gives
// all pods to each pod watch, whatever the selector; the labeler looks at the labels itself.
class FakeApi final : public net::Transport {
 public:
  // Asked first, under no lock; may block. nullopt: the normal answer.
  std::function<std::optional<Response>(const Request&)> script = [](const Request&) { return std::nullopt; };
  // After a patch was done and the watch told, before it is answered.
  std::function<void()> before_answer = [] {};

  void node(const std::string& name, const Json& labels, const Json& annotations = Json::object()) {
    put("nodes", name, {{"metadata", {{"name", name}, {"uid", name}, {"labels", labels}, {"annotations", annotations}}}});
  }
  void pod(const std::string& name, const std::string& node, const std::string& app, bool ready,
           const std::string& image = "x:1") {
    put("pods", name,
        {{"metadata", {{"name", name}, {"namespace", "gpu"}, {"uid", name}, {"labels", {{"app", app}}}}},
         {"spec", {{"nodeName", node}, {"containers", {{{"image", image}}}}}},
         {"status", {{"conditions", {{{"type", "Ready"}, {"status", ready ? "True" : "False"}}}}}}});
  }
  void merge(const std::string& node, const Json& patch) {
    Json object = the("nodes", node);
    object.merge_patch(patch);
    put("nodes", node, std::move(object));
  }
  // What the watch has not shown yet, and does not show.
  void merge_untold(const std::string& node, const Json& patch) {
    const std::lock_guard lock(mutex_);
    Json& object = objects_["nodes"][node];
    object.merge_patch(patch);
    object["metadata"]["resourceVersion"] = std::to_string(++version_);
  }
  Json the(const std::string& resource, const std::string& name) const {
    const std::lock_guard lock(mutex_);
    return objects_.at(resource).at(name);
  }
  Json labels_of(const std::string& node) const { return the("nodes", node)["metadata"]["labels"]; }
  std::vector<Request> sent(std::string_view method) const {
    const std::lock_guard lock(mutex_);
    std::vector<Request> found;
    for (const Request& request : requests_) {
      if (request.method == method && (method != "GET" || request.path.starts_with("/api/v1/nodes/"))) found.push_back(request);
    }
    return found;
  }
  int reads(std::string_view path_part) const {
    const std::lock_guard lock(mutex_);
    return static_cast<int>(std::count_if(requests_.begin(), requests_.end(), [&](const Request& request) {
      return request.method == "GET" && request.path.find(path_part) != std::string::npos;
    }));
  }

  Result<Response> send(const Request& request, const std::stop_token&) override {
    remember(request);
    if (auto scripted = script(request)) return *std::move(scripted);
    const std::string path = request.path.substr(0, request.path.find('?'));
    const std::string name = path.substr(path.rfind('/') + 1);
    if (request.method == "PATCH") {
      merge(name, parse_json(request.body).value());
      before_answer();
    }
    return Response{200, {}, to_text(the("nodes", name))};
  }
  Result<std::unique_ptr<net::Stream>> open(const Request& request, const std::stop_token&) override {
    remember(request);
    if (auto scripted = script(request)) return std::make_unique<Body>(*this, "", 0, *std::move(scripted));
    if (request.path.find("sendInitialEvents") != std::string::npos) return std::make_unique<Body>(*this, "", 0, status(422));
    const std::string resource = request.path.starts_with("/api/v1/nodes") ? "nodes" : "pods";
    constexpr std::string_view kFrom = "resourceVersion=";
    if (const auto from = request.path.find(kFrom); from != std::string::npos) {
      return std::make_unique<Body>(*this, resource, std::stoi(request.path.substr(from + kFrom.size())), Response{200, {}, {}});
    }
    return std::make_unique<Body>(*this, "", 0, Response{200, {}, to_text(list(resource))});
  }

  // What the list of a resource says, for scripts that give it in pages.
  Json list(const std::string& resource) const {
    const std::lock_guard lock(mutex_);
    Json items = Json::array();
    if (const auto found = objects_.find(resource); found != objects_.end()) {
      for (const auto& [name, object] : found->second) items.push_back(object);
    }
    return {{"metadata", {{"resourceVersion", std::to_string(version_)}}}, {"items", items}};
  }

 private:
  // A whole answer, or (with a resource) the events after a version, for as long as somebody reads.
  class Body final : public net::Stream {
   public:
    Body(FakeApi& api, std::string resource, int from, Response response)
        : api_(api), resource_(std::move(resource)), from_(from), response_(std::move(response)) {}
    int status() const override { return response_.status; }
    std::optional<std::string_view> header(std::string_view name) const override { return response_.header(name); }
    Result<std::optional<std::string>> read(Duration, const std::stop_token& stop) override {
      if (!resource_.empty()) return api_.events(resource_, from_, stop);
      if (response_.body.empty()) return std::nullopt;
      return std::exchange(response_.body, {});
    }

   private:
    FakeApi& api_;
    const std::string resource_;
    int from_;
    Response response_;
  };

  void put(const std::string& resource, const std::string& name, Json object) {
    {
      const std::lock_guard lock(mutex_);
      object["metadata"]["resourceVersion"] = std::to_string(++version_);
      events_[resource][version_] = to_text(Json{{"type", "MODIFIED"}, {"object", object}}) + "\n";
      objects_[resource][name] = std::move(object);
    }
    changed_.notify_all();
  }
  Result<std::optional<std::string>> events(const std::string& resource, int& from, const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    const auto next = [&] { return events_[resource].upper_bound(from); };
    if (!changed_.wait(lock, stop, [&] { return next() != events_[resource].end(); }))
      return fail(ErrorCode::kCancelled, "stopped");
    from = next()->first;
    return events_[resource].at(from);
  }
  void remember(const Request& request) {
    const std::lock_guard lock(mutex_);
    requests_.push_back(request);
  }

  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  int version_ = 1;
  std::map<std::string, std::map<std::string, Json>> objects_;
  std::map<std::string, std::map<int, std::string>> events_;
  std::vector<Request> requests_;
};

class LabelerOnAScriptedServer : public testing::Test {
 protected:
  FakeClock clock_;
  FakeApi api_;
  kube::Client client_{api_, {}, clock_};
  telemetry::Metrics registry_;
  LabelerMetrics metrics_{registry_};
  std::unique_ptr<Labeler> labeler_;
  std::jthread running_;

  void start(double qps = -1, kube::Encoding ask_for = LabelerOptions{}.ask_for) {
    const LabelerOptions options{.qps = qps, .burst = 1, .workers = 4, .ask_for = ask_for};
    labeler_ = std::make_unique<Labeler>(client_, options, registry_, clock_);
    running_ = std::jthread([this](const std::stop_token& stop) { labeler_->run(stop); });
  }
  void stop() { running_ = {}; }
  // Moves the clock in steps of 50 ms until `holds`; false after a quarter of an hour of it.
  bool comes(const std::function<bool()>& holds) {
    for (int i = 0; i < 18'000; ++i) {
      if (holds()) return true;
      pass(50ms);
    }
    return false;
  }
  // The threads get a moment to see each step.
  void pass(Duration time, Duration step = 50ms) {
    for (Duration passed{}; passed < time; passed += step) {
      clock_.advance(step);
      std::this_thread::sleep_for(std::chrono::microseconds(500));
    }
  }
  void await_ready() {
    ASSERT_TRUE(comes([&] { return labeler_->readiness().ready; })) << labeler_->readiness().text;
    settle();
  }
  // A node and a pod behind everything else on their watches: when their write is there, the rest has been seen.
  void settle() {
    const std::string name = fmt::format("witness-{}", ++witnesses_);
    api_.node(name, Json::object());
    ASSERT_TRUE(comes([&] { return api_.labels_of(name).contains(std::string(kKataEnabled)); }));
    api_.pod(name, name, "nvidia-driver-daemonset", true);
    ASSERT_TRUE(comes([&] { return api_.labels_of(name).contains(std::string(kDriverInstalled)); }));
  }
  // PATCHes that are not the witnesses'.
  std::vector<Request> patches() const {
    auto found = api_.sent("PATCH");
    std::erase_if(found, [](const Request& request) { return request.path.find("/witness-") != std::string::npos; });
    return found;
  }
  int witnesses_ = 0;
};

using LabelerCase50 = LabelerOnAScriptedServer;
using LabelerCase51 = LabelerOnAScriptedServer;

bool is_patch_of(const Request& request, std::string_view node) {
  return request.method == "PATCH" && request.path.starts_with(fmt::format("/api/v1/nodes/{}?", node));
}

// 50 | PATCH answers 500 once | driver R added | requeued, second request succeeds, I=true, failure counter +1 | 2
TEST_F(LabelerCase50, AFailedWriteIsTriedAgainAndCounted) {
  api_.node("n1", {{kKataEnabled, "false"}});
  start();
  await_ready();
  std::atomic<int> failures = 1;
  api_.script = [&](const Request& request) -> std::optional<Response> {
    if (is_patch_of(request, "n1") && failures-- > 0) return status(500);
    return std::nullopt;
  };
  api_.pod("driver", "n1", "nvidia-driver-daemonset", true);
  ASSERT_TRUE(comes([&] { return api_.labels_of("n1").value(std::string(kDriverInstalled), "") == "true"; }));
  settle();
  EXPECT_EQ(patches().size(), 2U);
  EXPECT_EQ(metrics_.failed_writes.value(), 1);
  EXPECT_LE(api_.sent("GET").size(), 1U) << "whether a write that was answered 500 was done is looked at, once";
}

// 51 | PATCH answers 404 | driver R added | dropped, no retry, no failure counted | 1
TEST_F(LabelerCase51, AWriteToANodeThatIsGoneIsDropped) {
  api_.node("n1", {{kKataEnabled, "false"}});
  start();
  await_ready();
  api_.script = [&](const Request& request) { return is_patch_of(request, "n1") ? std::optional(status(404)) : std::nullopt; };
  api_.pod("driver", "n1", "nvidia-driver-daemonset", true);
  ASSERT_TRUE(comes([&] { return !patches().empty(); }));
  pass(2min, 1s);
  settle();
  EXPECT_EQ(patches().size(), 1U);
  EXPECT_EQ(metrics_.failed_writes.value(), 0);
  EXPECT_TRUE(api_.sent("GET").empty());
}

// The server of this test has JSON only, and that is enough.
TEST_F(LabelerOnAScriptedServer, ListsAndWatchesInProtobufUnlessToldOtherwiseAndNeverTakesAnAnswerInIt) {
  Guarded<std::set<std::pair<std::string, std::string>>> asked;    // {method, the first type accepted}
  api_.script = [&](const Request& request) -> std::optional<Response> {
    if (request.path.find("sendInitialEvents") != std::string::npos) return std::nullopt;  // refused, so asked for in JSON, too
    const auto accept = std::ranges::find(request.headers, "Accept", &net::Header::name);
    const std::string& types = accept->value;
    asked.with([&](auto& seen) { seen.emplace(request.method, types.substr(0, types.find_first_of(",;"))); });
    return std::nullopt;
  };
  using Asked = std::set<std::pair<std::string, std::string>>;
  const auto asked_by_one_that = [&](auto&&... options) {
    start(options...);
    await_ready();
    stop();
    return asked.with([](auto& seen) { return std::exchange(seen, {}); });
  };
  EXPECT_EQ(asked_by_one_that(), (Asked{{"GET", "application/vnd.kubernetes.protobuf"}, {"PATCH", "application/json"}}));
  EXPECT_EQ(asked_by_one_that(-1.0, kube::Encoding::kJson), (Asked{{"GET", "application/json"}, {"PATCH", "application/json"}}));
}

// 43's counter, in both orders of the watch event of our own strip and the answer to it.
TEST_F(LabelerOnAScriptedServer, AnOptOutIsCountedOnceWhoeverSaysFirstThatItIsDone) {
  api_.node("n1", {{kKataEnabled, "false"}});
  api_.before_answer = [&] { std::this_thread::sleep_for(20ms); };  // the watch is quicker
  start();
  await_ready();
  api_.merge("n1", {{"metadata", {{"labels", {{kManaged, "false"}}}}}});
  ASSERT_TRUE(comes([&] { return !api_.labels_of("n1").contains(std::string(kKataEnabled)); }));
  settle();
  EXPECT_EQ(metrics_.skipped_managed.value(), 1);
  api_.pod("driver", "n1", "nvidia-driver-daemonset", true);
  settle();
  EXPECT_EQ(metrics_.skipped_managed.value(), 2) << "a pod of it is news";
  EXPECT_EQ(patches().size(), 1U);
}

TEST_F(LabelerOnAScriptedServer, AnOptOutThatWaitsForItsPlaceInTheRateIsCountedOnce) {
  for (const char* name : {"n1", "n2", "n3"}) api_.node(name, {{kKataEnabled, "false"}, {kManaged, "false"}});
  start(1);
  ASSERT_TRUE(comes([&] { return patches().size() == 3; }));
  settle();
  EXPECT_EQ(metrics_.skipped_managed.value(), 3);
}

TEST_F(LabelerOnAScriptedServer, WhatOnlyTheAnswerToAWriteShowsIsSeenToHoweverOftenItComes) {
  api_.node("n1", {{kKataEnabled, "false"}});
  start();
  await_ready();
  std::atomic<int> meddling = 5;
  api_.script = [&](const Request& request) -> std::optional<Response> {
    if (!is_patch_of(request, "n1")) return std::nullopt;
    api_.merge_untold("n1", parse_json(request.body).value());
    if (meddling-- > 0) api_.merge_untold("n1", {{"metadata", {{"labels", {{kKataEnabled, "true"}}}}}});
    return Response{200, {}, to_text(api_.the("nodes", "n1"))};
  };
  api_.pod("driver", "n1", "nvidia-driver-daemonset", true);
  EXPECT_TRUE(comes([&] { return meddling < 0; }));
  EXPECT_TRUE(comes([&] { return api_.labels_of("n1")[std::string(kKataEnabled)] == "false"; }));
}

TEST_F(LabelerOnAScriptedServer, EventsOfPodsWhoseNodeNeverCameGoWithThePods) {
  start();
  await_ready();
  const auto counted = [&] { return metrics_.pod_events.value({{"status", "success"}}); };
  api_.pod("driver", "ghost", "nvidia-driver-daemonset", true);
  settle();
  api_.node("n1", Json::object());
  api_.pod("driver", "n1", "nvidia-driver-daemonset", true);
  settle();
  ASSERT_TRUE(comes([&] { return counted() == witnesses_ + 1; })) << counted();
  api_.node("ghost", Json::object());
  settle();
  EXPECT_TRUE(comes([&] { return counted() >= witnesses_ + 1; }));
  pass(1s);
  EXPECT_EQ(counted(), witnesses_ + 1);
}

TEST_F(LabelerOnAScriptedServer, TheSweepIsThroughWhenTheLastNodeIsRight) {
  for (int i = 0; i < 50; ++i) api_.node(fmt::format("n{}", i), Json::object());
  api_.before_answer = [&] { clock_.advance(10ms); };
  start();
  ASSERT_TRUE(comes([&] { return metrics_.sweep_seconds.value() > 0; }));
  EXPECT_EQ(patches().size(), 50U);
  for (int i = 0; i < 50; ++i) EXPECT_EQ(api_.labels_of(fmt::format("n{}", i)), (Json{{kKataEnabled, "false"}}));
}

TEST_F(LabelerOnAScriptedServer, AnEmptyClusterIsSweptToo) {
  start();
  await_ready();
  EXPECT_TRUE(patches().empty());
}

// R11: nothing is removed before every source of the decision has been read completely once.
class R11 : public LabelerOnAScriptedServer {
 protected:
  static constexpr int kNodes = 500;

  R11() {
    for (int i = 0; i < kNodes; ++i) {
      const std::string name = fmt::format("n{}", i);
      api_.node(name, {{kDcgmVersion, "4.x"}, {kDriverInstalled, "true"}, {kKataEnabled, "false"}}, {{kBootstrapped, "true"}});
      api_.pod("dcgm-" + name, name, "nvidia-dcgm", true, "example.com/dcgm:4.2.0");
      api_.pod("driver-" + name, name, "nvidia-driver-daemonset", true);
    }
  }
  ~R11() override { stop(); }

  // All nodes are known, and the time given has passed without a write.
  void expect_patience(Duration time) {
    ASSERT_TRUE(comes([&] { return labeler_->readiness().text.find("nodes") == std::string::npos; }));
    pass(time, 1s);
    EXPECT_TRUE(patches().empty());
    EXPECT_FALSE(labeler_->readiness().ready);
    EXPECT_THAT(labeler_->readiness().text, HasSubstr("not read yet: pods"));
  }
  void expect_all_right_in_the_end() {
    await_ready();
    EXPECT_TRUE(patches().empty());
    EXPECT_EQ(labeler_->readiness().text, "ok");
  }
};

TEST_F(R11, APodListThatTakesMinutesRemovesNothing) {
  std::latch listed(1);
  api_.script = [&](const Request& request) -> std::optional<Response> {
    if (is_pod_list(request)) listed.wait();
    return std::nullopt;
  };
  start();
  expect_patience(210s);
  listed.count_down();
  expect_all_right_in_the_end();
}

TEST_F(R11, APodListThatIsForbiddenRemovesNothing) {
  std::atomic<bool> forbidden = true;
  api_.script = [&](const Request& request) {
    return forbidden && is_pod_list(request) ? std::optional(status(403)) : std::nullopt;
  };
  start();
  expect_patience(5min);
  EXPECT_THAT(labeler_->readiness().text, testing::AllOf(HasSubstr("cannot be read now: pods"), HasSubstr("403")));
  forbidden = false;
  expect_all_right_in_the_end();
}

TEST_F(R11, APodListThatBreaksOffAtPageThreeRemovesNothing) {
  std::atomic<bool> broken = true;
  api_.script = [&](const Request& request) -> std::optional<Response> {
    if (!is_pod_list(request)) return std::nullopt;
    constexpr std::size_t kPages = 5;
    const auto token = request.path.find("continue=");
    const std::size_t page = token == std::string::npos ? 0 : std::stoul(request.path.substr(token + 9));
    if (page == 2 && broken) return status(500);  // pages are counted from 0
    Json list = api_.list("pods");
    const Json all = list["items"];
    const auto at = [&](std::size_t of) { return static_cast<std::ptrdiff_t>(all.size() * of / kPages); };
    list["items"] = Json(std::vector<Json>(all.begin() + at(page), all.begin() + at(page + 1)));
    if (page + 1 < kPages) list["metadata"]["continue"] = std::to_string(page + 1);
    return Response{200, {}, to_text(list)};
  };
  start();
  ASSERT_TRUE(comes([&] { return api_.reads("continue=2") > 3; }));
  expect_patience(1min);
  broken = false;
  expect_all_right_in_the_end();
}

TEST_F(R11, OneOfThreePodListsThatNeverComesRemovesNothing) {
  std::latch answered(1);
  api_.script = [&](const Request& request) -> std::optional<Response> {
    if (is_pod_list(request) && request.path.find("k8s-app") != std::string::npos) answered.wait();
    return std::nullopt;
  };
  start();
  expect_patience(5min);
  answered.count_down();
  expect_all_right_in_the_end();
}

TEST_F(R11, AnOptOutMeanwhileIsTheOnlyThingThatIsActedOn) {
  std::latch listed(1);
  api_.script = [&](const Request& request) -> std::optional<Response> {
    if (is_pod_list(request)) listed.wait();
    return std::nullopt;
  };
  start();
  expect_patience(1s);
  api_.merge("n7", {{"metadata", {{"labels", {{kManaged, "false"}}}}}});
  ASSERT_TRUE(comes([&] { return api_.labels_of("n7") == Json{{kManaged, "false"}}; }));
  pass(1min, 1s);
  listed.count_down();
  await_ready();
  ASSERT_EQ(patches().size(), 1U);
  EXPECT_THAT(patches()[0].path, HasSubstr("/n7?"));
  EXPECT_THAT(patches()[0].body, Not(HasSubstr(kBootstrapped)));
}

}  // namespace
}  // namespace nodeward::labels
