#include "sim/api_server.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "sim/discovery.h"
#include "sim/selector.h"
#include "sim/watch.h"
#include "sim/write_request.h"

namespace nodeward::sim {
namespace {

constexpr Duration kBookmarkEvery = 1min;         // as the real server does, about
constexpr Duration kWatchEnds = 45min;            // when the client names no time; a real server takes 30 to 60 minutes
constexpr std::int64_t kLongestWatch = 366L * 24 * 3600;      // seconds
constexpr std::string_view kTooOldToContinue =
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without the "
    "continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with "
    "the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the "
    "first chunk was returned and now may show up in the list.";

wire::Reply text_reply(int status, std::string text) { return reply(status, std::move(text), "text/plain; charset=utf-8"); }

bool is_health(std::string_view path) {
  const std::string_view head = path.substr(0, path.find('/', 1));
  return head == "/healthz" || head == "/livez" || head == "/readyz";
}

bool is_known_method(std::string_view method) {
  constexpr std::string_view kMethods[] = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "CONNECT", "TRACE"};
  return std::find(std::begin(kMethods), std::end(kMethods), method) != std::end(kMethods);
}

// The API's verb for what is allowed or not.
std::string_view verb_of(const std::string& method, const Target& target, bool watch) {
  if (method == "GET" || method == "HEAD") return !target.name.empty() ? "get" : watch ? "watch" : "list";
  if (method == "POST") return "create";
  if (method == "PUT") return "update";
  if (method == "PATCH") return "patch";
  return target.name.empty() ? "deletecollection" : "delete";
}

// A long list, written while it is sent.
class ListBody final : public wire::Body {
 public:
  ListBody(Form form, std::vector<Doc> objects, const ListMeta& meta) : form_(form), objects_(std::move(objects)) {
    form_.open_list(opening_, meta);
  }
  More fill(std::string& out, std::size_t room) override {
    const std::size_t end = out.size() + room;
    out += std::exchange(opening_, {});
    for (; next_ < objects_.size() && out.size() < end; ++next_) {
      if (next_ > 0) out += ',';
      form_.write_item(out, objects_[next_]);
      objects_[next_] = Doc();
    }
    if (next_ < objects_.size()) return More::kYes;
    form_.close_list(out);
    return More::kEnd;
  }

 private:
  Form form_;
  std::vector<Doc> objects_;
  std::string opening_;
  std::size_t next_ = 0;
};

class TextBody final : public wire::Body {
 public:
  explicit TextBody(std::string text) : text_(std::move(text)) {}
  More fill(std::string& out, std::size_t) override {
    out += text_;
    return More::kEnd;
  }

 private:
  std::string text_;
};

wire::Reply stream_reply(std::unique_ptr<wire::Body> body) {
  wire::Reply made = reply(200, "");
  made.stream = std::move(body);
  return made;
}

}  // namespace

// What can be done with a collection, an object, and its status.
struct ApiServer::Route {
  std::string_view method;
  enum class On { kCollection, kObject, kStatus } on;
  Action action;
};

const ApiServer::Route ApiServer::kRoutes[] = {
    {"GET", Route::On::kCollection, &ApiServer::list_or_watch},
    {"POST", Route::On::kCollection, &ApiServer::create},
    {"DELETE", Route::On::kCollection, &ApiServer::remove_many},
    {"GET", Route::On::kObject, &ApiServer::get},
    {"PUT", Route::On::kObject, &ApiServer::update},
    {"PATCH", Route::On::kObject, &ApiServer::patch},
    {"DELETE", Route::On::kObject, &ApiServer::remove},
    {"GET", Route::On::kStatus, &ApiServer::get},
    {"PUT", Route::On::kStatus, &ApiServer::update},
    {"PATCH", Route::On::kStatus, &ApiServer::patch},
};

ApiServer::ApiServer(ApiOptions options, const Clock& clock, After after)
    : options_(std::move(options)), clock_(clock), after_(std::move(after)), store_(options_.most_changes) {}

