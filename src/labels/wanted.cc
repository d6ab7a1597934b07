#include "labels/wanted.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "base/text.h"
#include "labels/keys.h"

namespace nodeward::labels {
namespace {

using Where = KeyEdit::Where;
using Text = std::optional<std::string_view>;

const kube::SymbolMap& map_of(const kube::Node& node, Where where) {
  return where == Where::kLabel ? node.labels : node.annotations;
}

// Collects the edits of one node: what is already so is left out.
class Edits {
 public:
  explicit Edits(const kube::Node& node) : node_(node) {}

  void want(Where where, std::string_view key, Text value, std::string because = {}) {
    if (map_of(node_, where).get(key) == value) return;
    edits_.push_back({where, std::string(key), value ? std::optional<std::string>(*value) : std::nullopt, std::move(because)});
  }
  std::vector<KeyEdit> take() { return std::move(edits_); }

 private:
  const kube::Node& node_;
  std::vector<KeyEdit> edits_;
};

bool is_opted_out(const kube::Node& node) { return node.labels.get(kManaged) == kFalse; }
bool is_bootstrapped(const kube::Node& node) { return !node.annotations.get(kBootstrapped).value_or("").empty(); }

std::string because_of(const PodFact& pod) { return pod.name.empty() ? std::string{} : "pod " + pod.name; }

// Why none of the pods with these roles counts.
std::string because_none(const PodFacts& pods, Roles roles, std::string_view what) {
  for (const PodFact& pod : pods) {
    if ((pod.roles & roles) == 0 || pod.ready) continue;
    return pod.name.empty() ? fmt::format("no Ready {} pod", what) : fmt::format("pod {} is not Ready", pod.name);
  }
  return fmt::format("no {} pod", what);
}

// The DCGM pod that speaks for the node: Ready first, then the higher major, then the lower uid. A node that has never been
// monitored is given a version only by a Ready pod (unless the options say otherwise); afterwards a restart of the pod, or an
// upgrade, must not take the monitor away.
const PodFact* speaking_dcgm_pod(const PodFacts& pods, bool need_ready) {
  const auto rank = [](const PodFact& pod) { return std::tuple(!pod.ready, pod.major == DcgmMajor::k4 ? 0 : 1, pod.uid); };
  const PodFact* best = nullptr;
  for (const PodFact& pod : pods) {
    if ((pod.roles & kDcgm) == 0 || pod.major == DcgmMajor::kNone || (need_ready && !pod.ready)) continue;
    if (best == nullptr || rank(pod) < rank(*best)) best = &pod;
  }
  return best;
}

struct Finding {
  Text value;             // nullopt: absent
  std::string because;
};

Finding dcgm_version(const kube::Node& node, const PodFacts& pods, const Options& options) {
  const bool need_ready = options.require_dcgm_ready && !is_bootstrapped(node);
  if (const PodFact* pod = speaking_dcgm_pod(pods, need_ready)) return {label_value(pod->major), because_of(*pod)};
  const Text present = node.labels.get(kDcgmVersion);
  if (!present || present->empty()) return {present, {}};
  const std::string_view version = trimmed(*present);
  if (!options.assume_dcgm_available || (version != kDcgm3 && version != kDcgm4)) {
    return {std::nullopt, because_none(pods, kDcgm, "DCGM")};
  }
  // A kept version earns the bootstrap mark, and with the mark an unready pod counts: both in one write.
  if (const PodFact* pod = speaking_dcgm_pod(pods, false)) return {label_value(pod->major), because_of(*pod)};
  return {present, {}};
}

// The tiers, first hit wins. A further source of the same answer is a further tier here.
Finding driver_installed(const kube::Node& node, const PodFacts& pods, const Options& options) {
  if (options.assume_driver_installed && node.labels.get(kGpuPresent) == kTrue) return {kTrue, "--assume-driver-installed"};
  for (const Roles tier : {kDriver, kCrdDriver, kInstaller}) {
    const auto pod = std::find_if(pods.begin(), pods.end(),
                                  [&](const PodFact& fact) { return fact.ready && (fact.roles & tier) != 0; });
    if (pod != pods.end()) return {kTrue, because_of(*pod)};
  }
  return {std::nullopt, because_none(pods, kAnyDriver, "driver")};
}

bool is_truthy(std::string_view text) {
  const std::string value = lowered(trimmed(text));
  return value == "true" || value == "enabled" || value == "1" || value == "yes";
}

Finding kata_enabled(const kube::Node& node, const Options& options) {
  for (const std::string& key : kata_keys(options)) {
    const Text value = node.labels.get(key);
    if (is_truthy(value.value_or(""))) return {kTrue, fmt::format("label {}={}", key, *value)};
  }
  return {kFalse, "no kata label"};
}

std::vector<KeyEdit> strip(const kube::Node& node) {
  Edits edits(node);
  for (const auto key : {kDcgmVersion, kDriverInstalled, kKataEnabled})
    edits.want(Where::kLabel, key, std::nullopt, "managed=false");
  return edits.take();
}

std::string_view short_key(std::string_view key) { return key.substr(key.rfind('/') + 1); }

std::string shown(Text value) {
  if (!value) return "(none)";
  return value->empty() ? "\"\"" : std::string(*value);
}

}  // namespace

WantedLabels wanted(const kube::Node& node, const PodFacts& pods, const Options& options, Phase phase) {
  if (is_opted_out(node)) return {strip(node), true};
  if (phase == Phase::kBeforeSync) return {};

  Edits edits(node);
  const Finding version = dcgm_version(node, pods, options);
  edits.want(Where::kLabel, kDcgmVersion, version.value, version.because);
  const Finding driver = driver_installed(node, pods, options);
  edits.want(Where::kLabel, kDriverInstalled, driver.value, driver.because);
  const Finding kata = kata_enabled(node, options);
  edits.want(Where::kLabel, kKataEnabled, kata.value, kata.because);
  if (!version.value.value_or("").empty() && !is_bootstrapped(node)) {
    edits.want(Where::kAnnotation, kBootstrapped, kTrue, "the node has a DCGM version");
  }
  return {edits.take(), false};
}

std::string describe(const kube::Node& node, const WantedLabels& wanted) {
  if (wanted.edits.empty()) return node.name.str() + ": nothing to change";
  std::string line = node.name.str() + ":";
  for (const KeyEdit& edit : wanted.edits) {
    const auto before = map_of(node, edit.where).get(edit.key);
    line += fmt::format(" {} {} -> {}", short_key(edit.key), shown(before), shown(edit.value));
    if (!edit.because.empty()) line += fmt::format(" ({})", edit.because);
    line += ',';
  }
  line.pop_back();
  return line;
}

}  // namespace nodeward::labels
