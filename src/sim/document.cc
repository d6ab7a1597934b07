#include "sim/document.h"

#include <algorithm>
#include <optional>

namespace nodeward::sim {
namespace {

const Doc kNullDoc;

// What need not be escaped in a JSON string. UTF-8 was checked when the value was read.
bool is_plain(std::string_view text) {
  return std::none_of(text.begin(), text.end(),
                      [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == '"' || c == '\\'; });
}

auto find_key(const Doc::Members& members, std::string_view key) {
  return std::lower_bound(members.begin(), members.end(), key,
                          [](const Doc::Member& member, std::string_view wanted) { return member.first.text() < wanted; });
}

}  // namespace

void Doc::destroy() { delete part_; }

Doc Doc::string(std::string_view text) {
  if (!is_plain(text)) {
    auto written = std::make_unique<const std::string>(json_quoted(text));
    return Doc(new Part{.kind = Kind::kString, .value = std::string(text), .written = std::move(written)});
  }
  std::string quoted;
  quoted.reserve(text.size() + 2);
  quoted.append("\"").append(text).append("\"");
  return Doc(new Part{.kind = Kind::kString, .plain = true, .value = std::move(quoted)});
}

Doc Doc::array(Items items) { return Doc(new Part{.kind = Kind::kArray, .value = std::move(items)}); }
Doc Doc::object(Members members) { return Doc(new Part{.kind = Kind::kObject, .value = std::move(members)}); }

Doc Doc::from(const Json& value) {
  switch (value.type()) {
    case Json::value_t::null:
    case Json::value_t::discarded:
    case Json::value_t::binary: return {};
    case Json::value_t::boolean: return Doc(new Part{.kind = Kind::kBool, .plain = true, .value = value.dump()});
    case Json::value_t::string: return string(value.get_ref<const std::string&>());
    case Json::value_t::array: {
      Items items;
      items.reserve(value.size());
      for (const Json& item : value) items.push_back(from(item));
      return array(std::move(items));
    }
    case Json::value_t::object: {
      Members members;
      members.reserve(value.size());
      for (const auto& [key, member] : value.items()) {
        if (!member.is_null()) members.emplace_back(string(key), from(member));
      }
      return object(std::move(members));
    }
    default: return Doc(new Part{.kind = Kind::kNumber, .plain = true, .value = value.dump()});
  }
}

Doc Doc::from(const Json& value, const Doc& like) {
  if (value.is_object() && like.is_object()) {
    Members members;
    for (const auto& [key, member] : value.items()) {
      const Doc& old = like.at(key);
      if (!member.is_null()) members.emplace_back(string(key), from(member, old));
    }
    return members == like.members() ? like : object(std::move(members));
  }
  if (value.is_array() && like.is_array()) {
    Items items;
    for (std::size_t i = 0; i < value.size(); ++i) {
      items.push_back(i < like.items().size() ? from(value[i], like.items()[i]) : from(value[i]));
    }
    return items == like.items() ? like : array(std::move(items));
  }
  Doc made = from(value);
  return made == like ? like : made;
}

const Doc::Members& Doc::members() const {
  static const Members kNone;
  const auto* members = part_ == nullptr ? nullptr : std::get_if<Members>(&part_->value);
  return members == nullptr ? kNone : *members;
}

const Doc::Items& Doc::items() const {
  static const Items kNone;
  const auto* items = part_ == nullptr ? nullptr : std::get_if<Items>(&part_->value);
  return items == nullptr ? kNone : *items;
}

const Doc& Doc::at(std::string_view key) const {
  const Members& all = members();
  const auto found = find_key(all, key);
  return found != all.end() && found->first.text() == key ? found->second : kNullDoc;
}

const Doc& Doc::at(Path path) const {
  const Doc* here = this;
  for (const std::string_view key : path) here = &here->at(key);
  return *here;
}

Doc Doc::with(std::string_view key, Doc value) const {
  Members changed = members();
  const auto found = changed.begin() + (find_key(changed, key) - changed.cbegin());
  const bool there = found != changed.end() && found->first.text() == key;
  if (value.is_null()) {
    if (there) changed.erase(found);
  } else if (there) {
    found->second = std::move(value);
  } else {
    changed.emplace(found, string(key), std::move(value));
  }
  return object(std::move(changed));
}

Doc Doc::with(std::span<const std::string_view> path, Doc value) const {
  if (path.empty()) return value;
  return with(path.front(), at(path.front()).with(path.subspan(1), std::move(value)));
}

std::size_t Doc::bytes_beside(const Doc& other) const {
  if (is_null() || same(other)) return 0;
  std::size_t bytes = sizeof(Part) + text().size() + items().size() * sizeof(Doc) + members().size() * sizeof(Member);
  for (std::size_t i = 0; i < items().size(); ++i) {
    bytes += items()[i].bytes_beside(i < other.items().size() ? other.items()[i] : kNullDoc);
  }
  for (const auto& [key, value] : members()) bytes += value.bytes_beside(other.at(key.text()));
  return bytes;
}

void Doc::write(std::string& out) const {
  constexpr std::uint32_t kMany = 8;              // so many holders share one text; two versions of one node do not yet
  constexpr std::size_t kWorthKeeping = 128;      // bytes; below, writing is as quick as copying
  if (part_ == nullptr) {
    out += "null";
    return;
  }
  if (part_->written != nullptr) {
    out += *part_->written;
    return;
  }
  const std::size_t start = out.size();
  switch (part_->kind) {
    case Kind::kObject: {
      char separator = '{';
      for (const auto& [key, value] : members()) {
        out += separator;
        key.write(out);
        out += ':';
        value.write(out);
        separator = ',';
      }
      if (separator == '{') out += '{';
      out += '}';
      break;
    }
    case Kind::kArray: {
      char separator = '[';
      for (const Doc& item : items()) {
        out += separator;
        item.write(out);
        separator = ',';
      }
      if (separator == '[') out += '[';
      out += ']';
      break;
    }
    default: out += std::get<std::string>(part_->value); return;
  }
  if (part_->holders >= kMany && out.size() - start >= kWorthKeeping) {
    part_->written = std::make_unique<const std::string>(out, start);
  }
}

std::string Doc::json_text() const {
  std::string out;
  write(out);
  return out;
}

Json Doc::json() const {
  switch (kind()) {
    case Kind::kNull: return nullptr;
    case Kind::kString: return std::string(text());
    case Kind::kArray: {
      Json all = Json::array();
      for (const Doc& item : items()) all.push_back(item.json());
      return all;
    }
    case Kind::kObject: {
      Json all = Json::object();
      for (const auto& [key, value] : members()) all[std::string(key.text())] = value.json();
      return all;
    }
    default: return Json::parse(text());
  }
}

bool operator==(const Doc& a, const Doc& b) {
  if (a.same(b)) return true;
  if (a.kind() != b.kind()) return false;
  if (a.is_object()) return a.members() == b.members();
  if (a.is_array()) return a.items() == b.items();
  return a.text() == b.text();
}

}  // namespace nodeward::sim
