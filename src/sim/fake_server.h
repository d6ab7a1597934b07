// The simulated server without its HTTP side: requests in, answers out, timers by hand. For tests only.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/fake_clock.h"
#include "base/json.h"
#include "base/text.h"
#include "sim/api_server.h"

namespace nodeward::sim {

class FakeExchange final : public wire::Exchange {
 public:
  explicit FakeExchange(wire::Request request) : request_(std::move(request)) {}
  const wire::Request& request() const override { return request_; }
  void answer(wire::Reply made) override { reply = std::move(made); }
  void wake() override { ++wakes; }
  void drop() override {}
  void goaway(int) override {}
  void freeze() override {}
  bool gone() const override { return false; }

  std::optional<wire::Reply> reply;
  int wakes = 0;
  bool ended = false;

  // What the stream has to say by now.
  std::string read(std::size_t room = 1 << 16) {
    std::string out;
    while (reply->stream != nullptr && !ended) {
      const wire::Body::More more = reply->stream->fill(out, room);
      if (more == wire::Body::More::kLater) break;
      ended = more == wire::Body::More::kEnd;
    }
    return out;
  }
  // The same as events.
  std::vector<Json> events() {
    std::vector<Json> all;
    for (const std::string& line : split(read(), '\n')) {
      if (!line.empty()) all.push_back(Json::parse(line));
    }
    return all;
  }

 private:
  wire::Request request_;
};

struct FakeAnswer {
  int status = 0;
  std::string body;
  Json json() const { return Json::parse(body); }
  std::string reason() const { return text_at(json(), "reason"); }
  std::string message() const { return text_at(json(), "message"); }
  std::string version() const { return json()["metadata"]["resourceVersion"]; }
};

class FakeServer {
 public:
  static inline const std::string kMerge = "application/merge-patch+json";
  static inline const std::string kStrategic = "application/strategic-merge-patch+json";
  static inline const std::string kJsonPatch = "application/json-patch+json";

  std::shared_ptr<FakeExchange> open(const std::string& method, const std::string& target, const std::string& body = "",
                                     std::map<std::string, std::string> headers = {}) {
    wire::Request request{.method = method, .target = target, .headers = {}, .body = body};
    headers.try_emplace("authorization", "Bearer admin");
    for (const auto& [name, value] : headers) {
      if (!value.empty()) request.headers.push_back({name, value});
    }
    auto exchange = std::make_shared<FakeExchange>(std::move(request));
    server.handle(exchange);
    return exchange;
  }
  FakeAnswer call(const std::string& method, const std::string& target, const std::string& body = "",
                  const std::map<std::string, std::string>& headers = {}) {
    const auto exchange = open(method, target, body, headers);
    return {exchange->reply->status, exchange->reply->stream != nullptr ? exchange->read() : exchange->reply->body};
  }
  FakeAnswer get(const std::string& target) { return call("GET", target); }
  FakeAnswer patch(const std::string& target, const std::string& body, const std::string& type = kMerge) {
    return call("PATCH", target, body, {{"content-type", type}});
  }
  FakeAnswer post(const std::string& target, const std::string& body) { return call("POST", target, body); }
  FakeAnswer node(const std::string& name, const std::string& labels = "{}") {
    return post("/api/v1/nodes", R"({"metadata":{"name":")" + name + R"(","labels":)" + labels + "}}");
  }
  void run_timers(Duration passed) {              // all that are due by then, once
    clock.advance(passed);
    auto due = std::exchange(timers, {});
    for (auto& [at, task] : due) {
      if (at <= clock.now())
        task();
      else
        timers.emplace_back(at, std::move(task));
    }
  }

  FakeClock clock;
  std::vector<std::pair<MonoTime, std::function<void()>>> timers;
  ApiServer server{
      {.token = "admin", .powerless_token = "nobody", .most_changes = 1000},
      clock,
      [this](Duration wait, std::function<void()> task) { timers.emplace_back(clock.now() + wait, std::move(task)); }};
};

}  // namespace nodeward::sim
