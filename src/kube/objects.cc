#include "kube/objects.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>

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

// The keys of a map as one text: where in it each key begins and where the last one ends, then one key after the other.
class PackedKeys {
 public:
  explicit PackedKeys(std::string_view text) : text_(text) {}
  static Symbol pack(std::span<const SymbolMap::Entry> sorted);

  std::size_t size() const { return text_.empty() ? 0 : number(0) / kNumber - 1; }
  std::string_view operator[](std::size_t at) const { return text_.substr(number(at), number(at + 1) - number(at)); }
  bool has(std::string_view key, std::size_t at) const { return at < size() && (*this)[at] == key; }
  // Of the first key that is not less.
  std::size_t place_of(std::string_view key) const {
    std::size_t begin = 0;
    for (std::size_t end = size(); begin < end;) {
      const std::size_t middle = (begin + end) / 2;
      (*this)[middle] < key ? begin = middle + 1 : end = middle;
    }
    return begin;
  }

 private:
  static constexpr std::size_t kNumber = sizeof(std::uint32_t);
  std::size_t number(std::size_t at) const {
    std::uint32_t number = 0;
    std::memcpy(&number, text_.data() + at * kNumber, kNumber);
    return number;
  }
  std::string_view text_;
};

Symbol PackedKeys::pack(std::span<const SymbolMap::Entry> sorted) {
  std::vector<std::uint32_t> begins{static_cast<std::uint32_t>((sorted.size() + 1) * kNumber)};
  begins.reserve(sorted.size() + 1);
  for (const auto& [key, value] : sorted) begins.push_back(begins.back() + static_cast<std::uint32_t>(key.size()));
  std::string text(reinterpret_cast<const char*>(begins.data()), begins.front());
  text.reserve(begins.back());
  for (const auto& [key, value] : sorted) text += key;
  return Symbol(text);
}

}  // namespace

SymbolMap::SymbolMap(std::span<Entry> entries) {
  const auto key_of = [](const Entry& entry) { return entry.first; };
  if (std::ranges::adjacent_find(entries, std::ranges::greater_equal{}, key_of) != entries.end()) {  // the server sorts them
    std::ranges::stable_sort(entries, {}, key_of);
    const auto of_one_key = [](const Entry& a, const Entry& b) { return a.first == b.first; };
    const auto last_of_each = std::unique(entries.rbegin(), entries.rend(), of_one_key).base();
    entries = entries.subspan(static_cast<std::size_t>(last_of_each - entries.begin()));
  }
  if (entries.empty()) return;
  symbols_ = std::make_unique<Symbol[]>(1 + entries.size());
  symbols_[0] = PackedKeys::pack(entries);
  std::ranges::transform(entries, &value_at(0), [](const Entry& entry) { return Symbol(entry.second); });
}

SymbolMap::SymbolMap(const SymbolMap& other) {
  if (other.empty()) return;
  symbols_ = std::make_unique<Symbol[]>(1 + other.size());
  std::copy_n(other.symbols_.get(), 1 + other.size(), symbols_.get());
}

std::optional<std::string_view> SymbolMap::get(std::string_view key) const {
  const PackedKeys keys(packed_keys());
  const std::size_t place = keys.place_of(key);
  if (!keys.has(key, place)) return std::nullopt;
  return value_at(place).view();
}

void SymbolMap::set(std::string_view key, std::string_view value) {
  const PackedKeys keys(packed_keys());
  if (const std::size_t place = keys.place_of(key); keys.has(key, place)) {
    value_at(place) = Symbol(value);
    return;
  }
  auto all = entries();
  all.emplace_back(key, value);
  *this = SymbolMap(all);
}

void SymbolMap::erase(std::string_view key) {
  auto others = entries();
  std::erase_if(others, [&](const Entry& entry) { return entry.first == key; });
  if (others.size() < size()) *this = SymbolMap(others);
}

std::size_t SymbolMap::size() const { return PackedKeys(packed_keys()).size(); }

std::vector<SymbolMap::Entry> SymbolMap::entries() const {
  std::vector<Entry> entries;
  for (const auto& [key, value] : *this) entries.emplace_back(key.view(), value.view());
  return entries;
}

SymbolMap::Iterator SymbolMap::begin() const { return {*this, 0}; }
SymbolMap::Iterator SymbolMap::end() const { return {*this, size()}; }
std::pair<SymbolMap::Key, const Symbol&> SymbolMap::Iterator::operator*() const {
  return {Key{PackedKeys(map_->packed_keys())[at_]}, map_->value_at(at_)};
}

bool operator==(const SymbolMap& a, const SymbolMap& b) {
  const std::size_t count = a.empty() ? 0 : 1 + a.size();
  return a.empty() == b.empty() && std::equal(a.symbols_.get(), a.symbols_.get() + count, b.symbols_.get());
}

bool Node::same_content(const Node& other) const {
  return name == other.name && uid == other.uid && labels == other.labels && annotations == other.annotations &&
         members == other.members && taints == other.taints && unschedulable == other.unschedulable && labelled == other.labelled;
}

bool KeySet::wants(std::string_view key) const { return all || std::find(keys.begin(), keys.end(), key) != keys.end(); }

}  // namespace nodeward::kube
