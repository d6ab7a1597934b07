// A TOML text, and its tables with places, types and names checked; the only header that shows toml++. Private to this folder.
#pragma once

#include <toml++/toml.h>

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "config/finding.h"

namespace nodeward::config {

// `text` as TOML takes it: CRLF becomes LF, a byte order mark goes. nullopt, with a finding, when it cannot be read.
std::optional<toml::table> parse_toml(std::string& text, Findings& findings);

Place place_of(const toml::node& node);

// The place in the file of a place in the value of a string that begins at `begin`: escapes, the quotes and the line end after
// the opening ones are taken into account.
Place place_in_string(std::string_view text, Place begin, Place within);

// Takes the members out of one table. Names match without regard to case, as the peer's decoder does it; a wrong type is a
// finding. Every message begins with `path`.
class TableReader {
 public:
  TableReader(const toml::table& table, std::string path, Findings& findings)
      : table_(table), path_(std::move(path)), findings_(findings) {}

  std::optional<std::string> text(std::string_view name);
  std::optional<std::int64_t> whole_number(std::string_view name);
  std::optional<bool> flag(std::string_view name);
  const toml::table* table(std::string_view name);
  void each_table(std::string_view name, const std::function<void(const toml::table&, std::size_t)>& read);

  // Of the member, or of the table where it has none.
  Place place(std::string_view name) const;
  void error(std::string_view name, std::string message) { add(Severity::kError, name, std::move(message)); }
  void add(Severity severity, std::string_view name, std::string message);
  // A warning for each member that nobody asked for.
  void warn_of_unknown();

 private:
  const toml::node* member(std::string_view name);
  void wrong_type(std::string_view name, std::string_view wanted, const toml::node& node);
  template <class T>
  std::optional<T> value(std::string_view name, std::string_view wanted);

  const toml::table& table_;
  const std::string path_;
  Findings& findings_;
  std::set<std::string, std::less<>> asked_;   // in small letters
};

}  // namespace nodeward::config
