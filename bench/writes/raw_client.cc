#include "writes/raw_client.h"

#include <curl/curl.h>
#include <fmt/format.h>

#include <chrono>
#include <deque>
#include <memory>
#include <stdexcept>

namespace nodeward::bench {
namespace {

using Clock = std::chrono::steady_clock;
using Multi = std::unique_ptr<CURLM, decltype([](CURLM* multi) { curl_multi_cleanup(multi); })>;
using Handle = std::unique_ptr<CURL, decltype([](CURL* handle) { curl_easy_cleanup(handle); })>;
using Headers = std::unique_ptr<curl_slist, decltype([](curl_slist* list) { curl_slist_free_all(list); })>;

std::size_t count_bytes(char*, std::size_t, std::size_t size, void* total) {
  *static_cast<double*>(total) += static_cast<double>(size);
  return size;
}

class Run {
 public:
  Run(const api::RealCluster& cluster, const std::vector<std::string>& names, const RawOptions& options)
      : cluster_(cluster), names_(names), options_(options), multi_(curl_multi_init()) {
    headers_.reset(curl_slist_append(nullptr, "Content-Type: application/merge-patch+json"));
    curl_slist_append(headers_.get(), ("Accept: " + options.accept).c_str());
  }
  ~Run() {
    for (const Handle& handle : handles_) curl_multi_remove_handle(multi_.get(), handle.get());
  }

  RawRun go() {
    for (int i = 0; i < options_.in_flight && next_ < names_.size(); ++i) send(handles_.emplace_back(make_handle()).get());
    while (done_ < names_.size()) {
      int running = 0;
      curl_multi_perform(multi_.get(), &running);
      collect();
      if (done_ < names_.size()) curl_multi_poll(multi_.get(), nullptr, 0, 1000, nullptr);
    }
    const double seconds = std::chrono::duration<double>(last_ - first_).count();
    const auto count = static_cast<double>(names_.size());
    return {.per_second = (count - 1) / seconds, .answer_kb = bytes_ / count / 1000};
  }

 private:
  Handle make_handle() {
    Handle handle(curl_easy_init());
    const auto pem = [&](CURLoption option, const std::string& text) {
      curl_blob blob{.data = const_cast<char*>(text.data()), .len = text.size(), .flags = CURL_BLOB_NOCOPY};
      curl_easy_setopt(handle.get(), option, &blob);
    };
    // The labeler's credentials: the server verifies a certificate anew for each request, and a token not.
    pem(CURLOPT_CAINFO_BLOB, cluster_.certificates().ca_cert);
    pem(CURLOPT_SSLCERT_BLOB, cluster_.certificates().client_cert);
    pem(CURLOPT_SSLKEY_BLOB, cluster_.certificates().client_key);
    curl_easy_setopt(handle.get(), CURLOPT_NOPROXY, "*");
    curl_easy_setopt(handle.get(), CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(handle.get(), CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_2TLS));
    curl_easy_setopt(handle.get(), CURLOPT_PIPEWAIT, 1L);
    curl_easy_setopt(handle.get(), CURLOPT_TIMEOUT, 60L);
    curl_easy_setopt(handle.get(), CURLOPT_CUSTOMREQUEST, "PATCH");
    curl_easy_setopt(handle.get(), CURLOPT_HTTPHEADER, headers_.get());
    curl_easy_setopt(handle.get(), CURLOPT_POSTFIELDS, options_.body.c_str());
    curl_easy_setopt(handle.get(), CURLOPT_WRITEFUNCTION, count_bytes);
    curl_easy_setopt(handle.get(), CURLOPT_WRITEDATA, &bytes_);
    return handle;
  }

  void send(CURL* handle) {
    const std::string url = fmt::format("{}/api/v1/nodes/{}?fieldManager=labeler&timeout=25s", cluster_.origin(),
                                        names_[next_++]);
    curl_easy_setopt(handle, CURLOPT_URL, url.c_str());
    curl_multi_add_handle(multi_.get(), handle);
  }

  void collect() {
    int left = 0;
    while (const CURLMsg* message = curl_multi_info_read(multi_.get(), &left)) {
      CURL* const handle = message->easy_handle;
      long status = 0;
      curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &status);
      if (message->data.result != CURLE_OK || status != 200) {
        throw std::runtime_error(fmt::format("the raw client got {} ({})", status, curl_easy_strerror(message->data.result)));
      }
      last_ = Clock::now();
      if (done_++ == 0) first_ = last_;
      curl_multi_remove_handle(multi_.get(), handle);
      if (next_ < names_.size()) send(handle);
    }
  }

  const api::RealCluster& cluster_;
  const std::vector<std::string>& names_;
  const RawOptions& options_;
  Multi multi_;
  Headers headers_;
  std::deque<Handle> handles_;
  std::size_t next_ = 0;
  std::size_t done_ = 0;
  double bytes_ = 0;
  Clock::time_point first_, last_;
};

}  // namespace

RawRun patch_nodes(const api::RealCluster& cluster, const std::vector<std::string>& names, const RawOptions& options) {
  return Run(cluster, names, options).go();
}

}  // namespace nodeward::bench
