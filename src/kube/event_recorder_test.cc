#include "kube/event_recorder.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <deque>
#include <thread>

#include "base/fake_clock.h"
#include "net/scripted_transport.h"

namespace nodeward::kube {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

struct Recorder {
  FakeClock clock;
  std::deque<int> answers;              // statuses; 201 when there is none left
  net::ScriptedTransport transport{[this](const net::Request& request) -> Result<net::Response> {
    const int status = answers.empty() ? 201 : answers.front();
    if (!answers.empty()) answers.pop_front();
    return net::Response{
        status,
        {},
        status < 300 ? request.body
                     : fmt::format(R"({{"kind":"Status","code":{},"reason":"{}"}})", status, status == 404 ? "NotFound" : "")};
  }};
  Client client{transport, {}, clock};
  EventRecorder recorder{client, {.component = "fault-quarantine"}, clock};
  std::jthread thread;

  void say(const std::string& node, const std::string& message) {
    recorder.record({NodeName(node), NodeEvent::Type::kWarning, "NodeWriteRefused", message});
  }
  void start() {
    thread = std::jthread([this](const std::stop_token& stop) { recorder.run(stop); });
  }
  // Time passes in steps that let the thread work in between.
  void pass(Duration time) {
    for (Duration gone = 0s; gone < time; gone += 1s) {
      std::this_thread::sleep_for(3ms);
      clock.advance(1s);
    }
    std::this_thread::sleep_for(5ms);
  }
  // Until so many requests were sent, however slow the machine is.
  void until(std::size_t requests) {
    for (int i = 0; i < 10'000 && transport.requests().size() < requests; ++i) pass(1s);
  }
  std::vector<std::string> asked() const {
    std::vector<std::string> all;
    for (const net::Request& request : transport.requests()) {
      all.push_back(request.method + " " + parse_json(request.body).value()["count"].dump());
    }
    return all;
  }
};

TEST(EventRecorder, WritesAnEventOnTheNode) {
  Recorder r;
  r.say("gpu-1", "403 Forbidden");
  r.start();
  r.until(1);
  const auto requests = r.transport.requests();
  ASSERT_EQ(requests.size(), 1U);
  EXPECT_EQ(requests[0].method + " " + requests[0].path, "POST /api/v1/namespaces/default/events");
  const Json event = parse_json(requests[0].body).value();
  EXPECT_EQ(event["involvedObject"]["kind"], "Node");
  EXPECT_EQ(event["involvedObject"]["name"], "gpu-1");
  EXPECT_EQ(event["type"], "Warning");
  EXPECT_EQ(event["source"]["component"], "fault-quarantine");
  EXPECT_THAT(event["metadata"]["name"].get<std::string>(), HasSubstr("gpu-1."));
}

TEST(EventRecorder, TheSameAgainIsCountedNotRepeated) {
  Recorder r;
  r.start();
  for (int i = 0; i < 1000; ++i) r.say("gpu-1", "403 Forbidden");
  r.until(1);
  r.pass(30s);
  for (int i = 0; i < 50; ++i) r.say("gpu-1", "403 Forbidden");
  for (int i = 0; i < 10'000 && r.asked().back() != "PUT 1050"; ++i) r.pass(1s);
  const auto asked = r.asked();
  ASSERT_LE(asked.size(), 4U);
  EXPECT_EQ(asked.front().substr(0, 4), "POST");
  EXPECT_EQ(asked.back(), "PUT 1050");
}

TEST(EventRecorder, ADifferentMessageIsAnotherEvent) {
  Recorder r;
  r.say("gpu-1", "one");
  r.say("gpu-1", "two");
  r.start();
  r.until(2);
  EXPECT_THAT(r.asked(), ElementsAre("POST 1", "POST 1"));
}

TEST(EventRecorder, AFleetInTroubleDoesNotFloodTheServer) {
  Recorder r;
  for (int i = 0; i < 5000; ++i) r.say(fmt::format("gpu-{}", i), "403 Forbidden");
  r.start();
  r.pass(10s);
  EXPECT_GE(r.asked().size(), 25U);
  EXPECT_LE(r.asked().size(), 25U + 11U);
}

TEST(EventRecorder, WithoutTheRightItSaysSoOnceAndIsSilent) {
  testing::internal::CaptureStderr();
  {
    Recorder r;
    r.answers = {403, 403, 403};
    r.start();
    for (std::size_t refused = 1; refused <= 3; ++refused) {
      for (int i = 0; i < 1000 && r.asked().size() < refused; ++i) {  // the minute of silence has to go by first
        r.say("gpu-1", "one");
        r.pass(1s);
      }
      r.pass(3s);
      r.say("gpu-1", "two");
      r.say("gpu-2", "one");
      r.pass(20s);
      EXPECT_EQ(r.asked().size(), refused);
    }
  }
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_THAT(log, HasSubstr("no right to write Kubernetes Events"));
  EXPECT_EQ(std::count(log.begin(), log.end(), '\n'), 1) << log;
}

TEST(EventRecorder, ARefusalOfAServerThatHasJustComeUpIsNotForEver) {
  Recorder r;
  r.answers = {403};
  r.start();
  r.say("gpu-1", "one");
  r.until(1);
  r.pass(61s);
  r.say("gpu-1", "two");
  r.until(2);
  EXPECT_THAT(r.asked(), ElementsAre("POST 1", "POST 1"));
}

TEST(EventRecorder, AnExpiredEventIsWrittenAnew) {
  Recorder r;
  r.start();
  r.say("gpu-1", "one");
  r.until(1);
  r.pass(1s);
  r.answers = {404};
  r.say("gpu-1", "one");
  r.until(3);
  EXPECT_THAT(r.asked(), ElementsAre("POST 1", "PUT 2", "POST 2"));
}

TEST(EventRecorder, AServerThatFailsIsAskedAgainAndGivenUpOn) {
  Recorder r;
  r.answers = std::deque<int>(100, 500);
  r.start();
  r.say("gpu-1", "one");
  r.until(9);
  r.pass(100s);
  EXPECT_EQ(r.asked().size(), 9U);
}

TEST(EventRecorder, ALongMessageIsCutBetweenCharacters) {
  Recorder r;
  std::string message(1023, 'x');
  message += "é";
  r.say("gpu-1", message);
  r.start();
  r.until(1);
  const Json event = parse_json(r.transport.requests().at(0).body).value();
  EXPECT_EQ(event["message"], std::string(1023, 'x'));
}

}  // namespace
}  // namespace nodeward::kube
