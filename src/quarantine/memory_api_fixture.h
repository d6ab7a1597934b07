// An API server of nodes in memory, behind the Transport. For tests only.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/json.h"
#include "net/http.h"

namespace nodeward::quarantine::testing {

inline constexpr std::string_view kNodes = "/api/v1/nodes";

inline std::string name_in(const std::string& path) { return path.substr(kNodes.size() + 1, path.find('?') - kNodes.size() - 1); }

inline net::Response status_answer(int code, std::string_view reason = "") {
  return {code, {}, fmt::format(R"({{"kind":"Status","code":{},"reason":"{}","message":"because"}})", code, reason)};
}

// An API server of nodes behind the Transport: list, watch, GET and merge patch with the version check. `intercept` may answer a
// request in its place. Everything above HTTP is the real code. Any thread.
class MemoryApi final : public net::Transport {
 public:
  using Intercept = std::function<std::optional<net::Response>(const net::Request&)>;

  void put(Json node);                       // made or changed by somebody else; the watch tells
  void remove(const std::string& name);
  Json node(const std::string& name) const;
  void intercept(Intercept answer);
  void hide_nodes(bool hidden);              // watches break, lists and new watches fail
  void cannot_be_read_until(const Clock& clock, MonoTime time);
  std::vector<net::Request> writes() const;  // every request about a single node

  Result<net::Response> send(const net::Request& request, const std::stop_token& stop) override;
  Result<std::unique_ptr<net::Stream>> open(const net::Request& request, const std::stop_token& stop) override;

 private:
  class Feed;
  std::string list() const;
  void tell(std::string_view type, const Json& node);
  net::Response patch(const std::string& name, const std::string& body);

  mutable std::mutex mutex_;
  std::condition_variable_any told_;
  std::map<std::string, Json> nodes_;
  std::vector<std::string> lines_;           // of the watch, all there ever were; the n-th made version n + 1
  Intercept intercept_ = [](const net::Request&) { return std::nullopt; };
  std::function<bool()> readable_ = [] { return true; };
  std::vector<net::Request> writes_;
};

// Lines from `next` on, as they are told; or a list, whole.
class MemoryApi::Feed final : public net::Stream {
 public:
  Feed(MemoryApi& api, std::size_t next) : api_(api), next_(next) {}
  explicit Feed(MemoryApi& api, std::string whole) : api_(api), whole_(std::move(whole)) {}
  int status() const override { return 200; }
  std::optional<std::string_view> header(std::string_view) const override { return std::nullopt; }
  Result<std::optional<std::string>> read(Duration patience, const std::stop_token& stop) override {
    if (!next_) return std::exchange(whole_, std::nullopt);
    std::unique_lock lock(api_.mutex_);
    const auto comes = [&] { return !api_.readable_() || api_.lines_.size() > *next_; };
    // A short patience is one that the test's clock lets end; nothing is said of how long a long one is.
    const std::chrono::milliseconds patient = patience > 10s ? 1h : 1ms;
    if (!api_.told_.wait_for(lock, stop, patient, comes)) {
      return stop.stop_requested() ? fail(ErrorCode::kCancelled, "stopped") : fail(ErrorCode::kTimeout, "no byte");
    }
    if (!api_.readable_()) return fail(ErrorCode::kUnavailable, "broken");
    return api_.lines_[(*next_)++];
  }

