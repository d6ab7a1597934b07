// A NodeWriter on a scripted transport and a clock that a test moves: everything above HTTP is the real code. For tests only.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <variant>
#include <vector>

#include "base/fake_clock.h"
#include "base/json.h"
#include "net/scripted_transport.h"
#include "nodes/node_writer.h"

namespace nodeward::nodes {

using kube::Node;
using kube::NodeName;
using net::Request;
using net::Response;

inline const NodeName n1{"n1"};

inline std::string node_json(int version, std::string_view labels = "{}", std::string_view taints = "[]") {
  return fmt::format(R"({{"metadata":{{"name":"n1","uid":"u1","resourceVersion":"{}","labels":{}}},"spec":{{"taints":{}}}}})",
                     version, labels, taints);
}
inline Response status(int code, std::string_view reason = "", std::vector<net::Header> headers = {}) {
  return {code, std::move(headers),
          fmt::format(R"({{"kind":"Status","code":{},"reason":"{}","message":"because"}})", code, reason)};
}
inline Response ok(int version, std::string_view labels = R"({"l":"1"})", std::string_view taints = "[]") {
  return {200, {}, node_json(version, labels, taints)};
}
inline NodePatch label_wanted(const Node& node) { return std::move(NodePatch(node.name).label("l", "1")); }
inline NodePatch taint_wanted(const Node& node) {
  return std::move(NodePatch(node.name).add_taint({"ours", "x", "NoSchedule", ""}));
}

// A server that answers 200 has done what the body asks for.
inline Response done(Response answer, const Request& request) {
  Json node = parse_json(answer.body).value_or(Json());
  if (!node.is_object()) return answer;
  const Json version = node["metadata"]["resourceVersion"];
  node.merge_patch(parse_json(request.body).value());
  node["metadata"]["resourceVersion"] = version;
  answer.body = to_text(node);
  return answer;
}

class NodeWriterAnswers : public ::testing::Test {
 protected:
  const kube::NodeSelection selection_{
      .labels = {.all = true, .keys = {}}, .annotations = {.all = true, .keys = {}}, .spec = true};
  FakeClock clock_;
  std::deque<Result<Response>> script_;
  bool does_it_ = true;
  std::function<void(const Request&)> before_answer_ = [](const Request&) {};
  net::ScriptedTransport transport_{[this](const Request& request) -> Result<Response> {
    before_answer_(request);
    if (script_.empty()) return fail(ErrorCode::kInvalid, "the script has no more answers");
    auto next = std::move(script_.front());
    script_.pop_front();
    if (next && next->status == 200 && request.method == "PATCH" && does_it_) next = done(*std::move(next), request);
    return next;
  }};
  kube::Client client_{transport_, {}, clock_};
  NodeView view_{[](const NodeName&, const std::shared_ptr<const Node>&) {}};
  std::vector<std::string> woken_;
  std::unique_ptr<NodeWriter> writer_ = make_writer({.field_manager = "labeler", .selection = selection_, .qps = -1});

  std::unique_ptr<NodeWriter> make_writer(WriterOptions options) {
    return std::make_unique<NodeWriter>(client_, view_, clock_, std::move(options),
                                        [this](const NodeName& name) { woken_.push_back(name.str()); });
  }
  void watch_shows(const std::string& json) { view_.apply(*kube::make_node_decoder(selection_)->object(json)); }
  Outcome apply(const NodeWriter::Plan& plan = label_wanted) {
    // Waits between conflicts run on the fake clock.
    std::jthread mover([this](const std::stop_token& done) {
      while (!done.stop_requested()) {
        slept_ += clock_.advance_to_next() ? 1 : 0;
        std::this_thread::sleep_for(std::chrono::microseconds(100));
      }
    });
    return writer_->apply(n1, plan, {});
  }
  Duration wait_of(const Outcome& outcome) const {
    const auto* later = std::get_if<Later>(&outcome);
    return later == nullptr ? Duration::min() : later->due - clock_.now();
  }
  std::vector<std::string> verbs() const {
    std::vector<std::string> verbs;
    for (const auto& request : transport_.requests()) verbs.push_back(request.method);
    return verbs;
  }
  int slept_ = 0;
  // Answers after which the same may work in a while.
  const std::vector<Result<Response>> passing_ = {status(401, "Unauthorized"),
                                                  status(408, "Timeout"),
                                                  status(429, "TooManyRequests"),
                                                  status(500, "InternalError"),
                                                  status(503, "ServiceUnavailable"),
                                                  status(504, "Timeout"),
                                                  fail(ErrorCode::kUnreachable, "connection refused"),
                                                  fail(ErrorCode::kUnavailable, "connection reset"),
                                                  fail(ErrorCode::kTimeout, "no answer")};
};
using Verbs = std::vector<std::string>;

}  // namespace nodeward::nodes
