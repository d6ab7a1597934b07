// Interned text: equal texts share one copy, a Symbol is 8 bytes, equality is one comparison. Label keys and values of a
// fleet repeat thousands of times, so records are made of Symbols. A text that nobody holds any more is freed.
// Any thread.
#pragma once

#include <compare>
#include <cstddef>
#include <functional>
#include <string_view>
#include <utility>

namespace nodeward::kube {

class Symbol {
 public:
  Symbol() = default;                       // the empty text
  explicit Symbol(std::string_view text);
  Symbol(const Symbol& other);
  Symbol(Symbol&& other) noexcept : entry_(std::exchange(other.entry_, nullptr)) {}
  Symbol& operator=(Symbol other) noexcept {
    std::swap(entry_, other.entry_);
    return *this;
  }
  ~Symbol();

  std::string_view view() const;
  bool empty() const { return entry_ == nullptr; }

  friend bool operator==(const Symbol& a, const Symbol& b) { return a.entry_ == b.entry_; }
  friend auto operator<=>(const Symbol& a, const Symbol& b) { return a.view() <=> b.view(); }

  struct Entry;                             // the shared copy; symbol.cc knows its shape
  std::size_t hash() const { return std::hash<const void*>{}(entry_); }

 private:
  Entry* entry_ = nullptr;
};

// How many texts are interned now. For tests and the size metric.
std::size_t interned_count();

}  // namespace nodeward::kube

template <>
struct std::hash<nodeward::kube::Symbol> {
  std::size_t operator()(const nodeward::kube::Symbol& symbol) const noexcept { return symbol.hash(); }
};
