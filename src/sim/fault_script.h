// A script of what goes wrong around a server: the objects it begins with, the requests that it answers otherwise, and what is
// done to it and to its client from outside. Data only: Faults (faults.h) plays the rules; who runs the client plays the timeline.
// Pure but for reading the file. The format: docs/sim.md, "Scripted faults".
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "net/http.h"

namespace nodeward::sim {

// What another client does to a node.
struct NodeChange {
  Json add_taint = nullptr;  // one taint, put at the end of the list
  Json labels = nullptr;  // merged
  Json status = nullptr;  // merged, through the status subresource
};

struct FaultReply {
  enum class Act {
    kApply,  // as a normal server does
    kApplyThenDrop,  // the same, then the connection is closed without an answer
    kAnswer,  // `status`, `headers`, `body`; nothing is done
    kGoAway,  // see wire::Exchange::goaway
    kSilent,  // never answered
    kFreeze,  // answered; `freeze_after` later nothing passes on its connection either way
  };
  Act act = Act::kApply;
  int status = 0;
  std::vector<net::Header> headers = {};
  std::string body = {};  // as it goes out
  int goaway = 0;
  Duration delay{};  // before all else
  Duration freeze_after{};
  std::optional<NodeChange> first_change = {};  // just before the request is looked at, on the node that it names
};

struct FaultMatch {  // what is not given matches everything
  std::string verb = {};  // GET, LIST, WATCH, POST, PUT, PATCH or DELETE
  std::string path = {};  // without the query
  std::string query_has = {};  // part of a \"name=value\" of the query, decoded
  std::string body_has = {};  // "metadata.labels": the JSON body has this member
  std::string header = {};  // in lower case, with header_value
  std::string header_value = {};
  int nth = 0;  // only the nth of those that match the rest; 0: each
  Duration after{};  // since the script began
};

struct FaultRule {
  FaultMatch on = {};
  std::vector<FaultReply> replies = {};  // one for each request, in turn; then the rule is used up,
  bool repeat = false;  // or begins anew
};

struct PlayEvents {
  std::string file;
};  // the lines of the file are put into the event store
struct EventPerNode {
  Duration within;
};  // one fatal event for each node, spread over this time
struct PatchNode {
  std::string node;
  NodeChange change;
};
struct RestartServer {
  Duration away;
};
enum class Signal { kKill, kTerm, kStart };  // of the client
using TimelineAct = std::variant<PlayEvents, EventPerNode, PatchNode, RestartServer, Signal>;
struct TimelineStep {
  Duration at{};
  std::string when = {};  // instead: a moment, in words
  TimelineAct act;
};

struct FaultScript {
  struct Generated {
    int count = 0;
    std::string from;
    std::string name;
  };  // "gpu-s-%03d"
  struct Rate {
    double qps = 0;
    int burst = 0;
  };
  struct TokenStep {
    Duration at{};
    std::string content;
  };

  std::vector<std::string> objects = {};  // files
  std::optional<Generated> generated = {};
  std::vector<FaultRule> rules = {};
  std::vector<TimelineStep> timeline = {};
  double status_patches_per_node_per_s = 0;  // of other clients, all the time
  std::optional<Rate> rate = {};  // of the client's writes
  std::vector<TokenStep> token_file = {};

  // The same with all times `factor` as long, but for what headers say.
  FaultScript stretched(double factor) const;
};

// Errors name the file and the field: "x.json: rules[0].replies[1].status: ...".
Result<FaultScript> read_fault_script(const std::filesystem::path& file);
Result<FaultScript> parse_fault_script(std::string_view text);

// The body of a v1.Status by its short name ("conflict", "too-many", ...); nullopt: there is none of that name.
std::optional<std::string> status_body(std::string_view short_name, int code);

}  // namespace nodeward::sim
