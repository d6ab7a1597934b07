// A Transport that answers from a script, for tests of everything above the wire: give it a handler, read back what was asked.
// Any thread; the handler is called under no lock and may block.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "net/http.h"

namespace nodeward::net {

class ScriptedTransport final : public Transport {
 public:
  using Handler = std::function<Result<Response>(const Request&)>;
  explicit ScriptedTransport(Handler handler) : handler_(std::move(handler)) {}

  Result<Response> send(const Request& request, const std::stop_token& stop) override {
    remember(request);
    if (stop.stop_requested()) return fail(ErrorCode::kCancelled, "stopped");
    return handler_(request);
  }
  // The handler's answer as one chunk, then the end.
  Result<std::unique_ptr<Stream>> open(const Request& request, const std::stop_token& stop) override {
    NW_TRY_ASSIGN(Response response, send(request, stop));
    return std::make_unique<WholeStream>(std::move(response));
  }

  std::vector<Request> requests() const {
    const std::lock_guard lock(mutex_);
    return requests_;
  }

 private:
  class WholeStream final : public Stream {
   public:
    explicit WholeStream(Response response) : response_(std::move(response)) {}
    int status() const override { return response_.status; }
    std::optional<std::string_view> header(std::string_view name) const override { return response_.header(name); }
    Result<std::optional<std::string>> read(Duration, const std::stop_token&) override {
      if (response_.body.empty()) return std::nullopt;
      return std::exchange(response_.body, {});
    }

   private:
    Response response_;
  };

  void remember(const Request& request) {
    const std::lock_guard lock(mutex_);
    requests_.push_back(request);
  }

  Handler handler_;
  mutable std::mutex mutex_;
  std::vector<Request> requests_;
};

}  // namespace nodeward::net
