#include "differential/player.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <regex>

#include "base/text.h"
#include "differential/neutral.h"
#include "net/curl_transport.h"

namespace nodeward::differential {
namespace {

constexpr Duration kPatience = 5s;
constexpr std::size_t kMostRequestShown = 300;
constexpr std::size_t kMostLineWidth = 130;
constexpr std::size_t kMostTextShown = 2000;

const std::map<std::string, std::string> kAccepts = {
    {"metadata", "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"},
    {"metadata-list", "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"},
    {"table", "application/json;as=Table;g=meta.k8s.io;v=v1"},
    {"kubectl-get",
     "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json"},
    {"discovery", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"},
    {"anything", "*/*"},
    {"xml", "application/xml"},
    {"odd-kind", "application/json;as=Nonsense;g=meta.k8s.io;v=v1"},
};

constexpr std::string_view kHeaders[] = {"content-type", "retry-after", "warning", "www-authenticate", "location", "allow"};

// What a step leaves behind for later ones.
struct Captured {
  std::string version;
  std::string uid;
  std::string continue_token;
};

struct Watch {
  std::unique_ptr<net::Stream> stream;
  std::string rest;                             // bytes behind the last whole line
};

class Player {
 public:
  explicit Player(const Origin& origin) : origin_(origin), transport_(net::make_curl_transport(origin.endpoint)) {}

  std::string answer(const Step& step) {
    neutral_.begin(step.id);
    if (step.method == "READ") return read_on(step, step.path);
    if (step.method == "CLOSE") return close(step);
    if (step.has("take") || step.has("open") || step.has("end")) return watch(step);
    const auto response = transport_->send(request(step), {});
    if (!response) return "no answer: " + response.error().message + "\n";
    std::string head = fmt::format("{}\n", response->status);
    for (const std::string_view name : kHeaders) {
      for (const net::Header& header : response->headers) {
        if (header.name == name) head += fmt::format("{}: {}\n", name, neutral_.text(header.value));
      }
    }
    return head + body(step, response->body);
  }

 private:
  net::Request request(const Step& step) const {
    net::Request request{.method = step.method, .path = filled(step.path)};
    request.body = filled(step.body);
    const std::string as = step.option("as", "admin");
    if (as != "nobody") {
      const std::string token = as == "admin" ? origin_.token : as == "powerless" ? origin_.powerless_token : "wrong-token";
      request.headers.push_back({"Authorization", "Bearer " + token});
    }
    if (const std::string type = content_type(step); !type.empty()) request.headers.push_back({"Content-Type", type});
    request.headers.push_back({"Accept", step.has("accept") ? kAccepts.at(step.option("accept")) : "application/json"});
    return request;
  }

  static std::string content_type(const Step& step) {
    if (step.has("type")) return step.option("type");
    if (step.has("merge")) return "application/merge-patch+json";
    if (step.has("strategic")) return "application/strategic-merge-patch+json";
    if (step.has("json-patch")) return "application/json-patch+json";
    return step.body.empty() ? "" : "application/json";
  }

  std::string filled(const std::string& text) const {
    static const std::regex kVariable(R"(\$\{([^}]*)\})");
    std::string out;
    auto from = text.cbegin();
    for (std::sregex_iterator at(text.begin(), text.end(), kVariable), end; at != end; ++at) {
      out.append(from, (*at)[0].first);
      out += value(split((*at)[1].str(), ':'));
      from = (*at)[0].second;
    }
    return out.append(from, text.cend());
  }

  std::string value(const std::vector<std::string>& words) const {
    if (words[0] == "repeat") {
      std::string text;
      for (std::int64_t i = 0, count = parse_int(words.at(2)).value_or(0); i < count; ++i) text += words[1];
      return text;
    }
    const std::vector<std::string> parts = split(words[0], '.');
    const auto found = captured_.find(parts[0]);
    if (found == captured_.end() || parts.size() != 2) return "unknown-" + words[0];
    if (parts[1] == "version") return found->second.version;
    return parts[1] == "uid" ? found->second.uid : found->second.continue_token;
  }

  std::string body(const Step& step, const std::string& text) {
    if (text.empty()) return "(no body)\n";
    auto json = parse_json(text);
    if (!json) return shortened(neutral_.text(text));
    return shown(step, *std::move(json));
  }

  static std::string shortened(const std::string& text) {
    return text.size() <= 400 ? text + "\n" : fmt::format("{} ... ({} bytes)\n", text.substr(0, 400), text.size());
  }

  std::string shown(const Step& step, Json json) {
    if (json.is_object() && json.contains("metadata") && json["metadata"].is_object()) {
      const Json& metadata = json["metadata"];
      captured_[step.id] = {text_at(metadata, "resourceVersion"), text_at(metadata, "uid"), text_at(metadata, "continue")};
    }
    if (step.has("pick")) pick(json, split(step.option("pick"), ','));
    const auto same = captured_.find(step.option("same"));
    json = neutral_.body(std::move(json), same == captured_.end() ? "" : same->second.version);
    std::string text;
    print(json, 0, text);
    return text + "\n";
  }

  // Whatever fits stands on one line.
  static void print(const Json& value, std::size_t indent, std::string& out) {
    const std::string line = to_text(value);
    if (indent + line.size() <= kMostLineWidth || !value.is_structured() || value.empty()) {
      out += line.size() <= kMostTextShown ? line : fmt::format("{} ... ({} bytes)", line.substr(0, kMostTextShown), line.size());
      return;
    }
    const std::string margin(indent + 1, ' ');
    out += value.is_array() ? "[" : "{";
    std::string_view comma = "\n";
    for (const auto& [key, member] : value.items()) {
      out += comma;
      out += margin;
      if (value.is_object()) out += json_quoted(key) + ": ";
      print(member, indent + 1, out);
      comma = ",\n";
    }
    out += "\n" + std::string(indent, ' ') + (value.is_array() ? "]" : "}");
  }

  // Keeps of every list of named objects only these names: the real server has more resources than anybody wants to read.
  static void pick(Json& value, const std::vector<std::string>& names) {
    const auto name_of = [](const Json& item) {
      if (!item.is_object()) return std::string();
      for (const char* key : {"name", "resource"}) {
        if (const std::string name = text_at(item, key); !name.empty()) return name;
      }
      return item.contains("metadata") ? text_at(item["metadata"], "name") : std::string();
    };
    if (value.is_array()) {
      Json kept = Json::array();
      for (Json& item : value) {
        const std::string name = name_of(item);
        if (!name.empty() && std::find(names.begin(), names.end(), name) == names.end()) continue;
        pick(item, names);
        kept.push_back(std::move(item));
      }
      value = std::move(kept);
    } else if (value.is_object()) {
      for (auto& [key, member] : value.items()) pick(member, names);
    }
  }

  std::string watch(const Step& step) {
    auto stream = transport_->open(request(step), {});
    if (!stream) return "no answer: " + stream.error().message + "\n";
    std::string text = fmt::format("{}\n", (*stream)->status());
    for (const std::string_view name : kHeaders) {
      if (const auto value = (*stream)->header(name)) text += fmt::format("{}: {}\n", name, *value);
    }
    watches_[step.id] = {*std::move(stream), ""};
    if (!step.has("open")) {
      text += read_on(step, step.id);
      watches_.erase(step.id);
    }
    return text;
  }

  // @take:N reads N events, @end to the orderly end.
  std::string read_on(const Step& step, const std::string& id) {
    const auto found = watches_.find(id);
    if (found == watches_.end()) return "no such watch\n";
    const std::int64_t wanted = step.has("end") ? INT64_MAX : parse_int(step.option("take", "1")).value_or(1);
    std::string text;
    for (std::int64_t events = 0; events < wanted; ++events) {
      auto line = next_line(found->second);
      if (!line) return text + "no event: " + line.error().message + "\n";
      if (!*line) return text + "(the end)\n";
      text += body(step, **line);
    }
    return text;
  }

  static Result<std::optional<std::string>> next_line(Watch& watch) {
    for (;;) {
      if (const std::size_t end = watch.rest.find('\n'); end != std::string::npos) {
        std::string line = watch.rest.substr(0, end);
        watch.rest.erase(0, end + 1);
        return line;
      }
      NW_TRY_ASSIGN(const std::optional<std::string> bytes, watch.stream->read(kPatience, {}));
      if (!bytes && watch.rest.empty()) return std::nullopt;
      watch.rest += bytes.value_or("\n");
    }
  }

  std::string close(const Step& step) { return watches_.erase(step.path) == 1 ? "closed\n" : "no such watch\n"; }

  const Origin& origin_;
  std::unique_ptr<net::Transport> transport_;
  std::map<std::string, Captured> captured_;
  std::map<std::string, Watch> watches_;
  Neutral neutral_;
};

std::string request_line(const Step& step) {
  std::string line = step.method + " " + step.path;
  for (const auto& [name, value] : step.options) line += fmt::format(" @{}{}{}", name, value.empty() ? "" : ":", value);
  if (!step.body.empty()) line += " " + step.body;
  return line.substr(0, kMostRequestShown);
}

}  // namespace

std::vector<Turn> play(std::span<const Step> steps, const Origin& origin) {
  Player player(origin);
  std::vector<Turn> turns;
  for (const Step& step : steps) turns.push_back({step.group, step.id, request_line(step), player.answer(step)});
  return turns;
}

std::string transcript(std::span<const Turn> turns) {
  std::string text;
  std::string group;
  for (const Turn& turn : turns) {
    if (turn.group != group) text += fmt::format("== {}\n\n", group = turn.group);
    text += fmt::format("{}\n> {}\n{}\n", turn.id, turn.request, turn.answer);
  }
  return text;
}

}  // namespace nodeward::differential
