// The three kinds of PATCH body, on immutable documents. What a patch does not touch stays the very same part, and a patch that
// changes nothing gives the very same document. Pure.
#pragma once

#include <string>
#include <string_view>

#include "sim/document.h"
#include "sim/status.h"

namespace nodeward::sim {

enum class PatchKind { kMerge, kStrategic, kJson };
// By content type, with or without parameters; anything else is answered 415.
Answered<PatchKind> patch_kind(std::string_view content_type);

Answered<Doc> apply_patch(PatchKind kind, const Doc& target, const std::string& body);

Doc merge_patch(const Doc& target, const Json& patch);                      // RFC 7396
Answered<Doc> strategic_patch(const Doc& target, const Json& patch);        // lists merge by key where the API says so
Answered<Doc> json_patch(const Doc& target, const Json& patch);             // RFC 6902

}  // namespace nodeward::sim
