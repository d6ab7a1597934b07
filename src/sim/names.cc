#include "sim/names.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace nodeward::sim {
namespace {

constexpr std::size_t kMostName = 63;
constexpr std::size_t kMostSubdomain = 253;
constexpr std::string_view kNameWords =
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. "
    "'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
constexpr std::string_view kSubdomainWords =
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with "
    "an alphanumeric character (e.g. 'example.com', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
constexpr std::string_view kLabelWords =
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an "
    "alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
constexpr std::string_view kValueWords =
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with "
    "an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

bool is_lower(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }
bool is_alphanumeric(char c) { return is_lower(c) || (c >= 'A' && c <= 'Z'); }

bool is_name(std::string_view text) {
  return !text.empty() && is_alphanumeric(text.front()) && is_alphanumeric(text.back()) &&
         std::all_of(text.begin(), text.end(), [](char c) { return is_alphanumeric(c) || c == '-' || c == '_' || c == '.'; });
}

bool is_dns_label(std::string_view text) {
  return !text.empty() && is_lower(text.front()) && is_lower(text.back()) &&
         std::all_of(text.begin(), text.end(), [](char c) { return is_lower(c) || c == '-'; });
}

bool is_subdomain(std::string_view text) {
  const std::vector<std::string> labels = split(text, '.');
  return std::all_of(labels.begin(), labels.end(), is_dns_label);
}

}  // namespace

Wrongs check_subdomain(std::string_view text) {
  Wrongs wrongs;
  if (text.size() > kMostSubdomain) wrongs.push_back(fmt::format("must be no more than {} characters", kMostSubdomain));
  if (!is_subdomain(text)) wrongs.emplace_back(kSubdomainWords);
  return wrongs;
}

Wrongs check_dns_label(std::string_view text) {
  Wrongs wrongs;
  if (text.find('.') != std::string_view::npos) return {"must not contain dots"};
  if (text.size() > kMostName) wrongs.push_back(fmt::format("must be no more than {} bytes", kMostName));
  if (!is_dns_label(text)) wrongs.emplace_back(kLabelWords);
  return wrongs;
}

Wrongs check_qualified_name(std::string_view text) {
  Wrongs wrongs;
  const std::size_t slash = text.find('/');
  if (slash != text.rfind('/')) {
    return {fmt::format("a valid label key {} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')",
                        kNameWords)};
  }
  if (slash == 0) wrongs.emplace_back("prefix part must be non-empty");
  if (slash != std::string_view::npos && slash > 0) {
    for (const std::string& wrong : check_subdomain(text.substr(0, slash))) wrongs.push_back("prefix part " + wrong);
  }
  const std::string_view name = slash == std::string_view::npos ? text : text.substr(slash + 1);
  if (name.empty()) wrongs.emplace_back("name part must be non-empty");
  if (name.size() > kMostName) wrongs.push_back(fmt::format("name part must be no more than {} bytes", kMostName));
  if (!is_name(name)) wrongs.push_back(fmt::format("name part {}", kNameWords));
  return wrongs;
}

Wrongs check_label_value(std::string_view text) {
  Wrongs wrongs;
  if (text.size() > kMostName) wrongs.push_back(fmt::format("must be no more than {} bytes", kMostName));
  if (!text.empty() && !is_name(text)) wrongs.emplace_back(kValueWords);
  return wrongs;
}

}  // namespace nodeward::sim
