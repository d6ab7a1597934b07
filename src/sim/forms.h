// How objects are shown: whole, their metadata only, or as rows of the Table that kubectl prints; chosen by the Accept header.
#pragma once

#include <string>
#include <string_view>

#include "base/clock.h"
#include "sim/document.h"
#include "sim/resources.h"
#include "sim/status.h"

namespace nodeward::sim {

struct ListMeta {
  std::uint64_t version = 0;
  std::string continue_token = {};
  std::int64_t left = -1;                         // -1: not said
};

class Form {
 public:
  enum class Kind { kWhole, kMetadata, kTable };
  enum class Asked { kObject, kList, kWatch };

  // `include` is the query's includeObject; the clock and the row outlive the form.
  static Answered<Form> negotiate(std::string_view accept, std::string_view include, Asked asked, const Resource& resource,
                                  const Clock& clock);
  static Form whole(const Resource& resource, const Clock& clock) { return {Kind::kWhole, resource, clock}; }

  // The bytes are those of the stored object.
  bool is_whole() const { return kind_ == Kind::kWhole && resource_->renames.empty(); }

  Doc shown(const Doc& object) const;             // not of a table
  void write(std::string& out, const Doc& object) const;                   // one object, or that of a watch event
  void write_bookmark(std::string& out, std::uint64_t version, bool ends_initial) const;
  // A list: open, the items with commas between them, close.
  void open_list(std::string& out, const ListMeta& meta) const;
  void write_item(std::string& out, const Doc& object) const;
  void close_list(std::string& out) const { out += "]}\n"; }

 private:
  Form(Kind kind, const Resource& resource, const Clock& clock) : kind_(kind), resource_(&resource), clock_(&clock) {}
  void write_row(std::string& out, const Doc& object) const;

  Kind kind_;
  const Resource* resource_;
  const Clock* clock_;
  bool include_whole_ = false;                    // of table rows
  bool include_none_ = false;
};

// An object of the second version's form as it is stored.
Doc as_stored(const Resource& resource, const Doc& object);

}  // namespace nodeward::sim
