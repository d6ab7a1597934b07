#include "kube/splitters.h"

#include <array>

namespace nodeward::kube {
namespace {

// 1: a byte that ends a run of plain bytes outside strings; 2: one that does inside.
constexpr std::array<unsigned char, 256> kStops = [] {
  std::array<unsigned char, 256> table{};
  for (const char c : {'{', '}', '[', ']'}) table[static_cast<unsigned char>(c)] = 1;
  table[static_cast<unsigned char>('"')] = 1 | 2;
  table[static_cast<unsigned char>('\\')] = 2;
  return table;
}();

std::size_t run(std::string_view bytes, std::size_t from, unsigned char kind) {
  while (from < bytes.size() && (kStops[static_cast<unsigned char>(bytes[from])] & kind) == 0) ++from;
  return from;
}

}  // namespace

bool is_whole(std::string_view json) {
  const auto start = json.find_first_not_of(" \t\r");
  if (start == json.npos || json[start] != '{') return false;
  ItemSplitter brackets;
  return brackets.feed(json, [](std::string_view) -> Result<> { return {}; }) && brackets.complete();
}

std::size_t ItemSplitter::item_bytes(std::string_view bytes) {
  std::size_t i = 0;
  while (i < bytes.size()) {
    if (escaped_) {
      escaped_ = false;
      ++i;
      continue;
    }
    i = run(bytes, i, in_string_ ? 2 : 1);
    if (i == bytes.size()) break;
    const char c = bytes[i++];
    if (c == '\\') {
      escaped_ = true;
    } else if (c == '"') {
      in_string_ = !in_string_;
    } else if (c == '{' || c == '[') {
      ++depth_;
    } else if (--depth_ == 2) {        // back in the array of items
      in_item_ = false;
      break;
    }
  }
  item_.append(bytes.substr(0, i));
  return i;
}

std::size_t ItemSplitter::envelope_bytes(std::string_view bytes) {
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const char c = bytes[i];
    if (in_string_) {
      envelope_ += c;
      if (escaped_) {
        escaped_ = false;
      } else if (c == '\\') {
        escaped_ = true;
      } else if (c == '"') {
        in_string_ = false;
      } else if (depth_ == 1) {
        key_ += c;
      }
      continue;
    }
    if (in_items_ && c == '{') {
      in_item_ = true;
      ++depth_;
      item_ += c;
      return i + 1;
    }
    if (in_items_ && c == ',') continue;   // between items: the array stays empty in the envelope
    envelope_ += c;
    if (c == '"') {
      in_string_ = true;
      if (depth_ == 1) key_.clear();
    } else if (c == '{' || c == '[') {
      if (depth_ == 1 && c == '[' && key_ == "items") in_items_ = true;
      ++depth_;
    } else if (c == '}' || c == ']') {
      --depth_;
      in_items_ = false;
    }
  }
  return bytes.size();
}

}  // namespace nodeward::kube
