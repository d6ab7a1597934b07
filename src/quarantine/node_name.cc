#include "quarantine/node_name.h"

#include <algorithm>

#include "base/text.h"

namespace nodeward::quarantine {

bool can_name_a_node(std::string_view text) {
  constexpr std::size_t kMost = 253;
  const auto alphanumeric = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  const auto legal = [&](const std::string& label) {
    return !label.empty() && alphanumeric(label.front()) && alphanumeric(label.back()) &&
           std::all_of(label.begin(), label.end(), [&](char c) { return alphanumeric(c) || c == '-'; });
  };
  if (text.size() > kMost) return false;
  const auto labels = split(text, '.');
  return std::all_of(labels.begin(), labels.end(), legal);
}

}  // namespace nodeward::quarantine