void ApiServer::handle(const std::shared_ptr<wire::Exchange>& exchange) {
  Call call{.exchange = exchange, .request = exchange->request(), .target = parse_target(exchange->request().target)};
  Answer answer = this->answer(call);
  wire::Reply reply = answer ? std::move(*answer) : sim::reply(answer.error());
  count(call, reply.status);
  exchange->answer(std::move(reply));
}

ApiServer::Answer ApiServer::answer(Call& call) {
  call.watch = call.target.is_resource && call.target.name.empty() && call.target.query.flag("watch");
  const User user = user_of(call.request);
  if (user == User::kUnknown) return tl::unexpected(unauthorized());
  if (!call.target.is_resource) return answer_other(call, user);
  if (auto allowed = authorize(call, user); !allowed) return tl::unexpected(allowed.error());
  return answer_resource(call);
}

ApiServer::User ApiServer::user_of(const wire::Request& request) const {
  constexpr std::string_view kBearer = "Bearer ";
  const std::string_view header = request.header("authorization");
  if (!header.starts_with(kBearer)) return User::kAnonymous;
  const std::string_view token = trimmed(header.substr(kBearer.size()));
  if (token == options_.token) return User::kAdmin;
  if (!options_.other_token.empty() && token == options_.other_token) return User::kAdmin;
  return !options_.powerless_token.empty() && token == options_.powerless_token ? User::kPowerless : User::kUnknown;
}

Answered<> ApiServer::authorize(const Call& call, User user) const {
  if (user == User::kAdmin) return {};
  const Target& target = call.target;
  const std::string_view name = user == User::kPowerless ? "powerless" : "system:anonymous";
  const std::string qualified = target.group.empty() ? target.plural : fmt::format("{}.{}", target.plural, target.group);
  const std::string resource = target.subresource.empty() ? target.plural : target.plural + "/" + target.subresource;
  Json details = {{"kind", target.plural}};
  if (!target.name.empty()) details["name"] = target.name;
  if (!target.group.empty()) details["group"] = target.group;
  return tl::unexpected(
      forbidden(fmt::format("{}{} is forbidden: User \"{}\" cannot {} resource \"{}\" in API group \"{}\" {}", qualified,
                            target.name.empty() ? "" : fmt::format(" \"{}\"", target.name), name,
                            verb_of(call.request.method, target, call.watch), resource, target.group,
                            target.space.empty() ? "at the cluster scope" : fmt::format("in the namespace \"{}\"", target.space)),
                std::move(details)));
}

ApiServer::Answer ApiServer::answer_other(Call& call, User user) {
  const std::string& path = call.target.path;
  const bool open = is_health(path) || path == "/version" || path == "/version/";
  const bool known = path.starts_with("/api") || path.starts_with("/openapi");
  if (!(user == User::kAdmin || open || (user == User::kPowerless && known))) {
    return tl::unexpected(
        forbidden(fmt::format("forbidden: User \"{}\" cannot {} path \"{}\"",
                              user == User::kPowerless ? "powerless" : "system:anonymous", lowered(call.request.method), path),
                  Json::object()));
  }
  if (is_health(path)) return text_reply(200, "ok");
  if (path == "/metrics") return text_reply(200, counters_.prometheus_text());
  if (const auto document = discovery(path)) return reply(200, to_text(*document) + "\n");
  const std::vector<std::string> parts = split(path, '/');
  const bool known_group = parts.size() > 2 && (parts[1] == "api" || (parts[1] == "apis" && discovery("/apis/" + parts[2])));
  if (known_group) return tl::unexpected(no_such_resource());
  return text_reply(404, "404 page not found\n");
}

