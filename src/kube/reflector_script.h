// A reflector of nodes on a scripted server and a clock that stands still, for tests: give the answers in order, play(), and look
// at what was asked and at what the sink saw.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/fake_clock.h"
#include "kube/reflector.h"
#include "net/http.h"

namespace nodeward::kube {

inline std::string node(std::string_view name, int version) {
  return fmt::format(R"({{"metadata":{{"name":"{}","resourceVersion":"{}"}}}})", name, version);
}
inline net::Response list(int version, const std::vector<std::string>& items, std::string_view next = "") {
  return {200,
          {},
          fmt::format(R"({{"kind":"NodeList","metadata":{{"resourceVersion":"{}","continue":"{}"}},"items":[{}]}})", version,
                      next, fmt::join(items, ","))};
}
inline std::string line(std::string_view type, const std::string& object) {
  return fmt::format(R"({{"type":"{}","object":{}}})", type, object) + "\n";
}
inline net::Response answer(int status, std::string body) { return {status, {}, std::move(body)}; }
inline net::Response gone() { return answer(410, R"({"kind":"Status","code":410,"reason":"Expired","message":"too old"})"); }

struct Seen final : Sink<Node> {
  std::vector<std::string> words;
  void list_begins() override { words.push_back("begin"); }
  std::function<void()> on_apply = [] {};
  void apply(Node node) override {
    words.push_back("+" + node.name.str());
    on_apply();
  }
  void remove(const Node& node) override { words.push_back("-" + node.name.str()); }
  void unreadable(const Node& node) override { words.push_back("?" + node.name.str()); }
  void list_ends(const ResourceVersion& version) override { words.push_back("end " + version.str()); }
};

// What one request gets: a status, then the pieces of the body, each after its time.
struct Piece {
  std::string bytes;
  Duration after = 0ms;
};
struct Answer {
  int status = 200;
  std::vector<net::Header> headers = {};
  std::vector<Piece> pieces = {};
  std::optional<Error> end = {};  // unset: an orderly end
  Answer(net::Response response) : status(response.status), headers(std::move(response.headers)) {
    if (!response.body.empty()) pieces.push_back({std::move(response.body)});
  }
  Answer(std::vector<Piece> body, std::optional<Error> how = {}) : pieces(std::move(body)), end(std::move(how)) {}
};

class AnswerStream final : public net::Stream {
 public:
  AnswerStream(Answer answer, FakeClock& clock) : answer_(std::move(answer)), clock_(clock), due_(clock.now()) {}
  int status() const override { return answer_.status; }
  std::optional<std::string_view> header(std::string_view name) const override {
    for (const auto& header : answer_.headers) {
      if (header.name == name) return header.value;
    }
    return std::nullopt;
  }
  Result<std::optional<std::string>> read(Duration patience, const std::stop_token&) override {
    if (next_ == answer_.pieces.size()) {
      if (answer_.end) return tl::unexpected(*answer_.end);
      return std::nullopt;
    }
    const Piece& piece = answer_.pieces[next_];
    if (const Duration wait = due_ + piece.after - clock_.now(); wait > patience) {
      clock_.advance(patience);
      return fail(ErrorCode::kTimeout, "no byte");
    } else if (wait > 0s) {
      clock_.advance(wait);
    }
    due_ = clock_.now();
    ++next_;
    return piece.bytes;
  }

 private:
  Answer answer_;
  FakeClock& clock_;
  MonoTime due_;
  std::size_t next_ = 0;
};

// Answers in order; when the script is at its end the reflector is stopped.
struct Script final : net::Transport {
  explicit Script(bool streaming = false) : streaming_(streaming) {}

  std::deque<Result<Answer>> answers;
  std::deque<Result<net::Response>> versions;  // answers to whether a version is known; none left: it is
  FakeClock clock;
  std::stop_source stop;
  Seen seen;
  std::vector<MonoTime> times;
  std::vector<net::Request> requests;
  std::vector<std::string> asked_alone;  // the paths of requests that are neither a list nor a watch
  const bool streaming_;
  Client client{*this, {}, clock};
  Reflector<Node> reflector{
      client, {.name = "nodes", .path = "/api/v1/nodes", .label_selector = ""},  make_node_decoder({}), seen,
      clock,  {.streaming = streaming_, .watch_least = 5min, .watch_most = 5min}};

  Result<net::Response> send(const net::Request& request, const std::stop_token&) override {
    asked_alone.push_back(request.path);
    if (versions.empty()) return net::Response{200, {}, list(0, {}).body};
    auto next = std::move(versions.front());
    versions.pop_front();
    return next;
  }
  Result<std::unique_ptr<net::Stream>> open(const net::Request& request, const std::stop_token&) override {
    requests.push_back(request);
    times.push_back(clock.now());
    if (answers.empty()) {
      stop.request_stop();
      return fail(ErrorCode::kCancelled, "end of the script");
    }
    auto next = std::move(answers.front());
    answers.pop_front();
    if (!next) return tl::unexpected(std::move(next.error()));
    return std::make_unique<AnswerStream>(std::move(*next), clock);
  }

  void play() {
    std::jthread mover([this](const std::stop_token& done) {
      while (!done.stop_requested()) {
        clock.advance_to_next();
        std::this_thread::sleep_for(std::chrono::microseconds(200));
      }
    });
    reflector.run(stop.get_token());
  }
  std::vector<std::string> asked() const {
    std::vector<std::string> paths;
    for (const auto& request : requests) paths.push_back(request.path);
    return paths;
  }
};
using Words = std::vector<std::string>;

inline std::string data(std::string_view name) {
  std::ifstream file(fmt::format("{}/tests/data/watch/{}", NW_SOURCE_DIR, name));
  return {std::istreambuf_iterator<char>(file), {}};
}

inline constexpr auto kFirstPage = "/api/v1/nodes?limit=500";
inline constexpr auto kStreaming =
    "/api/v1/"
    "nodes?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&timeoutSeconds=300";
inline std::string initial_end(int version) {
  return line("BOOKMARK", fmt::format(R"({{"kind":"Node","metadata":{{"resourceVersion":"{}","annotations":{{)"
                                      R"("k8s.io/initial-events-end":"true"}}}}}})",
                                      version));
}
inline std::string watch_from(int version) {
  return fmt::format("/api/v1/nodes?watch=true&allowWatchBookmarks=true&resourceVersion={}&timeoutSeconds=300", version);
}

}  // namespace nodeward::kube
