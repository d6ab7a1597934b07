#include "config/checks.h"

#include <algorithm>

#include "base/text.h"

namespace nodeward::config {
namespace {

bool is_lower_or_digit(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }
bool is_alphanumeric(char c) { return is_lower_or_digit(c) || (c >= 'A' && c <= 'Z'); }
bool is_inner(char c) { return is_alphanumeric(c) || c == '-' || c == '_' || c == '.'; }

// At most 63 characters, a letter or digit at both ends.
bool is_qualified_name(std::string_view name) {
  return !name.empty() && name.size() <= 63 && is_alphanumeric(name.front()) && is_alphanumeric(name.back()) &&
         std::all_of(name.begin(), name.end(), is_inner);
}

bool is_dns_subdomain(std::string_view name) {
  if (name.empty() || name.size() > 253) return false;
  for (const std::string& part : split(name, '.')) {
    if (part.empty() || !is_lower_or_digit(part.front()) || !is_lower_or_digit(part.back())) return false;
    if (!std::all_of(part.begin(), part.end(), [](char c) { return is_lower_or_digit(c) || c == '-'; })) return false;
  }
  return true;
}

}  // namespace

bool is_label_key(std::string_view key) {
  const auto slash = key.find('/');
  if (slash == std::string_view::npos) return is_qualified_name(key);
  return is_dns_subdomain(key.substr(0, slash)) && is_qualified_name(key.substr(slash + 1));
}

bool is_label_value(std::string_view value) { return value.empty() || is_qualified_name(value); }

bool is_taint_effect(std::string_view effect) {
  return effect == "NoSchedule" || effect == "PreferNoSchedule" || effect == "NoExecute";
}

}  // namespace nodeward::config