ApiServer::Answer ApiServer::answer_resource(Call& call) {
  const Target& target = call.target;
  if (!target.group.empty() && !discovery("/apis/" + target.group)) return text_reply(404, "404 page not found\n");
  const Resource* resource = find_resource(target.group, target.version, target.plural);
  const bool status = target.subresource == "status";
  const bool placed = resource != nullptr &&
                      (resource->namespaced ? !target.space.empty() || target.name.empty() : target.space.empty());
  if (!placed || (!target.subresource.empty() && !(status && resource->has_status))) return tl::unexpected(no_such_resource());
  call.resource = resource;
  const Route::On on = status ? Route::On::kStatus : target.name.empty() ? Route::On::kCollection : Route::On::kObject;
  const bool across = resource->namespaced && target.space.empty();       // all namespaces: reading only
  const bool keeps_all = resource->kind == "Namespace" && on == Route::On::kCollection && call.request.method == "DELETE";
  for (const Route& route : kRoutes) {
    if (route.method != call.request.method || route.on != on || keeps_all || (across && route.method != "GET")) continue;
    return (this->*route.action)(call);
  }
  return tl::unexpected(method_not_allowed());
}

// Only words that this server knows: clients may make up others without end.
void ApiServer::count(const Call& call, int code) {
  const std::string& method = call.request.method;
  RequestKind kind{.verb = is_known_method(method) ? method : "other", .dry_run = call.dry_run, .code = code};
  const Target& target = call.target;
  if (target.is_resource) {
    const bool known = find_resource(target.group, target.version, target.plural) != nullptr;
    if (known) {
      kind.group = target.group;
      kind.version = target.version;
      kind.resource = target.plural;
      kind.subresource = target.subresource == "status" ? "status" : "";
    }
    const bool one = !target.name.empty() || method == "POST";
    kind.scope = one ? "resource" : target.space.empty() ? "cluster" : "namespace";
    if (method == "GET" && target.name.empty()) kind.verb = call.watch ? "WATCH" : "LIST";
  } else if (code == 200) {
    kind.subresource = is_health(target.path) ? target.path.substr(0, target.path.find('/', 1)) : target.path;
  }
  counters_.count(kind);
}

// ---- Reading ------------------------------------------------------------------------------------------------------------------

ApiServer::Answer ApiServer::shown(const Call& call, int status, const Doc& object) const {
  return Form::negotiate(call.request.header("accept"), call.target.query.get("includeObject"), Form::Asked::kObject,
                         *call.resource, clock_)
      .map([&](const Form& form) {
        std::string body;
        form.write(body, object);
        body += '\n';
        return reply(status, std::move(body));
      });
}

ApiServer::Answer ApiServer::get(Call& call) {
  const std::string_view version = call.target.query.get("resourceVersion");
  if (const auto number = parse_version(version); !number) {
    return tl::unexpected(
        internal_error(fmt::format("resourceVersion: Invalid value: {}: {}", json_quoted(version), number.error().message)));
  }
  const Doc* object = store_.find(*call.resource, object_key(call.target.space, call.target.name));
  if (object == nullptr) return tl::unexpected(not_found(*call.resource, call.target.name));
  return shown(call, 200, *object);
}

ApiServer::Answer ApiServer::list_or_watch(Call& call) {
  const auto options = parse_list_options(call.target.query);
  if (!options) return tl::unexpected(options.error());
  return options->watch ? watch(call, *options) : list(call, *options);
}

