// Label and field selectors, read once and then asked of each object. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/document.h"
#include "sim/path.h"
#include "sim/status.h"

namespace nodeward::sim {

class Selector {
 public:
  Selector() = default;                           // everything
  static Answered<Selector> parse(std::string_view labels, std::string_view fields, const Resource& resource);

  bool matches(const Doc& object) const;
  bool everything() const { return labels_.empty() && fields_.empty(); }

 private:
  enum class Test { kExists, kAbsent, kIn, kNotIn, kGreater, kLess };
  struct Label {
    std::string key;
    Test test = Test::kExists;
    std::vector<std::string> values = {};
  };
  struct Field {
    std::vector<std::string> path;
    bool equal = true;
    std::string value;
  };
  class LabelParser;
  static bool holds(const Label& label, const Doc& labels);

  std::vector<Label> labels_;
  std::vector<Field> fields_;
};

}  // namespace nodeward::sim
