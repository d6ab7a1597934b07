#include "labels/options.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "labels/keys.h"

namespace nodeward::labels {
namespace {

bool is_letter_or_digit(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); }
bool is_inner(char c) { return is_letter_or_digit(c) || c == '-' || c == '_' || c == '.'; }

bool is_label_value(std::string_view text) {
  if (text.empty()) return true;
  return text.size() <= 63 && is_letter_or_digit(text.front()) && is_letter_or_digit(text.back()) &&
         std::all_of(text.begin(), text.end(), is_inner);
}

Result<> check_app(std::string_view flag, std::string_view value) {
  if (is_label_value(value)) return {};
  return fail(
      ErrorCode::kInvalid,
      fmt::format(
          "{}: \"{}\" is no label value; use at most 63 letters, digits, '-', '_' or '.', a letter or digit first and last", flag,
          value));
}

}  // namespace

std::vector<std::string> app_list(std::string_view flag) {
  std::vector<std::string> parts = split(flag, ',');
  for (std::string& part : parts) part = std::string(trimmed(part));
  return parts;
}

Result<> validate(const Options& options) {
  for (const std::string& app : options.dcgm_apps) NW_TRY(check_app("--dcgm-app-label", app));
  NW_TRY(check_app("--driver-app-label", options.driver_app));
  return check_app("--gke-installer-app-label", options.installer_app);
}

std::vector<std::string> kata_keys(const Options& options) {
  std::vector<std::string> keys = {std::string(kKataRuntime)};
  if (!options.kata_label.empty() && options.kata_label != kKataRuntime) keys.push_back(options.kata_label);
  return keys;
}

kube::NodeSelection node_selection(const Options& options) {
  kube::NodeSelection selection;
  selection.labels.keys = kata_keys(options);
  for (const auto key : {kManaged, kGpuPresent, kDcgmVersion, kDriverInstalled, kKataEnabled})
    selection.labels.keys.emplace_back(key);
  selection.annotations.keys.emplace_back(kBootstrapped);
  return selection;
}

}  // namespace nodeward::labels