Answered<Store::Listed> ApiServer::listed(const Call& call, const ListOptions& options, const Selector& selector) {
  Store::ListQuery query{.space = call.target.space};
  if (!selector.everything()) query.wanted = [&selector](const Doc& object) { return selector.matches(object); };
  if (options.limit > 0) query.limit = static_cast<std::size_t>(options.limit);
  if (!options.continue_token.empty()) {
    if (!options.version.empty()) {
      return tl::unexpected(bad_request("specifying resource version is not allowed when using continue"));
    }
    auto from = read_continue(options.continue_token);
    if (!from) return tl::unexpected(from.error());
    query.start = from->start;
    query.version = from->version;
    if (from->left >= 0) query.known = static_cast<std::size_t>(from->left);
    if (auto listed = store_.list(*call.resource, query)) return std::move(*listed);
    Failure failure = expired(std::string(kTooOldToContinue));
    failure.continue_token = write_continue(Continue{.version = 0, .start = from->start});
    return tl::unexpected(std::move(failure));
  }
  const auto version = parse_version(options.version);
  if (!version) {
    return tl::unexpected(bad_request(fmt::format("invalid resource version: resourceVersion: Invalid value: {}: {}",
                                                  json_quoted(options.version), version.error().message)));
  }
  if (*version > store_.version()) {
    Failure failure{.code = 504,
                    .reason = "Timeout",
                    .message = fmt::format("Timeout: Too large resource version: {}, current: {}", *version, store_.version()),
                    .retry_after_s = 1};
    failure.details = {{"causes", {{{"reason", "ResourceVersionTooLarge"}, {"message", "Too large resource version"}}}},
                       {"retryAfterSeconds", 1}};
    return tl::unexpected(std::move(failure));
  }
  if (options.version_match == "Exact") query.version = *version;
  auto listed = store_.list(*call.resource, query);
  if (!listed) return tl::unexpected(expired("The resourceVersion for the provided list is too old."));
  return std::move(*listed);
}

ApiServer::Answer ApiServer::list(Call& call, const ListOptions& options) {
  const auto form = Form::negotiate(call.request.header("accept"), call.target.query.get("includeObject"), Form::Asked::kList,
                                    *call.resource, clock_);
  if (!form) return tl::unexpected(form.error());
  const auto selector = Selector::parse(options.label_selector, options.field_selector, *call.resource);
  if (!selector) return tl::unexpected(selector.error());
  auto listed = this->listed(call, options, *selector);
  if (!listed) return tl::unexpected(listed.error());
  ListMeta meta{.version = listed->version};
  if (!listed->next.empty()) {
    meta.left = static_cast<std::int64_t>(listed->left);
    meta.continue_token = write_continue(Continue{.version = listed->version, .start = listed->next, .left = meta.left});
    if (!selector->everything()) meta.left = -1;
  }
  return stream_reply(std::make_unique<ListBody>(*form, std::move(listed->objects), meta));
}

ApiServer::Answer ApiServer::watch(Call& call, const ListOptions& options) {
  const auto form = Form::negotiate(call.request.header("accept"), call.target.query.get("includeObject"), Form::Asked::kWatch,
                                    *call.resource, clock_);
  if (!form) return tl::unexpected(form.error());
  auto selector = Selector::parse(options.label_selector, options.field_selector, *call.resource);
  if (!selector) return tl::unexpected(selector.error());
  const auto version = parse_version(options.version);
  if (!version) {
    return tl::unexpected(internal_error(
        fmt::format("resourceVersion: Invalid value: {}: {}", json_quoted(options.version), version.error().message)));
  }
  Shelf& shelf = store_.shelf(*call.resource);
  WatchPlan plan{.selector = *selector, .space = call.target.space, .form = *form, .version = store_.version()};
  if (options.initial_events || *version == 0) {
    Store::ListQuery query{.space = call.target.space};
    if (!selector->everything()) query.wanted = [&](const Doc& object) { return selector->matches(object); };
    plan.initial = std::move(store_.list(*call.resource, query)->objects);
    plan.from = shelf.end_change();
    plan.end_initial = options.initial_events && options.bookmarks;
  } else {
    const auto from = shelf.change_after(*version);
    if (!from) return stream_reply(std::make_unique<TextBody>(expired_event(*version, store_.version())));
    plan.from = *from;
    plan.after = *version;
  }
  auto watch = std::make_unique<Watch>(shelf, std::move(plan), call.exchange);
  const std::chrono::seconds asked(std::min(options.timeout_s, kLongestWatch));
  after_(asked > 0s ? Duration(asked) : kWatchEnds, [self = watch->self()] {
    if (const auto alive = self.lock()) (*alive)->end();
  });
  if (options.bookmarks) arm_bookmarks(watch->self());
  return stream_reply(std::move(watch));
}

