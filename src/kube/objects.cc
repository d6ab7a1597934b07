#include "kube/objects.h"

#include <algorithm>
#include <array>

namespace nodeward::kube {
namespace {

bool is_decimal(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}
std::string_view without_leading_zeros(std::string_view text) {
  const auto first = text.find_first_not_of('0');
  return first == std::string_view::npos ? std::string_view("0") : text.substr(first);
}

// FNV-1a, 64 bits, from a given start: two starts make the two halves of a uid that is no UUID.
std::uint64_t fnv(std::string_view text, std::uint64_t hash) {
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return hash;
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

// 8-4-4-4-12 lower-case hexadecimal digits.
std::optional<Uid> parse_uuid(std::string_view text) {
  if (text.size() != 36) return std::nullopt;
  std::array<std::uint64_t, 2> halves{};
  int digits = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (i == 8 || i == 13 || i == 18 || i == 23) {
      if (text[i] != '-') return std::nullopt;
      continue;
    }
    const int digit = hex_digit(text[i]);
    if (digit < 0) return std::nullopt;
    auto& half = halves[static_cast<std::size_t>(digits++ / 16)];
    half = (half << 4) | static_cast<std::uint64_t>(digit);
  }
  return Uid{halves[0], halves[1]};
}

}  // namespace

std::optional<std::strong_ordering> compare(const ResourceVersion& a, const ResourceVersion& b) {
  if (a == b) return std::strong_ordering::equal;
  if (!is_decimal(a.str()) || !is_decimal(b.str())) return std::nullopt;
  const auto left = without_leading_zeros(a.str());
  const auto right = without_leading_zeros(b.str());
  if (left.size() != right.size()) return left.size() <=> right.size();
  return left.compare(right) <=> 0;
}

Uid Uid::from(std::string_view text) {
  if (text.empty()) return {};
  if (const auto uuid = parse_uuid(text)) return *uuid;
  return Uid{fnv(text, 0xcbf29ce484222325ULL), fnv(text, 0x84222325cbf29ce4ULL) | 1};
}

namespace {
auto place_of(const std::vector<std::pair<Symbol, Symbol>>& entries, std::string_view key) {
  return std::lower_bound(entries.begin(), entries.end(), key,
                          [](const auto& entry, std::string_view wanted) { return entry.first.view() < wanted; });
}
}  // namespace

std::optional<std::string_view> SymbolMap::get(std::string_view key) const {
  const auto place = place_of(entries_, key);
  if (place == entries_.end() || place->first.view() != key) return std::nullopt;
  return place->second.view();
}

void SymbolMap::set(std::string_view key, std::string_view value) {
  const auto place = entries_.begin() + (place_of(entries_, key) - entries_.begin());
  if (place != entries_.end() && place->first.view() == key) {
    place->second = Symbol(value);
  } else {
    entries_.emplace(place, Symbol(key), Symbol(value));
  }
}

void SymbolMap::erase(std::string_view key) {
  const auto place = entries_.begin() + (place_of(entries_, key) - entries_.begin());
  if (place != entries_.end() && place->first.view() == key) entries_.erase(place);
}

bool Node::same_content(const Node& other) const {
  return name == other.name && uid == other.uid && labels == other.labels && annotations == other.annotations &&
         members == other.members && taints == other.taints && unschedulable == other.unschedulable && labelled == other.labelled;
}

bool KeySet::wants(std::string_view key) const { return all || std::find(keys.begin(), keys.end(), key) != keys.end(); }

}  // namespace nodeward::kube
