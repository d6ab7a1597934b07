#include "nodes/node_writer.h"

#include <fmt/format.h>

#include <utility>

#include "telemetry/log.h"

namespace nodeward::nodes {

using kube::Node;
using kube::NodeName;

namespace {

constexpr int kTries = 5;                                     // per call, conflicts only
constexpr BackoffShape kBackoff{.first = 250ms, .most = 60s, .factor = 2.0, .jitter = 0.2};   // never below 200 ms: R16
constexpr BackoffShape kUnauthorizedBackoff{.first = 200ms, .most = 30s, .factor = 2.0, .jitter = 0.2};
constexpr BackoffShape kRefusedBackoff{.first = 60s, .most = 600s, .factor = 2.0, .jitter = 0.1};
// A server that has just come up refuses everybody until it has read its roles, which takes it a moment: the first two are no news.
constexpr int kPassingDenials = 2;
constexpr BackoffShape kDeniedBackoff{.first = 1s, .most = 600s, .factor = 4.0, .jitter = 0.1};
constexpr BackoffShape kGateBackoff{.first = 100ms, .most = 5s, .factor = 2.0, .jitter = 0.1};
constexpr BackoffShape kConflictWait{.first = 30ms, .most = 50ms, .factor = 1.0, .jitter = 0.66};  // 10 to 50 ms

std::uint64_t seed_of(const NodeName& name) { return std::hash<NodeName>{}(name); }

std::string path_of(const NodeName& name) { return "/api/v1/nodes/" + kube::url_encoded(name.str()); }

bool may_have_been_done(ErrorCode code) { return code == ErrorCode::kUnavailable || code == ErrorCode::kTimeout; }

FlightLimit::Answer load_of(const Result<net::Response>& answer) {
  if (answer) return FlightLimit::Answer::kGood;
  const ErrorCode code = answer.error().code;
  if (code == ErrorCode::kThrottled || code == ErrorCode::kTimeout) return FlightLimit::Answer::kOverload;
  return code == ErrorCode::kConflict ? FlightLimit::Answer::kGood : FlightLimit::Answer::kOther;
}

}  // namespace

NodeWriter::NodeWriter(kube::Client& client, NodeView& freshest, Clock& clock, WriterOptions options,
                       std::function<void(const NodeName&)> wake)
    : client_(client),
      freshest_(freshest),
      clock_(clock),
      options_(std::move(options)),
      wake_(std::move(wake)),
      bucket_(Bucket(options_.qps, options_.burst)),
      flight_(FlightLimit(options_.workers)),
      gate_(Gate(kGateBackoff)) {}

// What one round is about: the node, what is wanted of it, and as much of that as is sent.
struct NodeWriter::Round {
  std::shared_ptr<const Node> node;
  NodePatch wanted;
  std::string identity;  // of the whole body
  Weight least;
  NodePatch::Body body;
};

Outcome NodeWriter::apply(const NodeName& name, const Plan& plan, const std::stop_token& stop) {
  if (auto later = too_early(name, clock_.now())) return *later;
  if (auto unfinished = look(name, stop)) return *unfinished;
  for (int conflicts = 0; conflicts < kTries;) {
    if (stop.stop_requested()) return Stopped{};
    const auto round = prepare(name, plan);
    if (!round) return round.error();
    if (auto later = fenced(name)) return *later;
    if (options_.fence.guard_all() && !round->body.guarded) continue;  // the lease was taken since the plan was made
    if (auto later = claim(name, clock_.now())) return *later;

    auto answer = patch(name, round->body, stop);
    if (answer) return written(name, *round, std::move(*answer));
    const Error& error = answer.error();
    const bool conflict = error.code == ErrorCode::kConflict;
    const auto end = conflict ? after_conflict(name, *round, ++conflicts, stop) : after_failure(name, *round, error);
    if (end) return *end;
  }
  return back_off(name, Error{ErrorCode::kConflict, fmt::format("patch {}: {} conflicts in a row", name.str(), kTries), {}});
}

tl::expected<NodeWriter::Round, Outcome> NodeWriter::prepare(const NodeName& name, const Plan& plan) {
  const auto unchanged = [&] { return settled(name), tl::unexpected(Outcome{Unchanged{}}); };
  auto node = freshest_.freshest(name);
  if (!node) return forget(name), tl::unexpected(Outcome{Unknown{}});
  NodePatch wanted = plan(*node);
  if (options_.fence.guard_all()) wanted.guarded();
  const auto whole = wanted.body(*node);
  if (!whole) return unchanged();
  if (auto later = still_refused(name, whole->identity, *node, clock_.now())) return tl::unexpected(Outcome{*later});
  const Weight least = weight_for(name, whole->identity);
  auto body = least == Weight::kOrnament ? whole : wanted.lightened(least).body(*node);
  if (!body) return unchanged();
  return Round{std::move(node), std::move(wanted), whole->identity, least, std::move(*body)};
}

// What stands in the answer counts: a webhook may have taken out again what was written.
Outcome NodeWriter::written(const NodeName& name, const Round& round, Node node) {
  if (round.wanted.lightened(round.least).body(node)) {
    freshest_.answered(std::move(node));
    return back_off(name,
                    Error{ErrorCode::kUnavailable,
                          fmt::format("patch {}: answered 200, but the node in the answer is not as it was to be", name.str()),
                          {}});
  }
  auto result = std::make_shared<const Node>(node);
  freshest_.answered(std::move(node));
  settled(name);
  return Written{std::move(result), round.least != Weight::kOrnament};
}

// News, not overload: at once the first time, then apart from the others that write this node. nullopt: there is a newer node.
std::optional<Outcome> NodeWriter::after_conflict(const NodeName& name, const Round& round, int conflicts,
                                                  const std::stop_token& stop) {
  if (conflicts > 1) clock_.sleep_for(backoff_delay(kConflictWait, conflicts, seed_of(name)), stop);
  const auto newer = freshest_.freshest(name);
  if (!newer || newer->version != round.node->version) return std::nullopt;
  if (auto failed = read(name, stop)) return failed;
  // The server's node is no newer than ours: its storage was restored from a backup. Until the nodes are listed the same again
  // would meet the same.
  const auto read_now = freshest_.freshest(name);
  if (!read_now || read_now->version != round.node->version) return std::nullopt;
  return back_off(name,
                  Error{ErrorCode::kConflict, fmt::format("patch {}: a conflict, but nothing newer to read", name.str()), {}});
}

// nullopt: the next round is another one.
std::optional<Outcome> NodeWriter::after_failure(const NodeName& name, const Round& round, const Error& error) {
  switch (error.code) {
    case ErrorCode::kCancelled: return Stopped{};
    case ErrorCode::kFenced: return std::nullopt;  // it waits behind the fence
    case ErrorCode::kNotFound: return freshest_.missing(name), forget(name), Outcome{Gone{}};
    case ErrorCode::kInvalid:
      if (const auto lighter = lighter_than(round.wanted, round.least, *round.node, round.body)) {
        lighten(name, round.identity, *lighter, error);
        return std::nullopt;
      }
      return refuse(name, round.identity, round.node, error);
    case ErrorCode::kDenied: return refuse(name, round.identity, round.node, error);
    default:
      if (may_have_been_done(error.code)) remember_unknown(name, round.body);
      return back_off(name, error);
  }
}

// A lighter body may have to wait for its place in the rate: what was refused is remembered, else the whole would be sent again.
Weight NodeWriter::weight_for(const NodeName& name, const std::string& identity) const {
  return troubles_.with([&](const auto& troubles) {
    const auto place = troubles.find(name);
    return place != troubles.end() && place->second.too_heavy == identity ? place->second.least : Weight::kOrnament;
  });
}

void NodeWriter::lighten(const NodeName& name, const std::string& identity, Weight least, const Error& error) {
  telemetry::warn("the API server refuses a part of a node write; sending it without",
                  {{"node", name.str()}, {"error", error.message}});
  troubles_.with([&](auto& troubles) {
    Trouble& trouble = troubles[name];
    trouble.least = least;
    trouble.too_heavy = identity;
  });
}

// The next lighter weight whose body is another one and not empty.
std::optional<Weight> NodeWriter::lighter_than(const NodePatch& wanted, Weight least, const Node& node,
                                               const NodePatch::Body& refused) {
  for (const Weight lighter : {Weight::kMark, Weight::kVital}) {
    if (lighter <= least) continue;
    const auto body = wanted.lightened(lighter).body(node);
    if (body && body->identity != refused.identity) return lighter;
  }
  return std::nullopt;
}

std::optional<Later> NodeWriter::too_early(const NodeName& name, MonoTime now) const {
  const MonoTime opens = gate_.with([](const Gate& gate) { return gate.opens(); });
  if (opens > now) return Later{opens, Later::Reason::kFailed, "the API server cannot be reached"};
  return troubles_.with([&](const auto& troubles) -> std::optional<Later> {
    const auto place = troubles.find(name);
    if (place == troubles.end() || place->second.not_before <= now) return std::nullopt;
    return Later{place->second.not_before, Later::Reason::kFailed, place->second.why};
  });
}

Later NodeWriter::later(const Refusal& refusal) {
  return {refusal.until, refusal.passing ? Later::Reason::kFailed : Later::Reason::kRefused, refusal.why};
}

// The same body on the same node would be refused again; another body, or a node that changed, is worth a try.
std::optional<Later> NodeWriter::still_refused(const NodeName& name, const std::string& identity, const Node& node,
                                               MonoTime now) const {
  return troubles_.with([&](const auto& troubles) -> std::optional<Later> {
    const auto place = troubles.find(name);
    if (place == troubles.end() || !place->second.refusal) return std::nullopt;
    const Refusal& refusal = *place->second.refusal;
    if (refusal.until <= now || refusal.identity != identity || !refusal.node->same_content(node)) return std::nullopt;
    return later(refusal);
  });
}

// A place in the rate, then a place in flight. A node keeps its place in the rate until it has used it.
std::optional<Later> NodeWriter::claim(const NodeName& name, MonoTime now) {
  std::optional<MonoTime> slot = troubles_.with([&](auto& troubles) { return troubles[name].slot; });
  if (!slot) {
    slot = bucket_.with([&](Bucket& bucket) { return bucket.reserve(now); });
    troubles_.with([&](auto& troubles) { troubles[name].slot = slot; });
  }
  if (*slot > now) return Later{*slot, Later::Reason::kRate};
  if (!flight_.with([&](FlightLimit& flight) { return flight.enter(name); })) {
    return Later{now + 1s, Later::Reason::kRate};  // woken earlier as soon as there is one
  }
  troubles_.with([&](auto& troubles) { troubles[name].slot.reset(); });
  return std::nullopt;
}

// Behind the fence a node waits without a time of its own: the lease may be far away.
std::optional<Later> NodeWriter::fenced(const NodeName& name) {
  if (options_.fence.may_write()) return std::nullopt;
  fenced_.with([&](auto& names) { names.insert(name); });
  if (options_.fence.may_write()) return std::nullopt;  // resume() may have come before our name did
  return Later{clock_.now() + 24h, Later::Reason::kFenced, "another copy holds the lease"};
}

void NodeWriter::resume() {
  for (const NodeName& name : fenced_.with([](auto& names) { return std::exchange(names, {}); })) wake_(name);
}

net::Header NodeWriter::accept() const { return {"Accept", kube::accept_object(kube::detail_of(options_.selection))}; }

// Another node's body would put that node into the view under a write of ours.
Result<Node> NodeWriter::node_in(const net::Response& answer, const NodeName& name) const {
  NW_TRY_ASSIGN(Node node, kube::make_node_decoder(options_.selection)->object(answer.body));
  if (node.name != name) return fail(ErrorCode::kInvalid, fmt::format("the answer is the node {}", node.name.str()));
  return node;
}

Result<Node> NodeWriter::patch(const NodeName& name, const NodePatch::Body& body, const std::stop_token& stop) {
  // The server gives up before we do, so that a body given up on here does not land late.
  net::Request request{.method = "PATCH",
                       .path = fmt::format("{}?fieldManager={}&timeout=25s", path_of(name), options_.field_manager),
                       .headers = {{"Content-Type", "application/merge-patch+json"}, accept()},
                       .body = body.json,
                       .timeout = 30s};
  const auto answer = client_.send(std::move(request), stop, options_.fence.may_write);
  for (const NodeName& next : flight_.with([&](FlightLimit& flight) { return flight.leave(load_of(answer)); })) wake_(next);
  notice(name, "PATCH", answer);
  if (!answer) return tl::unexpected(answer.error());
  auto node = node_in(*answer, name);
  // Written, but the answer says nothing we can read: as if it had been lost.
  if (!node) return fail(ErrorCode::kUnavailable, fmt::format("patch {}: {}", name.str(), node.error().message));
  return node;
}

// Counts the request, and says once when the way to the server is shut and once when it is open again.
void NodeWriter::notice(const NodeName& name, std::string_view verb, const Result<net::Response>& answer) {
  if (!answer && answer.error().code == ErrorCode::kFenced) return;
  options_.on_attempt({name, verb, answer ? nullptr : &answer.error()});
  // Neither says that the server is there again, nor that it is not.
  if (!answer && (answer.error().code == ErrorCode::kCancelled || answer.error().code == ErrorCode::kTimeout)) return;
  if (!answer && answer.error().code == ErrorCode::kUnreachable) {
    if (gate_.with([&](Gate& gate) { return gate.shut(clock_.now()); })) {
      telemetry::warn("the API server cannot be reached; node writes wait", {{"error", answer.error().message}});
    }
  } else if (gate_.with([](Gate& gate) { return gate.open(); })) {
    telemetry::info("the API server answers again; node writes go on");
  }
}

// After a write of unknown outcome: one GET, then the plan. A guarded body may simply be sent again, since the server would
// answer 409 had it been done; apply() then plans on the newer node.
std::optional<Outcome> NodeWriter::look(const NodeName& name, const std::stop_token& stop) {
  const bool unknown = troubles_.with([&](auto& troubles) {
    const auto place = troubles.find(name);
    return place != troubles.end() && place->second.outcome_unknown;
  });
  if (!unknown) return std::nullopt;
  return read(name, stop);
}

std::optional<Outcome> NodeWriter::read(const NodeName& name, const std::stop_token& stop) {
  const auto answer = client_.send({.path = path_of(name), .headers = {accept()}, .timeout = 30s}, stop);
  notice(name, "GET", answer);
  if (!answer) {
    if (answer.error().code == ErrorCode::kCancelled) return Stopped{};
    if (answer.error().code == ErrorCode::kNotFound) return freshest_.missing(name), forget(name), Outcome{Gone{}};
    return back_off(name, answer.error());
  }
  auto node = node_in(*answer, name);
  if (!node) return back_off(name, node.error());
  freshest_.answered(std::move(*node));
  troubles_.with([&](auto& troubles) { troubles[name].outcome_unknown = false; });
  return std::nullopt;
}

void NodeWriter::remember_unknown(const NodeName& name, const NodePatch::Body& body) {
  troubles_.with([&](auto& troubles) { troubles[name].outcome_unknown = !body.guarded; });
}

Later NodeWriter::back_off(const NodeName& name, const Error& error) {
  const MonoTime now = clock_.now();
  const auto [due, failures] = troubles_.with([&](auto& troubles) {
    Trouble& trouble = troubles[name];
    const BackoffShape& shape = error.code == ErrorCode::kUnauthorized ? kUnauthorizedBackoff : kBackoff;
    Duration wait = backoff_delay(shape, ++trouble.failures, seed_of(name));
    // 0, or a date that our clock has passed, is no wait: the back-off stands.
    if (error.retry_after && *error.retry_after > 0s) wait = *error.retry_after;
    trouble.not_before = now + wait;
    trouble.why = error.message;
    return std::pair(trouble.not_before, trouble.failures);
  });
  // Once per node; a server that cannot be reached is one fact, not one per node (notice()), and throttling is none.
  if (failures == 1 && error.code != ErrorCode::kUnreachable && error.code != ErrorCode::kThrottled) {
    telemetry::warn("a node write failed; it is tried again", {{"node", name.str()}, {"error", error.message}});
  }
  return Later{due, Later::Reason::kFailed, error.message};
}

Later NodeWriter::refuse(const NodeName& name, const std::string& identity, std::shared_ptr<const Node> node,
                         const Error& error) {
  const MonoTime now = clock_.now();
  const auto [refused, news] = troubles_.with([&](auto& troubles) {
    Trouble& trouble = troubles[name];
    trouble.too_heavy.clear();  // the next try begins with the whole
    const auto before = std::exchange(trouble.refusal, std::nullopt);
    const int times = before ? before->times + 1 : 1;
    const bool denied = error.code == ErrorCode::kDenied;
    const Duration pause = backoff_delay(denied ? kDeniedBackoff : kRefusedBackoff, times, seed_of(name));
    trouble.refusal = Refusal{identity, std::move(node), now + pause, times, denied && times <= kPassingDenials, error.message};
    const bool known = before && !before->passing && before->why == error.message;
    return std::pair(later(*trouble.refusal), !trouble.refusal->passing && !known);
  });
  if (news) {
    telemetry::error("the API server refuses a node write; trying again at growing intervals",
                     {{"node", name.str()}, {"error", error.message}});
    options_.on_refused(name, error.message);
  }
  return refused;
}

void NodeWriter::settled(const NodeName& name) {
  const bool unused = troubles_.with([&](auto& troubles) {
    const auto place = troubles.find(name);
    if (place == troubles.end()) return false;
    const bool held = place->second.slot.has_value();
    troubles.erase(place);
    return held;
  });
  if (unused) bucket_.with([](Bucket& bucket) { bucket.give_back(); });
}

void NodeWriter::forget(const NodeName& name) {
  settled(name);
  fenced_.with([&](auto& names) { names.erase(name); });
}

std::string NodeWriter::refusals() const {
  constexpr std::size_t kShown = 20;
  return troubles_.with([](const auto& troubles) {
    std::string lines;
    std::size_t found = 0;
    for (const auto& [name, trouble] : troubles) {
      if (trouble.refusal && ++found <= kShown) lines += fmt::format("refused: {}: {}\n", name.str(), trouble.refusal->why);
    }
    if (found > kShown) lines += fmt::format("refused: {} more\n", found - kShown);
    return lines;
  });
}

int NodeWriter::in_flight_limit() const {
  return flight_.with([](const FlightLimit& flight) { return flight.limit(); });
}

}  // namespace nodeward::nodes
