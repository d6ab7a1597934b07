// Two strings that must not be swapped are two types: `using NodeName = Named<struct NodeNameTag>;`.
#pragma once

#include <compare>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

namespace nodeward {

template <class Tag>
class Named {
 public:
  Named() = default;
  explicit Named(std::string text) : text_(std::move(text)) {}
  explicit Named(std::string_view text) : text_(text) {}
  explicit Named(const char* text) : text_(text) {}

  const std::string& str() const { return text_; }
  bool empty() const { return text_.empty(); }

  friend bool operator==(const Named&, const Named&) = default;
  friend auto operator<=>(const Named&, const Named&) = default;

 private:
  std::string text_;
};

}  // namespace nodeward

template <class Tag>
struct std::hash<nodeward::Named<Tag>> {
  std::size_t operator()(const nodeward::Named<Tag>& name) const noexcept { return std::hash<std::string>{}(name.str()); }
};