 private:
  MemoryApi& api_;
  std::optional<std::size_t> next_;
  std::optional<std::string> whole_;
};

// A server without streaming lists.
class Declined final : public net::Stream {
 public:
  int status() const override { return 422; }
  std::optional<std::string_view> header(std::string_view) const override { return std::nullopt; }
  Result<std::optional<std::string>> read(Duration, const std::stop_token&) override { return std::nullopt; }
};

inline void MemoryApi::put(Json node) {
  const std::lock_guard lock(mutex_);
  const std::string name = node["metadata"]["name"];
  const bool there = nodes_.contains(name);
  if (!node["metadata"].contains("uid")) node["metadata"]["uid"] = "uid-of-" + name;
  node["metadata"]["resourceVersion"] = std::to_string(lines_.size() + 1);
  tell(there ? "MODIFIED" : "ADDED", node);
  nodes_.insert_or_assign(name, std::move(node));
}

inline void MemoryApi::remove(const std::string& name) {
  const std::lock_guard lock(mutex_);
  auto gone = nodes_.extract(name);
  gone.mapped()["metadata"]["resourceVersion"] = std::to_string(lines_.size() + 1);
  tell("DELETED", gone.mapped());
}

inline Json MemoryApi::node(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  return nodes_.at(name);
}

inline void MemoryApi::intercept(Intercept answer) {
  const std::lock_guard lock(mutex_);
  intercept_ = std::move(answer);
}

inline void MemoryApi::hide_nodes(bool hidden) {
  const std::lock_guard lock(mutex_);
  readable_ = [hidden] { return !hidden; };
  told_.notify_all();
}

inline void MemoryApi::cannot_be_read_until(const Clock& clock, MonoTime time) {
  const std::lock_guard lock(mutex_);
  readable_ = [&clock, time] { return clock.now() >= time; };
}

inline std::vector<net::Request> MemoryApi::writes() const {
  const std::lock_guard lock(mutex_);
  return writes_;
}

inline void MemoryApi::tell(std::string_view type, const Json& node) {
  lines_.push_back(fmt::format(R"({{"type":"{}","object":{}}})", type, to_text(node)) + "\n");
  told_.notify_all();
}

inline std::string MemoryApi::list() const {
  std::vector<std::string> items;
  for (const auto& [name, node] : nodes_) items.push_back(to_text(node));
  return fmt::format(R"({{"kind":"NodeList","metadata":{{"resourceVersion":"{}"}},"items":[{}]}})", lines_.size(),
                     fmt::join(items, ","));
}

inline net::Response MemoryApi::patch(const std::string& name, const std::string& body) {
  Json change = parse_json(body).value();
  Json& node = nodes_.at(name);
  if (change.contains("metadata") && change["metadata"].contains("resourceVersion")) {
    if (change["metadata"]["resourceVersion"] != node["metadata"]["resourceVersion"]) return status_answer(409, "Conflict");
  }
  node.merge_patch(change);
  node["metadata"]["resourceVersion"] = std::to_string(lines_.size() + 1);
  tell("MODIFIED", node);
  return {200, {}, to_text(node)};
}

inline Result<net::Response> MemoryApi::send(const net::Request& request, const std::stop_token& stop) {
  if (stop.stop_requested()) return fail(ErrorCode::kCancelled, "stopped");
  Intercept intercept;
  {
    const std::lock_guard lock(mutex_);
    writes_.push_back(request);
    intercept = intercept_;
  }
  if (auto answer = intercept(request)) return *answer;
  const std::lock_guard lock(mutex_);
  const std::string name = name_in(request.path);
  if (!nodes_.contains(name)) return status_answer(404, "NotFound");
  return request.method == "PATCH" ? patch(name, request.body) : net::Response{200, {}, to_text(nodes_.at(name))};
}

inline Result<std::unique_ptr<net::Stream>> MemoryApi::open(const net::Request& request, const std::stop_token&) {
  const std::lock_guard lock(mutex_);
  if (!readable_()) return fail(ErrorCode::kUnreachable, "connection refused");
  constexpr std::string_view kFrom = "resourceVersion=";
  if (request.path.find("sendInitialEvents") != std::string::npos) return std::make_unique<Declined>();
  if (request.path.find("watch=") == std::string::npos) return std::make_unique<Feed>(*this, list());
  return std::make_unique<Feed>(*this, std::stoul(request.path.substr(request.path.find(kFrom) + kFrom.size())));
}

}  // namespace nodeward::quarantine::testing
