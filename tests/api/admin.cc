#include "api/admin.h"

#include <curl/curl.h>
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <functional>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "base/guarded.h"
#include "base/text.h"

namespace nodeward::api {
namespace {

// More do not help: the server is the slow end.
constexpr std::size_t kParallel = 8;

using Handle = std::unique_ptr<CURL, decltype([](CURL* handle) { curl_easy_cleanup(handle); })>;
using HeaderList = std::unique_ptr<curl_slist, decltype([](curl_slist* list) { curl_slist_free_all(list); })>;

std::size_t append(char* data, std::size_t, std::size_t size, void* body) {
  static_cast<std::string*>(body)->append(data, size);
  return size;
}

// What the server's metric will call this request. Good for the paths used in tests, not for every path there is.
CallKind kind_of(const std::string& method, const std::string& path, int code) {
  const std::string bare = path.substr(0, path.find('?'));
  std::vector<std::string> parts = split(bare.substr(std::min<std::size_t>(1, bare.size())), '/');
  const std::size_t prefix = parts.front() == "apis" ? 3 : 2;  // /api/v1, /apis/<group>/<version>
  parts.erase(parts.begin(), parts.begin() + static_cast<std::ptrdiff_t>(std::min(prefix, parts.size())));
  if (parts.size() > 2 && parts[0] == "namespaces") parts.erase(parts.begin(), parts.begin() + 2);
  parts.resize(std::max<std::size_t>(parts.size(), 3));
  const bool named = !parts[1].empty();
  std::string verb = method;
  if (method == "GET" && !named) verb = "LIST";
  if (method == "DELETE" && !named) verb = "DELETECOLLECTION";
  return {.verb = verb, .resource = parts[0], .subresource = parts[2], .code = code};
}

// Runs work(0) ... work(count - 1), several at a time; throws the first exception when all have ended.
void in_parallel(std::size_t count, const std::function<void(std::size_t)>& work) {
  std::atomic<std::size_t> next = 0;
  Guarded<std::exception_ptr> failure;
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < std::min(kParallel, count); ++i) {
      threads.emplace_back([&] {
        try {
          for (std::size_t at = next++; at < count; at = next++) work(at);
        } catch (...) {
          next = count;
          failure.with([](auto& first) { first = first ? first : std::current_exception(); });
        }
      });
    }
  }
  failure.with([](const auto& first) {
    if (first) std::rethrow_exception(first);
  });
}

void require(const Answer& answer, int wanted, const std::string& what) {
  if (answer.status != wanted) {
    throw std::runtime_error(fmt::format("{}: {} instead of {}: {}", what, answer.status, wanted, answer.body.substr(0, 500)));
  }
}

Json typed(Json object, const char* kind) {
  object["apiVersion"] = "v1";
  object["kind"] = kind;
  return object;
}

std::string pods_of(const std::string& name_space) { return "/api/v1/namespaces/" + name_space + "/pods"; }

}  // namespace

Json Answer::json() const {
  auto parsed = parse_json(body);
  if (!parsed) throw std::runtime_error("no JSON in the answer: " + parsed.error().message);
  return *std::move(parsed);
}

struct Admin::Impl {
  std::string origin;
  std::string ca_pem;
  std::string authorization;
  Guarded<std::vector<Handle>> idle = {};  // with their connections
  Guarded<Counters> own = {};

  Handle take() {
    Handle handle = idle.with([](auto& handles) {
      Handle last;
      if (!handles.empty()) {
        last = std::move(handles.back());
        handles.pop_back();
      }
      return last;
    });
    if (!handle) handle.reset(curl_easy_init());
    return handle;
  }
};

Admin::Admin(std::string origin, std::string ca_pem, const std::string& token)
    : impl_(
          new Impl{.origin = std::move(origin), .ca_pem = std::move(ca_pem), .authorization = "Authorization: Bearer " + token}) {
  static const CURLcode ready = curl_global_init(CURL_GLOBAL_DEFAULT);
  if (ready != CURLE_OK) throw std::runtime_error("libcurl does not start");
}
Admin::~Admin() = default;

Answer Admin::call(const std::string& method, const std::string& path, const std::string& body, const std::string& content_type) {
  Handle handle = impl_->take();
  CURL* curl = handle.get();
  Answer answer;
  std::string url = impl_->origin + path;
  HeaderList headers(curl_slist_append(nullptr, impl_->authorization.c_str()));
  curl_slist_append(headers.get(), ("Content-Type: " + content_type).c_str());
  curl_blob ca{.data = impl_->ca_pem.data(), .len = impl_->ca_pem.size(), .flags = CURL_BLOB_COPY};
  curl_easy_reset(curl);
  curl_easy_setopt(curl, CURLOPT_URL, url.c_str());
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_NOPROXY, "*");
  curl_easy_setopt(curl, CURLOPT_TIMEOUT, 60L);
  curl_easy_setopt(curl, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_2TLS);
  curl_easy_setopt(curl, CURLOPT_CAINFO_BLOB, &ca);
  curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, method.c_str());
  curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers.get());
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, append);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &answer.body);
  if (!body.empty()) {
    curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body.size()));
    curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body.c_str());
  }
  const CURLcode result = curl_easy_perform(curl);
  if (result != CURLE_OK) throw std::runtime_error(fmt::format("{} {}: {}", method, path, curl_easy_strerror(result)));
  long status = 0;
  curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
  answer.status = static_cast<int>(status);
  if (path.starts_with("/api")) impl_->own.with([&](auto& own) { own.add(kind_of(method, path, answer.status)); });
  impl_->idle.with([&](auto& handles) { handles.push_back(std::move(handle)); });
  return answer;
}

Json Admin::node(std::string_view name) {
  const Answer answer = get(fmt::format("/api/v1/nodes/{}", name));
  require(answer, 200, fmt::format("get node {}", name));
  return answer.json();
}

void Admin::create_nodes(std::span<const Json> nodes) {
  in_parallel(nodes.size(), [&](std::size_t i) {  // a new node keeps the status it comes with, as kubelets rely on
    require(post("/api/v1/nodes", typed(nodes[i], "Node")), 201, "create node " + to_text(nodes[i]["metadata"]["name"]));
  });
}

void Admin::create_pods(std::span<const Json> pods) {
  in_parallel(pods.size(), [&](std::size_t i) {
    const Json& metadata = pods[i].at("metadata");
    const std::string name = metadata.at("name");
    const std::string collection = pods_of(metadata.value("namespace", "default"));
    require(post(collection, typed(pods[i], "Pod")), 201, "create pod " + name);
    if (!pods[i].contains("status")) return;  // a new pod starts with an empty status, whatever it comes with
    const Json status{{"status", pods[i]["status"]}};
    require(merge_patch(collection + "/" + name + "/status", status), 200, "set the status of pod " + name);
  });
}

void Admin::clear() {
  const Answer pods = get("/api/v1/pods");
  require(pods, 200, "list pods");
  const Json items = pods.json().at("items");
  in_parallel(items.size(), [&](std::size_t i) {
    const Json& metadata = items[i].at("metadata");
    require(remove(pods_of(metadata.at("namespace")) + "/" + metadata.at("name").get<std::string>()), 200, "delete a pod");
  });
  require(call("DELETE", "/api/v1/nodes"), 200, "delete all nodes");
}

Counters Admin::counters() {
  const Answer metrics = get("/metrics");
  require(metrics, 200, "read the server's metrics");
  return Counters::parse(metrics.body) - impl_->own.with([](const auto& own) { return own; });
}

void Admin::forget_own_calls() {
  impl_->own.with([](auto& own) { own = {}; });
}

}  // namespace nodeward::api