void ApiServer::arm_bookmarks(const std::weak_ptr<Watch*>& watch) {
  after_(kBookmarkEvery, [this, watch] {
    const auto alive = watch.lock();
    if (alive == nullptr) return;
    (*alive)->bookmark(store_.version());
    arm_bookmarks(watch);
  });
}

// ---- Writing ------------------------------------------------------------------------------------------------------------------

ApiServer::Answer ApiServer::create(Call& call) {
  const auto dry_run = read_write_options(call.target, "CreateOptions");
  if (!dry_run) return tl::unexpected(dry_run.error());
  call.dry_run = *dry_run;
  const auto body = read_object(call.request, *call.resource);
  if (!body) return tl::unexpected(body.error());
  const auto created = writer_.create(call.where(), *body);
  if (!created) return tl::unexpected(created.error());
  return shown(call, 201, *created);
}

ApiServer::Answer ApiServer::update(Call& call) {
  const auto dry_run = read_write_options(call.target, "UpdateOptions");
  if (!dry_run) return tl::unexpected(dry_run.error());
  call.dry_run = *dry_run;
  const auto body = read_object(call.request, *call.resource);
  if (!body) return tl::unexpected(body.error());
  const auto written = writer_.update(call.where(), *body);
  if (!written) return tl::unexpected(written.error());
  return shown(call, written->created ? 201 : 200, written->object);
}

ApiServer::Answer ApiServer::patch(Call& call) {
  const auto dry_run = read_write_options(call.target, "PatchOptions");
  if (!dry_run) return tl::unexpected(dry_run.error());
  call.dry_run = *dry_run;
  const auto kind = patch_kind(call.request.header("content-type"));
  if (!kind) return tl::unexpected(kind.error());
  const auto patched = writer_.patch(call.where(), *kind, call.request.body);
  if (!patched) return tl::unexpected(patched.error());
  return shown(call, 200, *patched);
}

ApiServer::Answer ApiServer::remove(Call& call) {
  const auto deletion = read_deletion(call.request, call.target);
  if (!deletion) return tl::unexpected(deletion.error());
  call.dry_run = deletion->dry_run;
  const auto removed = writer_.remove(call.where(), deletion->options);
  if (!removed) return tl::unexpected(removed.error());
  if (call.resource->delete_shows_object || !removed->at({"metadata", "finalizers"}).is_null()) return shown(call, 200, *removed);
  Json details = {
      {"name", call.target.name}, {"kind", call.target.plural}, {"uid", std::string(removed->at({"metadata", "uid"}).text())}};
  if (!call.target.group.empty()) details["group"] = call.target.group;
  const Json status = {
      {"kind", "Status"}, {"apiVersion", "v1"}, {"metadata", Json::object()}, {"status", "Success"}, {"details", details}};
  return reply(200, to_text(status) + "\n");
}

ApiServer::Answer ApiServer::remove_many(Call& call) {
  const auto deletion = read_deletion(call.request, call.target);
  if (!deletion) return tl::unexpected(deletion.error());
  call.dry_run = deletion->dry_run;
  const auto form = Form::negotiate(call.request.header("accept"), call.target.query.get("includeObject"), Form::Asked::kList,
                                    *call.resource, clock_);
  if (!form) return tl::unexpected(form.error());
  const auto options = parse_list_options(call.target.query);
  if (!options) return tl::unexpected(options.error());
  const auto selector = Selector::parse(options->label_selector, options->field_selector, *call.resource);
  if (!selector) return tl::unexpected(selector.error());
  auto listed = this->listed(call, *options, *selector);
  if (!listed) return tl::unexpected(listed.error());
  for (const Doc& object : listed->objects) {
    Writer::Where where = call.where();
    where.name = object.at({"metadata", "name"}).text();
    (void)writer_.remove(where, {});  // each was there a moment ago, on this thread
  }
  return stream_reply(std::make_unique<ListBody>(*form, std::move(listed->objects), ListMeta{.version = store_.version()}));
}

}  // namespace nodeward::sim
