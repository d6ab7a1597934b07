#include "sim/fault_script.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/text.h"
#include "sim/status.h"

namespace nodeward::sim {
namespace {

struct ShortName {
  std::string_view name;
  std::string_view reason;
  std::string_view message;
};
constexpr ShortName kShortNames[] = {
    {"conflict", "Conflict", "Operation cannot be fulfilled: the object has been modified"},
    {"too-many", "TooManyRequests", "Too many requests, please try again later."},
    {"not-found", "NotFound", "not found"},
    {"invalid", "Invalid", "the object is invalid"},
    {"unauthorized", "Unauthorized", "Unauthorized"},
    {"expired", "Expired", "The resourceVersion for the provided watch is too old."},
    {"unavailable", "ServiceUnavailable", "the server is currently unable to handle the request"},
};

constexpr std::string_view kVerbs[] = {"GET", "LIST", "WATCH", "POST", "PUT", "PATCH", "DELETE"};
constexpr double kMostMs = 24 * 3600 * 1000.0;

// The members of one object of the script, and where that stands. The first thing that is wrong anywhere goes into `problem`;
// from then on every read gives an empty value.
class Fields {
 public:
  Fields(const Json& object, std::string where, std::string& problem)
      : object_(object), where_(std::move(where)), problem_(problem) {
    if (!object_.is_object()) refuse("", "is no object");
  }

  bool has(const char* key) {
    known_.insert(key);
    return object_.is_object() && object_.contains(key);
  }
  const Json& raw(const char* key) {
    static const Json kNull;
    return has(key) ? object_[key] : kNull;
  }
  std::string text(const char* key) {
    const Json& value = raw(key);
    if (value.is_string() && !value.get_ref<const std::string&>().empty()) return value;
    if (!value.is_null()) refuse(key, "is no text");
    return "";
  }
  bool flag(const char* key) {
    const Json& value = raw(key);
    if (value.is_boolean()) return value;
    if (!value.is_null()) refuse(key, "is neither true nor false");
    return false;
  }
  double number(const char* key, double least, double most) {
    const Json& value = raw(key);
    if (value.is_null()) return 0;
    if (!value.is_number() || value < least || value > most) {
      refuse(key, fmt::format("is no number from {} to {}", least, most));
      return 0;
    }
    return value;
  }
  int whole(const char* key, int least, int most) { return static_cast<int>(number(key, least, most)); }
  Duration time(const char* key) {
    return std::chrono::duration_cast<Duration>(std::chrono::duration<double, std::milli>(number(key, 0, kMostMs)));
  }
  Fields member(const char* key) { return {raw(key), path(key), problem_}; }
  std::vector<Fields> list(const char* key) {
    const Json& values = raw(key);
    std::vector<Fields> all;
    if (!values.is_null() && !values.is_array()) refuse(key, "is no list");
    for (std::size_t i = 0; i < values.size() && values.is_array(); ++i) {
      all.emplace_back(values[i], fmt::format("{}[{}]", path(key), i), problem_);
    }
    return all;
  }
  std::vector<std::string> texts(const char* key) {
    std::vector<std::string> all;
    const Json& values = raw(key);
    for (const Json& value : values) {
      if (!values.is_array() || !value.is_string()) return refuse(key, "is no list of texts"), all;
      all.push_back(value);
    }
    return all;
  }

  void refuse(const std::string& key, const std::string& what) {
    if (problem_.empty()) problem_ = fmt::format("{}: {}", path(key), what);
  }
  // After the last read: what nobody asked for is refused.
  void end() {
    if (!object_.is_object()) return;
    for (const auto& [key, value] : object_.items()) {
      if (!known_.contains(key)) refuse(key, fmt::format("is unknown here; there are: {}", fmt::join(known_, ", ")));
    }
  }

 private:
  std::string path(const std::string& key) const {
    if (key.empty()) return where_.empty() ? "the script" : where_;
    return where_.empty() ? key : where_ + "." + key;
  }

