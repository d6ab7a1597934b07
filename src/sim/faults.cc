#include "sim/faults.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "sim/path.h"

namespace nodeward::sim {
namespace {

using Act = FaultReply::Act;

std::string verb_of(const wire::Request& request, const Target& target) {
  const bool collection = target.is_resource && target.name.empty() && request.method == "GET";
  if (!collection) return request.method;
  return target.query.flag("watch") ? "WATCH" : "LIST";
}

// Whether a JSON text has the member that "metadata.labels" names.
bool has_member(const std::string& body, const std::string& dotted) {
  const auto document = parse_json(body);
  if (!document) return false;
  const Json* at = &*document;
  for (const std::string& key : split(dotted, '.')) {
    if (!at->is_object() || !at->contains(key)) return false;
    at = &(*at)[key];
  }
  return true;
}

bool query_has(const std::string& target, const std::string& part) {
  const Query query = parse_target(target).query;
  return std::any_of(query.values.begin(), query.values.end(),
                     [&](const auto& value) { return (value.first + "=" + value.second).find(part) != std::string::npos; });
}

// An exchange whose answer goes through other hands first. For answers that are whole when they are made: no watch.
class Intercepted final : public wire::Exchange {
 public:
  using Hands = std::function<void(wire::Reply)>;
  Intercepted(std::shared_ptr<wire::Exchange> real, Hands hands) : real_(std::move(real)), hands_(std::move(hands)) {}
  const wire::Request& request() const override { return real_->request(); }
  void answer(wire::Reply reply) override { hands_(std::move(reply)); }
  void wake() override { real_->wake(); }
  void drop() override { real_->drop(); }
  void goaway(int minus) override { real_->goaway(minus); }
  void freeze() override { real_->freeze(); }
  bool gone() const override { return real_->gone(); }

 private:
  const std::shared_ptr<wire::Exchange> real_;
  const Hands hands_;
};

}  // namespace

// The server's thread.
class Faults::Play : public std::enable_shared_from_this<Play> {
 public:
  using Exchange = std::shared_ptr<wire::Exchange>;

  Play(Simulation& sim, ApiServer& api, std::vector<FaultRule> rules, BeforeAnswer before_answer, const Clock& clock)
      : sim_(sim), api_(api), before_answer_(std::move(before_answer)), clock_(clock), began_(clock.now()) {
    for (FaultRule& rule : rules) rules_.push_back({std::move(rule)});
  }

  void handle(const Exchange& exchange, const Simulation::Next& next) {
    const Target target = parse_target(exchange->request().target);
    const auto asked = std::make_shared<Asked>();
    *asked = {.at = passed(), .verb = verb_of(exchange->request(), target), .path = target.path, .request = exchange->request()};
    asked_.push_back(asked);
    const FaultReply* reply = choose(*asked);
    const FaultReply as_ever;
    if (reply == nullptr || reply->delay == 0s) return carry_out(exchange, asked, reply != nullptr ? *reply : as_ever, next);
    sim_.after(reply->delay, [weak = weak_from_this(), exchange, asked, reply = *reply, next] {
      if (const auto self = weak.lock()) self->carry_out(exchange, asked, reply, next);
    });
  }

  std::vector<Asked> asked() const {
    std::vector<Asked> all;
    for (const auto& asked : asked_) all.push_back(*asked);
    return all;
  }

 private:
  struct Rule {
    FaultRule rule;
    int matched = 0;                              // by all of `on` but nth
    std::size_t used = 0;                         // of the replies
  };

  Duration passed() const { return clock_.now() - began_; }

  bool matches(const FaultMatch& on, const Asked& asked) const {
    return (on.verb.empty() || on.verb == asked.verb) && (on.path.empty() || on.path == asked.path) && on.after <= asked.at &&
           (on.header.empty() || asked.request.header(on.header) == on.header_value) &&
           (on.query_has.empty() || query_has(asked.request.target, on.query_has)) &&
           (on.body_has.empty() || has_member(asked.request.body, on.body_has));
  }

  // The reply of the first rule that has one. Every rule counts every request: "the 60th" is the 60th of the client.
  const FaultReply* choose(const Asked& asked) {
    const FaultReply* chosen = nullptr;
    for (Rule& rule : rules_) {
      if (!matches(rule.rule.on, asked)) continue;
      ++rule.matched;
      const auto& replies = rule.rule.replies;
      const bool used_up = rule.used == replies.size() && !rule.rule.repeat;
      if (chosen != nullptr || used_up || (rule.rule.on.nth != 0 && rule.rule.on.nth != rule.matched)) continue;
      chosen = &replies[rule.used++ % replies.size()];
    }
    return chosen;
  }

