#include "quarantine/fault_quarantine.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <thread>
#include <utility>
#include <variant>

#include "base/overload.h"
#include "base/text.h"
#include "quarantine/keys.h"
#include "quarantine/node_name.h"
#include "telemetry/log.h"

namespace nodeward::quarantine {

using events::Arrived;
using kube::NodeName;
using nodes::Later;

namespace {

constexpr std::size_t kFold = 100;                       // events of a node planned at once
constexpr std::size_t kMostWaiting = 1'000'000;          // then the source is not read on
constexpr Duration kNodeMayCome = 60s;                   // an event may be ahead of the watch that brings its node
constexpr std::size_t kMostShown = 253;                  // bytes in the log of what should be a node name
constexpr Duration kPatience = 5min;                     // after the source's end, without anything being settled

nodes::WriterOptions writer_options(const FaultQuarantineOptions& options, Inbox& inbox) {
  return {.field_manager = "fault-quarantine",
          .selection = options.selection,
          .qps = options.qps,
          .burst = options.burst,
          .workers = options.workers,
          .on_attempt = [&inbox](const nodes::Attempt& attempt) { inbox.count_request(attempt.node); },
          .on_refused = options.on_refused,
          .fence = options.fence};
}

// Of the event that the write is for: the first that is not ignored.
std::size_t cause_of(const std::vector<Judgement>& judgements) {
  const auto acts = [](const Judgement& judgement) { return !std::holds_alternative<Ignore>(judgement.decision); };
  const auto place = std::find_if(judgements.begin(), judgements.end(), acts);
  return place == judgements.end() ? 0 : static_cast<std::size_t>(place - judgements.begin());
}

bool releases(const Plan& plan) {
  return !plan.judgements.empty() && std::holds_alternative<Release>(plan.judgements.back().decision);
}

events::Outcome outcome_of(const Judgement& judgement, int requests) {
  events::Outcome outcome{.decision = std::string(name_of(judgement.decision)), .requests = requests};
  if (judgement.status) outcome.status = to_string(*judgement.status);
  if (judgement.verdict) outcome.rules = judgement.verdict->matched;
  if (const auto* ignored = std::get_if<Ignore>(&judgement.decision)) outcome.reason = ignored->why;
  if (const auto* stuck = std::get_if<Stuck>(&judgement.decision)) outcome.error = stuck->why;
  return outcome;
}

void tell(const Arrived& arrived, const Judgement& judgement) {
  const auto& event = arrived.event;
  if (std::holds_alternative<Ignore>(judgement.decision)) {
    telemetry::debug(
        "event ignored",
        {{"node", event.node_name}, {"id", event.id}, {"why", std::string(std::get<Ignore>(judgement.decision).why)}});
  } else {
    telemetry::info(fmt::format("event settled: {}", name_of(judgement.decision)),
                    {{"node", event.node_name},
                     {"id", event.id},
                     {"check", event.check_name},
                     {"rules", judgement.verdict ? fmt::format("{}", fmt::join(judgement.verdict->matched, ", ")) : ""},
                     {"status", judgement.status ? std::string(to_string(*judgement.status)) : ""}});
  }
  if (!judgement.verdict) return;
  for (const rules::RuleError& error : judgement.verdict->errors) {
    telemetry::error("a rule set could not be evaluated",
                     {{"node", event.node_name}, {"id", event.id}, {"ruleset", error.rule_set}, {"error", error.reason}});
  }
}

}  // namespace

FaultQuarantine::FaultQuarantine(kube::Client& client, events::Source& source, Judge judge, FaultQuarantineOptions options,
                                 telemetry::Metrics& registry, Clock& clock)
    : options_(std::move(options)),
      source_(source),
      judge_(std::move(judge)),
      clock_(clock),
      metrics_(registry),
      inbox_(clock),
      queue_(clock),
      view_([this](const NodeName& name, const std::shared_ptr<const kube::Node>& now) { node_changed(name, now == nullptr); }),
      writer_(client, view_, clock, writer_options(options_, inbox_), [this](const NodeName& name) { queue_.add(name); }),
      reader_(client, kube::Resource{"nodes", "/api/v1/nodes"}, kube::make_node_decoder(options_.selection), view_, clock,
              kube::ReflectorOptions{.on_list = [this] { list_read(); }, .on_sight = [this] { wake_all(); }}) {}

Result<std::size_t> FaultQuarantine::run(const std::stop_token& stop) {
  std::stop_source over;
  const std::stop_callback outer(stop, [&] { over.request_stop(); });
  std::vector<std::jthread> threads;
  threads.emplace_back([&] { reader_.run(over.get_token()); });
  for (int i = 0; i < options_.workers; ++i) threads.emplace_back([&] { work(over.get_token()); });

  const Result<> fed = feed(stop);
  const bool through = inbox_.wait_for_the_last(kPatience, stop);
  over.request_stop();
  threads.clear();
  const std::size_t left = through ? report_the_rest() : 0;
  NW_TRY(fed);
  return left;
}

Result<> FaultQuarantine::feed(const std::stop_token& stop) {
  while (inbox_.wait_for_room(kMostWaiting, stop)) {
    NW_TRY_ASSIGN(events::Delivery delivery, source_.next(stop));
    const bool goes_on = std::visit(
        Overload{[&](Arrived& arrived) { return accept(std::move(arrived)), true; },
                 [&](const events::Unreadable& bad) {
                   metrics_.received.add();
                   metrics_.error("unmarshal_error");
                   telemetry::error("an event cannot be read", {{"where", bad.where}, {"error", bad.why}});
                   return true;
                 },
                 [](const events::End&) { return false; }},
        delivery);
    if (!goes_on) break;
  }
  return {};
}

void FaultQuarantine::accept(Arrived arrived) {
  if (!to_act_on(arrived.event)) {
    const int strategy = arrived.event.processing_strategy;
    return source_.settle(arrived,
                          {.decision = "ignore", .reason = fmt::format("processingStrategy {} asks for no action", strategy)});
  }
  metrics_.received.add();
  if (!can_name_a_node(arrived.event.node_name)) return settle_without_node(arrived, "nodeName cannot be the name of a node");
  queue_.add(inbox_.add(std::move(arrived)));
}

std::size_t FaultQuarantine::report_the_rest() {
  const auto left = inbox_.leave();
  for (const Inbox::Left& each : left) {
    const std::string why = each.trouble.why.empty() ? "it waits for its turn" : each.trouble.why;
    source_.settle(each.arrived,
                   {.decision = each.trouble.refused ? "refused" : "waiting", .requests = each.requests, .error = why});
  }
  return left.size();
}

void FaultQuarantine::work(const std::stop_token& stop) {
  while (const auto name = queue_.take(stop)) queue_.done(*name, handle(*name, stop));
}

std::optional<MonoTime> FaultQuarantine::handle(const NodeName& name, const std::stop_token& stop) {
  if (!reader_.synced()) return std::nullopt;              // list_read() brings it back
  if (!options_.fence.may_write()) return std::nullopt;    // resume() does
  InHand hand = inbox_.take(name, kFold);
  if (hand.events.empty()) return std::nullopt;
  const WallTime now = hand.trouble.planned_at.value_or(clock_.wall_now());
  std::optional<Plan> plan;                                // of the last attempt
  bool seen = reader_.in_sight();                          // what it was made on
  const auto outcome = write(
      name,
      [&](const kube::Node& node) {
        plan = plan_for(hand.events, node, judge_, now, options_.quarantine);
        seen = reader_.in_sight();
        if (!seen) plan->patch.guarded();
        return plan->patch;
      },
      stop);
  // A guarded write meets the node as it is now. That there is nothing to do, or no such node, must not be said of what was there
  // before the nodes went out of sight.
  const bool unmet = std::holds_alternative<nodes::Unknown>(outcome) || std::holds_alternative<nodes::Unchanged>(outcome);
  if (unmet && !seen) {
    inbox_.give_back(name, std::move(hand), 0, {.why = "the nodes cannot be read"});
    return std::nullopt;  // wake_all() brings it back
  }
  return std::visit(Overload{[&](const nodes::Unchanged&) { return settle_planned(name, std::move(hand), *plan); },
                             [&](const nodes::Written&) { return settle_planned(name, std::move(hand), *plan); },
                             [&](const nodes::Unknown&) { return settle_missing(name, std::move(hand), false); },
                             [&](const nodes::Gone&) { return settle_missing(name, std::move(hand), true); },
                             [&](const Later& later) { return std::optional(wait(name, std::move(hand), now, plan, later)); },
                             [&](const nodes::Stopped&) {
                               Trouble trouble = hand.trouble;
                               inbox_.give_back(name, std::move(hand), 0, std::move(trouble));
                               return std::optional<MonoTime>{};
                             }},
                    outcome);
}

nodes::Outcome FaultQuarantine::write(const NodeName& name, const nodes::NodeWriter::Plan& plan, const std::stop_token& stop) {
  if (!options_.print_only) return writer_.apply(name, plan, stop);
  const auto known = view_.freshest(name);
  if (!known) return nodes::Unknown{};
  const kube::Node node = printed_.with([&](auto& printed) { return printed.try_emplace(name, *known).first->second; });
  const nodes::NodePatch patch = plan(node);
  const auto body = patch.body(node);
  if (!body) return nodes::Unchanged{};
  options_.print_only(name, body->json);
  printed_.with([&](auto& printed) { printed.insert_or_assign(name, patch.applied(node)); });
  return nodes::Written{known};
}

// At once again when events are left: those behind a release, and those beyond the first hundred.
std::optional<MonoTime> FaultQuarantine::settle_planned(const NodeName& name, InHand hand, const Plan& plan) {
  tell_unreadable(name, plan.unreadable);
  const int sent = inbox_.requests(name);
  const std::size_t covered = plan.judgements.size();
  const std::size_t cause = cause_of(plan.judgements);
  for (std::size_t i = 0; i < covered; ++i) {
    metrics_.handling_seconds.observe(std::chrono::duration<double>(clock_.now() - hand.since[i]).count());
    settle(hand.events[i], plan.judgements[i], i == cause ? sent : 0);
  }
  inbox_.give_back(name, std::move(hand), covered);
  return inbox_.waits(name) ? std::optional(clock_.now()) : std::nullopt;
}

// Whole, because a write may replace it; once, because it may be 250 KB and stay through a thousand events.
void FaultQuarantine::tell_unreadable(const NodeName& name, const std::vector<Unreadable>& unreadable) {
  const bool news = told_unreadable_.with([&](auto& told) {
    if (!unreadable.empty()) return told.insert(name).second;
    told.erase(name);
    return false;
  });
  for (const Unreadable& bad : unreadable) {
    if (bad.annotation == kEvents) metrics_.error("get_node_annotations_error");
    if (!news) continue;
    telemetry::error("an annotation cannot be read and counts as empty",
                     {{"node", name.str()}, {"annotation", std::string(bad.annotation)}, {"error", bad.why}, {"text", bad.text}});
  }
}

std::optional<MonoTime> FaultQuarantine::settle_missing(const NodeName& name, InHand hand, bool gone) {
  const MonoTime now = clock_.now();
  std::size_t given_up = 0;
  int sent = inbox_.requests(name);
  while (given_up < hand.events.size() && (gone || hand.since[given_up] + kNodeMayCome <= now)) {
    metrics_.handling_seconds.observe(std::chrono::duration<double>(now - hand.since[given_up]).count());
    settle_without_node(hand.events[given_up++], "there is no such node", std::exchange(sent, 0));
  }
  const std::optional<MonoTime> due = given_up < hand.events.size() ? std::optional(hand.since[given_up] + kNodeMayCome)
                                                                    : std::nullopt;
  inbox_.give_back(name, std::move(hand), given_up, {.why = "there is no such node yet"});
  if (due) return due;
  return inbox_.waits(name) ? std::optional(now) : std::nullopt;
}

// A refusal lasts until something else than the rate is in the way: its body must stay the same to be recognised.
MonoTime FaultQuarantine::wait(const NodeName& name, InHand hand, WallTime planned_at, const std::optional<Plan>& plan,
                               const Later& later) {
  Trouble trouble = hand.trouble;
  if (later.reason == Later::Reason::kRefused) {
    if (!trouble.refused) metrics_.error(plan && releases(*plan) ? "untaint_and_uncordon_error" : "taint_and_cordon_error");
    trouble = {.why = later.why, .refused = true, .planned_at = planned_at};
  } else if (later.reason == Later::Reason::kFailed) {
    trouble = {.why = later.why};
  } else if (!trouble.refused) {
    trouble = {.why = "it waits for its turn"};
  }
  inbox_.give_back(name, std::move(hand), 0, std::move(trouble));
  return later.due;
}

void FaultQuarantine::settle(const Arrived& arrived, const Judgement& judgement, int requests) {
  metrics_.count(NodeName(arrived.event.node_name), judgement, arrived.event, options_.rule_sets, clock_.wall_now());
  tell(arrived, judgement);
  options_.on_settled(arrived.event, judgement);
  source_.settle(arrived, outcome_of(judgement, requests));
}

void FaultQuarantine::settle_without_node(const Arrived& arrived, std::string why, int requests) {
  metrics_.error("get_node_cache_error");
  telemetry::error("an event names no node that is there",
                   {{"node", shortened(arrived.event.node_name, kMostShown)}, {"id", arrived.event.id}, {"error", why}});
  source_.settle(arrived, {.decision = "node-not-found", .requests = requests, .error = std::move(why)});
}

// A deleted node's events wait for it as an unknown one's do; what comes under its name is another node.
void FaultQuarantine::node_changed(const NodeName& name, bool gone) {
  if (gone) {
    writer_.forget(name);
    told_unreadable_.with([&](auto& told) { told.erase(name); });
    metrics_.quarantined_now.remove({{"node", name.str()}});
  }
  if (inbox_.waits(name)) queue_.add(name);
}

void FaultQuarantine::resume() {
  wake_all();
  writer_.resume();
}

void FaultQuarantine::wake_all() {
  for (const NodeName& name : inbox_.nodes()) queue_.add(name);
}

void FaultQuarantine::list_read() {
  wake_all();
  for (const NodeName& name : view_.names()) {
    const auto node = view_.freshest(name);
    if (node && node->annotations.get(kIsCordoned)) metrics_.quarantined_now.set(1, {{"node", name.str()}});
  }
}

FaultQuarantine::Readiness FaultQuarantine::readiness() const {
  std::string text;
  if (!reader_.synced()) text += "not read yet: nodes\n";
  if (const std::string trouble = reader_.trouble(); !trouble.empty())
    text += fmt::format("cannot be read now: nodes: {}\n", trouble);
  text += writer_.refusals();
  return {reader_.synced(), text.empty() ? "ok" : text};
}

void FaultQuarantine::refresh() { metrics_.backlog.set(static_cast<double>(inbox_.unsettled())); }

}  // namespace nodeward::quarantine