  const Json& object_;
  const std::string where_;
  std::string& problem_;
  std::set<std::string> known_;
};

NodeChange read_change(Fields fields) {
  NodeChange change{.add_taint = fields.raw("add_taint"), .labels = fields.raw("labels"), .status = fields.raw("status")};
  if (change.add_taint.is_null() && change.labels.is_null() && change.status.is_null()) {
    fields.refuse("", "changes nothing; it takes add_taint, labels, status");
  }
  fields.end();
  return change;
}

void read_answer(Fields& fields, FaultReply& reply) {
  reply.act = FaultReply::Act::kAnswer;
  reply.status = fields.whole("status", 200, 599);
  if (fields.has("headers")) {
    if (!fields.raw("headers").is_object()) fields.refuse("headers", "is no object");
    for (const auto& [name, value] : fields.raw("headers").items()) {
      if (!value.is_string()) fields.refuse("headers." + name, "is no text");
      reply.headers.push_back({name, value.is_string() ? value.get<std::string>() : ""});
    }
  }
  const Json& body = fields.raw("body");
  std::optional<std::string> status;
  if (body.is_string()) status = status_body(body.get_ref<const std::string&>(), reply.status);
  const bool json = status || body.is_object();
  reply.headers.push_back({"Content-Type", json ? "application/json" : "text/plain; charset=utf-8"});
  if (status)
    reply.body = *status;
  else if (body.is_string())
    reply.body = body;
  else if (body.is_object())
    reply.body = to_text(body);
  else if (!body.is_null())
    fields.refuse("body", "is neither a text nor an object");
}

FaultReply read_reply(Fields fields) {
  FaultReply reply{.delay = fields.time("delay_ms")};
  if (fields.has("first_change")) reply.first_change = read_change(fields.member("first_change"));
  int acts = 0;
  const auto is = [&](bool given, FaultReply::Act act) {
    if (!given) return;
    ++acts;
    reply.act = act;
  };
  is(fields.flag("apply"), FaultReply::Act::kApply);
  is(fields.flag("apply_then_drop"), FaultReply::Act::kApplyThenDrop);
  is(fields.flag("silent"), FaultReply::Act::kSilent);
  is(fields.has("goaway"), FaultReply::Act::kGoAway);
  is(fields.has("status"), FaultReply::Act::kAnswer);
  if (acts != 1) fields.refuse("", "takes one of apply, apply_then_drop, goaway, silent, status");
  if (reply.act == FaultReply::Act::kGoAway) reply.goaway = fields.whole("goaway", 0, 1'000'000);
  if (reply.act == FaultReply::Act::kAnswer) read_answer(fields, reply);
  if (reply.act == FaultReply::Act::kSilent) {
    reply.freeze_after = fields.time("after_ms");
    if (fields.flag("drop_packets_both_ways") || reply.freeze_after > 0s) reply.act = FaultReply::Act::kFreeze;
  }
  fields.end();
  return reply;
}

FaultMatch read_match(Fields fields) {
  FaultMatch on{.verb = fields.text("verb"),
                .path = fields.text("path"),
                .query_has = fields.text("query_has"),
                .body_has = fields.text("body_has"),
                .nth = fields.whole("nth", 1, 1'000'000'000),
                .after = fields.time("after_ms")};
  if (!on.verb.empty() && std::find(std::begin(kVerbs), std::end(kVerbs), on.verb) == std::end(kVerbs)) {
    fields.refuse("verb", fmt::format("\"{}\" is none of {}", on.verb, fmt::join(kVerbs, ", ")));
  }
  if (const std::string header = fields.text("header"); !header.empty()) {
    const auto colon = header.find(':');
    if (colon == std::string::npos) fields.refuse("header", "is no \"Name: value\"");
    on.header = lowered(header.substr(0, colon));
    on.header_value = trimmed(std::string_view(header).substr(std::min(colon, header.size() - 1) + 1));
  }
  fields.end();
  return on;
}

FaultRule read_rule(Fields fields) {
  FaultRule rule{.on = read_match(fields.member("on")), .repeat = fields.flag("repeat")};
  for (Fields& reply : fields.list("replies")) rule.replies.push_back(read_reply(std::move(reply)));
  if (rule.replies.empty()) fields.refuse("replies", "has none");
  fields.end();
  return rule;
}

PatchNode read_patch(Fields fields) {
  PatchNode patch{.node = fields.text("node"), .change = {.labels = fields.raw("labels"), .status = fields.raw("status")}};
  patch.change.add_taint = fields.raw("add_taint");
  if (patch.node.empty()) fields.refuse("node", "is missing");
  fields.end();
  return patch;
}

EventPerNode read_event_per_node(Fields fields) {
  if (fields.text("one fatal event") != "per node") fields.refuse("one fatal event", "takes \"per node\"");
  const EventPerNode act{fields.time("within_ms")};
  fields.end();
  return act;
}

TimelineStep read_step(Fields fields) {
  TimelineStep step{.at = fields.time("at_ms"), .when = fields.text("when"), .act = Signal::kStart};
  int acts = 0;
  const auto is = [&](bool given, const auto& read) {
    if (!given) return;
    ++acts;
    step.act = read();
  };
  is(fields.has("event"), [&] { return PlayEvents{fields.text("event")}; });
  is(fields.has("event_generated"), [&] { return read_event_per_node(fields.member("event_generated")); });
  is(fields.has("other_patch"), [&] { return read_patch(fields.member("other_patch")); });
  is(fields.has("restart_server_ms"), [&] { return RestartServer{fields.time("restart_server_ms")}; });
  is(fields.flag("kill"), [] { return Signal::kKill; });
  is(fields.flag("term"), [] { return Signal::kTerm; });
  is(fields.flag("start"), [] { return Signal::kStart; });
  if (acts != 1) fields.refuse("", "takes one of event, event_generated, other_patch, restart_server_ms, kill, term, start");
  if (fields.has("at_ms") == fields.has("when")) fields.refuse("", "takes either at_ms or when");
  fields.end();
  return step;
}

FaultScript::Generated read_generated(Fields fields) {
  FaultScript::Generated made{fields.whole("count", 1, 1'000'000), fields.text("from"), fields.text("name")};
  if (made.from.empty()) fields.refuse("from", "is missing");
  if (made.name.find('%') == std::string::npos) fields.refuse("name", "has no place for the number, as \"gpu-%03d\" has");
  fields.end();
  return made;
}

FaultScript read_script(Fields fields) {
  FaultScript script{.objects = fields.texts("objects")};
  for (const char* prose : {"about", "wanted", "variants"}) fields.has(prose);
  if (fields.has("objects_generated")) script.generated = read_generated(fields.member("objects_generated"));
  for (Fields& rule : fields.list("rules")) script.rules.push_back(read_rule(std::move(rule)));
  for (Fields& step : fields.list("timeline")) script.timeline.push_back(read_step(std::move(step)));
  if (fields.has("background")) {
    Fields background = fields.member("background");
    script.status_patches_per_node_per_s = background.number("status_patches_per_node_per_s", 0, 1000);
    background.end();
  }
  if (fields.has("rate_limit")) {
    Fields rate = fields.member("rate_limit");
    script.rate = FaultScript::Rate{rate.number("qps", 0, 1e6), rate.whole("burst", 0, 1'000'000)};
    rate.end();
  }
  for (Fields& step : fields.list("token_file_steps")) {
    FaultScript::TokenStep token{step.time("at_ms"), step.text("content")};
    if (token.content.ends_with("\\n")) token.content.replace(token.content.size() - 2, 2, "\n");   // spelt out in the script
    step.end();
    script.token_file.push_back(std::move(token));
  }
  fields.end();
  return script;
}

}  // namespace

std::optional<std::string> status_body(std::string_view short_name, int code) {
  const auto* const found = std::find_if(std::begin(kShortNames), std::end(kShortNames),
                                         [&](const ShortName& row) { return row.name == short_name; });
  if (found == std::end(kShortNames)) return std::nullopt;
  return to_text(Failure{.code = code, .reason = std::string(found->reason), .message = std::string(found->message)}.status());
}

Result<FaultScript> parse_fault_script(std::string_view text) {
  NW_TRY_ASSIGN(const Json document, parse_json(text));
  std::string problem;
  FaultScript script = read_script(Fields(document, "", problem));
  if (!problem.empty()) return fail(ErrorCode::kInvalid, problem);
  return script;
}

Result<FaultScript> read_fault_script(const std::filesystem::path& file) {
  NW_TRY_ASSIGN(const std::string text, read_file(file));
  auto script = parse_fault_script(text);
  if (!script) return tl::unexpected(in_context(file.string(), script.error()));
  return script;
}

FaultScript FaultScript::stretched(double factor) const {
  const auto stretch = [factor](Duration& time) {
    time = Duration(static_cast<Duration::rep>(static_cast<double>(time.count()) * factor));
  };
  FaultScript made = *this;
  for (FaultRule& rule : made.rules) {
    stretch(rule.on.after);
    for (FaultReply& reply : rule.replies) stretch(reply.delay), stretch(reply.freeze_after);
  }
  for (TimelineStep& step : made.timeline) {
    stretch(step.at);
    if (auto* events = std::get_if<EventPerNode>(&step.act)) stretch(events->within);
    if (auto* restart = std::get_if<RestartServer>(&step.act)) stretch(restart->away);
  }
  for (TokenStep& step : made.token_file) stretch(step.at);
  return made;
}

}  // namespace nodeward::sim
