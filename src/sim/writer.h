// What create, update, patch and delete do to the store: defaults, the version rules, validation. Knows nothing of HTTP but the
// failures it answers with. One thread.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/json.h"
#include "sim/patch.h"
#include "sim/store.h"

namespace nodeward::sim {

class Writer {
 public:
  Writer(Store& store, const Clock& clock) : store_(store), clock_(clock) {}

  // Which object, and how.
  struct Where {
    const Resource& resource;
    std::string_view space;                       // empty for what has no namespace
    std::string_view name;                        // empty: create only
    bool status = false;                          // the status subresource
    bool dry_run = false;
  };
  struct Written {
    Doc object;
    bool created = false;
  };

  Answered<Doc> create(const Where& where, const Json& body);
  Answered<Written> update(const Where& where, const Json& body);
  Answered<Doc> patch(const Where& where, PatchKind kind, const std::string& body);
  // The object as it was last. `options` is the body, null when there was none.
  Answered<Doc> remove(const Where& where, const Json& options);

  // As it is, status and uid included, but for the version: for objects that come from a real cluster. Missing identity is
  // filled in. It replaces what is there.
  Answered<Doc> load(const Resource& resource, Doc object);
  std::string new_uid();

 private:
  Answered<Doc> read(const Where& where, const Json& body) const;
  Answered<Doc> replace(const Where& where, const Doc& before, Doc object);
  Answered<Doc> put(const Resource& resource, const std::string& key, const Doc& object);
  Doc with_defaults(const Resource& resource, Doc object);
  std::string generated_name(std::string_view prefix);
  std::string time_text() const { return rfc3339(clock_.wall_now()); }

  Store& store_;
  const Clock& clock_;
  std::mt19937_64 random_{std::random_device{}()};
  std::string text_;                              // of what was measured last: its memory is used again
};

}  // namespace nodeward::sim
