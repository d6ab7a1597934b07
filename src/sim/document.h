// An immutable JSON value, one pointer big. Copies share; a change copies the path to it and shares the rest, so 100,000 nodes
// made from one template cost what differs between them. A part that many documents hold keeps its text.
//   const Doc labelled = node.with({"metadata", "labels", "pool"}, Doc::string("train"));
// The reference counts are plain numbers: documents that share parts stay on one thread, or are handed over whole.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/json.h"

namespace nodeward::sim {

class Doc {
 public:
  enum class Kind : std::uint8_t { kNull, kBool, kNumber, kString, kArray, kObject };
  using Member = std::pair<Doc, Doc>;             // the key is a string
  using Members = std::vector<Member>;            // sorted by key
  using Items = std::vector<Doc>;
  using Path = std::initializer_list<std::string_view>;

  Doc() = default;                                // null
  static Doc from(const Json& value);             // members that are null are left out
  static Doc from(const Json& value, const Doc& like);    // shares with `like` what is equal
  static Doc string(std::string_view text);
  static Doc array(Items items);
  static Doc object(Members members);             // sorted by key, each key once
  static Doc empty_object() { return object({}); }
  Doc(const Doc& other) noexcept : part_(other.part_) { retain(); }
  Doc(Doc&& other) noexcept : part_(std::exchange(other.part_, nullptr)) {}
  Doc& operator=(Doc other) noexcept {
    std::swap(part_, other.part_);
    return *this;
  }
  ~Doc() { release(); }

  Kind kind() const { return part_ == nullptr ? Kind::kNull : part_->kind; }
  bool is_null() const { return part_ == nullptr; }
  bool is_object() const { return kind() == Kind::kObject; }
  bool is_array() const { return kind() == Kind::kArray; }
  bool is_string() const { return kind() == Kind::kString; }

  // Null, and empty, where there is nothing or something else.
  const Doc& at(std::string_view key) const;
  const Doc& at(Path path) const;
  std::string_view text() const;                  // of a string; of a number or boolean as it is written in JSON
  const Members& members() const;
  const Items& items() const;

  // This object with one member replaced or added; null removes it. What stands in the way and is no object is replaced.
  Doc with(std::string_view key, Doc value) const;
  Doc with(Path path, Doc value) const { return with(std::span(path.begin(), path.size()), std::move(value)); }
  Doc without(std::string_view key) const { return with(key, Doc()); }

  void write(std::string& out) const;
  std::string json_text() const;
  Json json() const;

  bool same(const Doc& other) const { return part_ == other.part_; }      // the very same part
  // The memory of the parts that are not shared with `other`, about; compares pointers, not values.
  std::size_t bytes_beside(const Doc& other) const;
  friend bool operator==(const Doc& a, const Doc& b);

 private:
  struct Part {
    std::uint32_t holders = 1;
    Kind kind = Kind::kNull;
    bool plain = false;                           // a scalar whose JSON text is `value`; a string then has its quotes in there
    std::variant<std::string, Items, Members> value;
    std::unique_ptr<const std::string> written = nullptr;      // the JSON text, where it is worth keeping
  };
  explicit Doc(Part* part) : part_(part) {}       // takes over one count
  Doc with(std::span<const std::string_view> path, Doc value) const;
  void retain() const {
    if (part_ != nullptr) ++part_->holders;
  }
  void release() {
    if (part_ != nullptr && --part_->holders == 0) destroy();
  }
  void destroy();
  Part* part_ = nullptr;
};

inline std::string_view Doc::text() const {
  const auto* text = part_ == nullptr ? nullptr : std::get_if<std::string>(&part_->value);
  if (text == nullptr) return {};
  const bool quoted = part_->plain && part_->kind == Kind::kString;
  return quoted ? std::string_view(*text).substr(1, text->size() - 2) : std::string_view(*text);
}

}  // namespace nodeward::sim
