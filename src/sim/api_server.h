// The simulated kube-apiserver: answers requests from a store in memory as version 1.36 does (docs/sim.md lists what differs).
// Everything on one thread, that of the HTTP server which calls handle(). A filter that makes faults stands in front of handle().
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/clock.h"
#include "sim/counters.h"
#include "sim/forms.h"
#include "sim/path.h"
#include "sim/selector.h"
#include "sim/store.h"
#include "sim/wire/server.h"
#include "sim/writer.h"

namespace nodeward::sim {

struct ApiOptions {
  std::string token = {};  // may do everything
  std::string other_token = {};  // the same; empty: there is none
  std::string powerless_token = {};  // known, but may do nothing: 403; empty: there is none
  std::size_t most_changes = 50'000;  // remembered per resource, for watches that resume
};

class ApiServer {
 public:
  // Runs a task on the server's thread later; tasks that are left at the end are dropped.
  using After = std::function<void(Duration, std::function<void()>)>;
  ApiServer(ApiOptions options, const Clock& clock, After after);
  ApiServer(const ApiServer&) = delete;
  ApiServer& operator=(const ApiServer&) = delete;

  void handle(const std::shared_ptr<wire::Exchange>& exchange);

  Store& store() { return store_; }
  Writer& writer() { return writer_; }
  const RequestCounters& counters() const { return counters_; }
  void forget_counters() { counters_ = {}; }  // as a server that was started again

 private:
  enum class User { kAnonymous, kUnknown, kPowerless, kAdmin };
  // One request, as far as it is understood. Its reply is sent by handle().
  struct Call {
    std::shared_ptr<wire::Exchange> exchange;
    const wire::Request& request;
    Target target;
    const Resource* resource = nullptr;
    bool watch = false;
    bool dry_run = false;

    Writer::Where where() const { return {*resource, target.space, target.name, target.subresource == "status", dry_run}; }
  };
  using Answer = Answered<wire::Reply>;
  using Action = Answer (ApiServer::*)(Call&);
  struct Route;
  static const Route kRoutes[];

  Answer answer(Call& call);
  User user_of(const wire::Request& request) const;
  Answered<> authorize(const Call& call, User user) const;
  Answer answer_other(Call& call, User user);  // what is no resource
  Answer answer_resource(Call& call);

  Answer get(Call& call);
  Answer list_or_watch(Call& call);
  Answer list(Call& call, const ListOptions& options);
  Answer watch(Call& call, const ListOptions& options);
  Answer create(Call& call);
  Answer update(Call& call);
  Answer patch(Call& call);
  Answer remove(Call& call);
  Answer remove_many(Call& call);

  Answered<Store::Listed> listed(const Call& call, const ListOptions& options, const Selector& selector);
  Answer shown(const Call& call, int status, const Doc& object) const;
  void tend(const std::weak_ptr<class Watch*>& watch, Duration left, bool bookmarks);
  void count(const Call& call, int code);

  const ApiOptions options_;
  const Clock& clock_;
  const After after_;
  Store store_;
  Writer writer_{store_, clock_};
  RequestCounters counters_;
};

}  // namespace nodeward::sim
