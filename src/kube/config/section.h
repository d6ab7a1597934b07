// One map of a kubeconfig, and the words that lead to it in a message: `/x/config: user "writer"`. The only place that reads
// YAML values, so the only one that has to be careful with what a message shows. Private to kube/config.
#pragma once

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/json.h"

namespace nodeward::kube {

// A name for a message. Names have no blanks as a rule; a text with blanks may be half the file behind a quote that was never
// closed, tokens and all, so it is not shown.
std::string shown(const std::string& name);

class Section {
 public:
  // `node`: a map, or null for an empty one. Relative paths in it start at `folder`.
  Section(std::string where, std::filesystem::path folder, YAML::Node node)
      : where_(std::move(where)), folder_(std::move(folder)), node_(std::move(node)) {}

  const std::filesystem::path& folder() const { return folder_; }
  tl::unexpected<Error> refuse(std::string_view field, std::string_view why) const {
    return fail(ErrorCode::kInvalid, fmt::format("{}: {}: {}", where_, field, why));
  }

  // There, and neither null nor empty.
  bool has(const std::string& field) const;
  // The text as it stands in the file, so a number keeps all its digits; "" when it is not there or null.
  Result<std::string> text(const std::string& field) const;
  Result<std::string> required_text(const std::string& field, std::string_view advice) const;
  Result<bool> flag(const std::string& field) const;
  Result<std::vector<std::string>> texts(const std::string& field) const;  // a list of texts; empty when it is not there
  // A map of lists of texts, in the file's order.
  Result<std::vector<std::pair<std::string, std::vector<std::string>>>> text_lists(const std::string& field) const;
  Result<std::optional<Section>> map(const std::string& field) const;     // nullopt: not there, null or empty
  Result<std::vector<Section>> maps(const std::string& field) const;      // the maps of a list
  Result<Json> json(const std::string& field) const;                      // null when it is not there

  // Of the list `<kind>s`, the map `<kind>` in the entry that has this name; nullopt when none has. `names` gets those seen.
  Result<std::optional<Section>> entry(const std::string& kind, const std::string& name, std::vector<std::string>& names) const;

 private:
  // With the merge key of YAML 1.1 (`<<: *base`) that hand-made files use.
  YAML::Node member(const std::string& field) const;
  Result<Section> inner(const std::string& kind, const std::string& name) const;

  std::string where_;
  std::filesystem::path folder_;
  YAML::Node node_;
};

}  // namespace nodeward::kube
