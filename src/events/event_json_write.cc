#include <fmt/format.h>

#include <algorithm>

#include "events/event_json.h"

namespace nodeward::events {
namespace {

// Length of the UTF-8 character that `text` begins with; 0 when its first byte begins none (overlong forms, surrogates and code
// points above U+10FFFF included).
std::size_t character_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
  const auto follows = [&](std::size_t i, unsigned least = 0x80, unsigned most = 0xBF) {
    return byte(i) >= least && byte(i) <= most;
  };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return follows(1) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF) {
    const bool good = follows(1, first == 0xE0 ? 0xA0 : 0x80, first == 0xED ? 0x9F : 0xBF);
    return good && follows(2) ? 3 : 0;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    const bool good = follows(1, first == 0xF0 ? 0x90 : 0x80, first == 0xF4 ? 0x8F : 0xBF);
    return good && follows(2) && follows(3) ? 4 : 0;
  }
  return 0;
}

// Go has short forms for these; every other control character, and < > &, is written as \u00XX.
std::string_view short_escape(char c) {
  switch (c) {
    case '"': return "\\\"";
    case '\\': return "\\\\";
    case '\b': return "\\b";
    case '\f': return "\\f";
    case '\n': return "\\n";
    case '\r': return "\\r";
    case '\t': return "\\t";
    default: return {};
  }
}

void append_quoted(std::string& out, std::string_view text) {
  out += '"';
  while (!text.empty()) {
    const std::size_t length = character_length(text);
    const std::string_view character = text.substr(0, std::max<std::size_t>(length, 1));
    const char c = character.front();
    if (length == 0) {
      out += "\\ufffd";
    } else if (const std::string_view escape = short_escape(c); !escape.empty()) {
      out += escape;
    } else if (static_cast<unsigned char>(c) < 0x20 || c == '<' || c == '>' || c == '&') {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else if (character == "\xe2\x80\xa8" || character == "\xe2\x80\xa9") {
      out += character.back() == '\xa8' ? "\\u2028" : "\\u2029";
    } else {
      out += character;
    }
    text.remove_prefix(character.size());
  }
  out += '"';
}

// Members of one object in the order they are given; those that are zero are left out, as omitempty does.
class ObjectWriter {
 public:
  explicit ObjectWriter(std::string& out) : out_(out) { out_ += '{'; }
  void end() { out_ += '}'; }

  void text(std::string_view name, std::string_view value) {
    if (!value.empty()) append_quoted(begin(name), value);
  }
  void flag(std::string_view name, bool value) {
    if (value) begin(name) += "true";
  }
  void number(std::string_view name, std::int64_t value) {
    if (value != 0) begin(name) += fmt::format("{}", value);
  }
  // Writes the name; the caller appends the value.
  std::string& begin(std::string_view name) {
    if (out_.back() != '{') out_ += ',';
    append_quoted(out_, name);
    return out_ += ':';
  }

 private:
  std::string& out_;
};

template <class List, class Write>
void append_list(std::string& out, const List& list, Write&& write) {
  out += '[';
  for (const auto& element : list) {
    if (&element != &*list.begin()) out += ',';
    write(element);
  }
  out += ']';
}

void append_entity(std::string& out, const Entity& entity) {
  ObjectWriter object(out);
  object.text("entityType", entity.type);
  object.text("entityValue", entity.value);
  object.end();
}

void append_overrides(std::string& out, const Overrides& overrides) {
  ObjectWriter object(out);
  object.flag("force", overrides.force);
  object.flag("skip", overrides.skip);
  object.end();
}

void append_timestamp(std::string& out, const Timestamp& time) {
  ObjectWriter object(out);
  object.number("seconds", time.seconds);
  object.number("nanos", time.nanos);
  object.end();
}

void append_metadata(std::string& out, const std::map<std::string, std::string>& metadata) {
  ObjectWriter object(out);
  for (const auto& [key, value] : metadata) append_quoted(object.begin(key), value);
  object.end();
}

void append_event(std::string& out, const HealthEvent& event) {
  ObjectWriter object(out);
  object.number("version", event.version);
  object.text("agent", event.agent);
  object.text("componentClass", event.component_class);
  object.text("checkName", event.check_name);
  object.flag("isFatal", event.is_fatal);
  object.flag("isHealthy", event.is_healthy);
  object.text("message", event.message);
  object.number("recommendedAction", event.recommended_action);
  if (event.error_codes && !event.error_codes->empty()) {
    append_list(object.begin("errorCode"), *event.error_codes, [&](const std::string& code) { append_quoted(out, code); });
  }
  if (event.entities && !event.entities->empty()) {
    append_list(object.begin("entitiesImpacted"), *event.entities, [&](const Entity& entity) { append_entity(out, entity); });
  }
  if (event.metadata && !event.metadata->empty()) append_metadata(object.begin("metadata"), *event.metadata);
  if (event.generated) append_timestamp(object.begin("generatedTimestamp"), *event.generated);
  object.text("nodeName", event.node_name);
  if (event.quarantine_overrides) append_overrides(object.begin("quarantineOverrides"), *event.quarantine_overrides);
  if (event.drain_overrides) append_overrides(object.begin("drainOverrides"), *event.drain_overrides);
  object.number("processingStrategy", event.processing_strategy);
  object.text("id", event.id);
  object.text("customRecommendedAction", event.custom_recommended_action);
  object.end();
}

}  // namespace

std::string to_stored_json(const HealthEvent& event) {
  std::string out;
  append_event(out, event);
  return out;
}

std::string to_stored_json(std::span<const HealthEvent> events) {
  std::string out;
  append_list(out, events, [&](const HealthEvent& event) { append_event(out, event); });
  return out;
}

std::string go_quoted(std::string_view text) {
  std::string out;
  append_quoted(out, text);
  return out;
}

}  // namespace nodeward::events
