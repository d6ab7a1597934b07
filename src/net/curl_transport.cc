#include "net/curl_transport.h"

#include <curl/curl.h>

#include <mutex>
#include <thread>

#include "base/check.h"
#include "net/loop.h"
#include "net/signals.h"
#include "net/transfer.h"

namespace nodeward::net {
namespace {

// A connection on which no answer comes in time may be dead, or lead to a server that is: the next request gets another one.
template <class T>
bool is_silence(const Result<T>& result) {
  return !result && result.error().code == ErrorCode::kTimeout;
}

class CurlStream final : public Stream {
 public:
  CurlStream(std::shared_ptr<Loop> loop, std::shared_ptr<Transfer> transfer)
      : loop_(std::move(loop)), transfer_(std::move(transfer)) {}
  ~CurlStream() override { silent_ ? loop_->give_up(transfer_) : loop_->drop(transfer_); }

  int status() const override { return transfer_->head().status; }
  std::optional<std::string_view> header(std::string_view name) const override { return transfer_->head().header(name); }

  Result<std::optional<std::string>> read(Duration patience, const std::stop_token& stop) override {
    auto read = transfer_->read(patience, stop);
    silent_ = is_silence(read);
    if (!read) return tl::unexpected(std::move(read.error()));
    if (read->resume) loop_->resume(transfer_);
    return std::move(read->bytes);
  }

 private:
  const std::shared_ptr<Loop> loop_;
  const std::shared_ptr<Transfer> transfer_;
  bool silent_ = false;    // the last read brought nothing
};

class CurlTransport final : public Transport {
 public:
  CurlTransport(EndpointSource endpoint, Duration look) : endpoint_(std::move(endpoint)), loop_(std::make_shared<Loop>()) {
    if (look > 0s) looker_ = std::jthread([this, look](const std::stop_token& stop) { look_every(look, stop); });
  }
  ~CurlTransport() override {
    looker_ = {};
    loop_->shut_down();
  }

  Result<Response> send(const Request& request, const std::stop_token& stop) override {
    const auto [loop, transfer] = start(Transfer::Kind::kWhole, request);
    auto answer = transfer->wait_for_answer(stop);
    if (!answer) is_silence(answer) ? loop->give_up(transfer) : loop->drop(transfer);
    return answer;
  }

  Result<std::unique_ptr<Stream>> open(const Request& request, const std::stop_token& stop) override {
    const auto [loop, transfer] = start(Transfer::Kind::kStream, request);
    auto stream = std::make_unique<CurlStream>(loop, transfer);
    const auto head = transfer->wait_for_head(stop);
    if (!head) {
      if (is_silence(head)) loop->give_up(transfer);
      return tl::unexpected(head.error());
    }
    return stream;
  }

 private:
  struct Started {
    std::shared_ptr<Loop> loop;  // the caller's own reference: this object may be gone when the answer has come
    std::shared_ptr<Transfer> transfer;
  };
  Started start(Transfer::Kind kind, const Request& request) {
    Started started{loop_, std::make_shared<Transfer>(kind, request)};
    started.loop->start(started.transfer, target());
    return started;
  }
  // A request that starts brings the target of that moment; a stream may run for an hour without one.
  void look_every(Duration look, const std::stop_token& stop) {
    block_signals();
    std::shared_ptr<const Target> seen;
    while (Clock::real().sleep_for(look, stop)) {
      auto now = target();
      if (now != seen) loop_->move(now);
      seen = std::move(now);
    }
  }
  std::shared_ptr<const Target> target() {
    const std::lock_guard lock(mutex_);
    auto endpoint = endpoint_();
    if (target_ == nullptr || (target_->source != endpoint && *target_->source != *endpoint)) {
      target_ = std::make_shared<const Target>(std::move(endpoint), target_ == nullptr ? 0 : target_->generation + 1);
    }
    return target_;
  }

  const EndpointSource endpoint_;
  std::mutex mutex_;  // endpoint_ is asked under it: the answer to a later question is the newer one
  std::shared_ptr<const Target> target_;  // guarded by mutex_
  const std::shared_ptr<Loop> loop_;
  std::jthread looker_;  // of its own: files may be slow, and the loop must not wait for them
};

}  // namespace

std::unique_ptr<Transport> make_curl_transport(EndpointSource endpoint, Duration look) {
  static const CURLcode ready = curl_global_init(CURL_GLOBAL_DEFAULT);
  NW_CHECK(ready == CURLE_OK, "libcurl can be set up");
  return std::make_unique<CurlTransport>(std::move(endpoint), look);
}

std::unique_ptr<Transport> make_curl_transport(Endpoint endpoint) {
  return make_curl_transport([fixed = std::make_shared<const Endpoint>(std::move(endpoint))] { return fixed; }, 0s);
}

}  // namespace nodeward::net
