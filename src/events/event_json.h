// Health events from JSON, in every form they come in, and back to the stored form (FQ spec, section 4.2). Pure.
// Reading: keys without regard to case, unknown keys ignored, enums by number or name, time as {seconds, nanos} or RFC 3339;
// a member of a wrong type is an error that names it. Input must be UTF-8; a NUL within a text becomes U+FFFD.
// Writing: byte for byte what encoding/json of Go makes of the struct, because other programs compare and parse it.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "events/event.h"

namespace nodeward::events {

// One of: the database document {"createdAt", "healthevent", ...}; {"recordId", "document"}; a bare event; HealthEvents
// {"version", "events": [...]}. Each event gets the recordId where there is one. An event without nodeName is an error.
Result<std::vector<HealthEvent>> read_events(std::string_view json);

// The value of annotation quarantineHealthEvent: an array of events, or one event as older writers left it. One that names no node
// is an error: no recovery could ever clear it.
Result<std::vector<HealthEvent>> read_record(std::string_view json);

std::string to_stored_json(const HealthEvent& event);
std::string to_stored_json(std::span<const HealthEvent> events);  // the record: [{...},{...}]

// `text` as a JSON string as Go writes it: < > & and U+2028 escaped too, bytes that are no UTF-8 as \ufffd.
std::string go_quoted(std::string_view text);

}  // namespace nodeward::events