  void carry_out(const Exchange& exchange, const std::shared_ptr<Asked>& asked, const FaultReply& reply,
                 const Simulation::Next& next) {
    if (reply.first_change) {
      const std::string node = parse_target(asked->request.target).name;
      if (auto changed = change_node(api_, node, *reply.first_change); !changed) {
        return exchange->answer(sim::reply(500, "the script's first_change: " + changed.error().message));
      }
    }
    switch (reply.act) {
      case Act::kApply: return apply(exchange, asked, next, [exchange](wire::Reply made) { exchange->answer(std::move(made)); });
      case Act::kApplyThenDrop: return apply(exchange, asked, next, [exchange](const wire::Reply&) { exchange->drop(); });
      case Act::kAnswer:
        note(*asked, reply.status);
        return exchange->answer({.status = reply.status, .headers = reply.headers, .body = reply.body});
      case Act::kGoAway:
        exchange->goaway(reply.goaway);
        if (reply.goaway == 0) next(exchange);
        return;
      case Act::kSilent: return;
      case Act::kFreeze:
        if (reply.freeze_after == 0s) return exchange->freeze();
        next(exchange);
        return sim_.after(reply.freeze_after, [exchange] { exchange->freeze(); });
    }
  }

  void apply(const Exchange& exchange, const std::shared_ptr<Asked>& asked, const Simulation::Next& next,
             const Intercepted::Hands& then) {
    if (asked->verb == "WATCH" || asked->verb == "LIST") return next(exchange);
    next(std::make_shared<Intercepted>(exchange, [self = shared_from_this(), asked, then](wire::Reply made) {
      self->note(*asked, made.status);
      then(std::move(made));
    }));
  }

  void note(Asked& asked, int status) {
    asked.status = status;
    asked.answered = passed();
    if (before_answer_) before_answer_(asked);
  }

  Simulation& sim_;
  ApiServer& api_;
  const BeforeAnswer before_answer_;
  const Clock& clock_;
  const MonoTime began_;
  std::vector<Rule> rules_;
  std::vector<std::shared_ptr<Asked>> asked_;
};

Faults::Faults(Simulation& sim, std::vector<FaultRule> rules, BeforeAnswer before_answer, const Clock& clock) : sim_(sim) {
  sim.run_on_loop(
      [&](ApiServer& api) { play_ = std::make_shared<Play>(sim, api, std::move(rules), std::move(before_answer), clock); });
  sim.set_filter([play = play_](const std::shared_ptr<wire::Exchange>& exchange, const Simulation::Next& next) {
    play->handle(exchange, next);
  });
}

Faults::~Faults() {
  sim_.set_filter({});
  sim_.run_on_loop([this](ApiServer&) { play_.reset(); });
}

std::vector<Asked> Faults::asked() const {
  return sim_.run_on_loop([this](ApiServer&) { return play_->asked(); });
}

std::vector<Asked> Faults::asked(std::string_view verb, std::string_view path_start) const {
  std::vector<Asked> all = asked();
  std::erase_if(all, [&](const Asked& one) { return one.verb != verb || !one.path.starts_with(path_start); });
  return all;
}

Result<> change_node(ApiServer& api, const std::string& node, const NodeChange& change) {
  const Resource& nodes = *find_resource("", "v1", "nodes");
  const auto patch = [&](const Json& body, bool status) -> Result<> {
    const auto patched = api.writer().patch({.resource = nodes, .space = "", .name = node, .status = status}, PatchKind::kMerge,
                                            to_text(body));
    return patched ? Result<>() : fail(ErrorCode::kInvalid, patched.error().message);
  };
  if (!change.add_taint.is_null()) {
    const Doc* found = api.store().find(nodes, node);
    Json taints = found != nullptr ? found->at({"spec", "taints"}).json() : Json();
    taints.push_back(change.add_taint);
    NW_TRY(patch({{"spec", {{"taints", taints}}}}, false));
  }
  if (!change.labels.is_null()) NW_TRY(patch({{"metadata", {{"labels", change.labels}}}}, false));
  if (!change.status.is_null()) NW_TRY(patch({{"status", change.status}}, true));
  return {};
}

namespace {

// "gpu-%03d" and 7: gpu-007.
std::string numbered(const std::string& name, int number) {
  const auto begin = name.find('%');
  const auto end = name.find('d', begin);
  const int width = static_cast<int>(parse_int(name.substr(begin + 1, end - begin - 1)).value_or(0));
  return fmt::format("{}{:0{}}{}", name.substr(0, begin), number, width, end == std::string::npos ? "" : name.substr(end + 1));
}

}  // namespace

Result<> load_objects(Simulation& sim, const FaultScript& script, const std::filesystem::path& folder) {
  for (const std::string& file : script.objects) NW_TRY(sim.load_file(folder / file));
  if (!script.generated) return {};
  const auto file = folder / script.generated->from;
  NW_TRY_ASSIGN(const std::string text, read_file(file));
  auto object = parse_json(text);
  if (!object) return tl::unexpected(in_context(file.string(), object.error()));
  Json& metadata = (*object)["metadata"];
  metadata.erase("uid");
  for (int i = 0; i < script.generated->count; ++i) {
    metadata["name"] = numbered(script.generated->name, i);
    if (metadata.contains("labels")) metadata["labels"]["kubernetes.io/hostname"] = metadata["name"];
    NW_TRY(sim.load(*object, file.string()));
  }
  return {};
}

}  // namespace nodeward::sim
