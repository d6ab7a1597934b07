#include "labels/scenario.h"

#include <algorithm>
#include <sstream>
#include <utility>

#include "base/check.h"
#include "base/json.h"
#include "base/text.h"
#include "labels/keys.h"
#include "labels/to_patch.h"

namespace nodeward::labels::testing {
namespace {

constexpr std::pair<std::string_view, std::string_view> kShortKeys[] = {
    {"D", kDcgmVersion}, {"I", kDriverInstalled}, {"K", kKataEnabled},   {"B", kBootstrapped},
    {"M", kManaged},     {"G", kGpuPresent},      {"kata", kKataRuntime}};

std::string_view long_key(std::string_view word) {
  for (const auto& [letter, key] : kShortKeys) {
    if (letter == word) return key;
  }
  return word;
}

// One requirement of a selector: "k in (a,b)", "k!=v" or "k=v", read as the API server reads them.
bool meets(const std::map<std::string, std::string>& labels, std::string_view requirement) {
  const auto value_of = [&](std::string_view key) { return labels.find(std::string(key)); };
  if (const auto in = requirement.find(" in ("); in != std::string_view::npos) {
    const auto found = value_of(requirement.substr(0, in));
    const auto list = split(requirement.substr(in + 5, requirement.size() - in - 6), ',');
    return found != labels.end() && std::find(list.begin(), list.end(), found->second) != list.end();
  }
  if (const auto unequal = requirement.find("!="); unequal != std::string_view::npos) {
    const auto found = value_of(requirement.substr(0, unequal));
    return found == labels.end() || found->second != requirement.substr(unequal + 2);
  }
  const auto equal = requirement.find('=');
  NW_CHECK(equal != std::string_view::npos, "no other form is in use");
  const auto found = value_of(requirement.substr(0, equal));
  return found != labels.end() && found->second == requirement.substr(equal + 1);
}

bool selects(std::string_view selector, const kube::Pod& pod) {
  const std::map<std::string, std::string> labels(pod.labels.begin(), pod.labels.end());
  int depth = 0;
  std::size_t from = 0;
  for (std::size_t i = 0; i <= selector.size(); ++i) {
    if (i < selector.size() && selector[i] == '(') ++depth;
    if (i < selector.size() && selector[i] == ')') --depth;
    if (i < selector.size() && (selector[i] != ',' || depth > 0)) continue;
    if (!meets(labels, selector.substr(from, i - from))) return false;
    from = i + 1;
  }
  return true;
}

}  // namespace

PodSpec dcgm(int major, bool ready, std::string name) {
  const std::string tag = major == 4 ? "4.2.3-1-ubuntu22.04" : std::to_string(major) + ".3.9";
  return {.name = std::move(name),
          .labels = {{"app", "nvidia-dcgm"}},
          .ready = ready,
          .images = {"nvcr.io/nvidia/cloud-native/dcgm:" + tag}};
}
PodSpec driver(bool ready, std::string name) {
  return {.name = std::move(name),
          .labels = {{"app", "nvidia-driver-daemonset"}, {"app.kubernetes.io/component", "nvidia-driver"}},
          .ready = ready,
          .images = {"nvcr.io/nvidia/driver:570.124.06"}};
}
PodSpec installer(bool ready, std::string name) {
  return {.name = std::move(name),
          .labels = {{"k8s-app", "nvidia-driver-installer"}},
          .ready = ready,
          .images = {"registry.example.com/pause:3.10"},
          .name_space = "kube-system"};
}

Scenario::Scenario(Options options) : options_(std::move(options)), watches_(pod_watches(options_)) {}

void Scenario::node(const std::string& name, std::string_view state) {
  ServerNode& node = server_nodes_[name];
  std::istringstream words{std::string(state)};
  for (std::string word; words >> word;) {
    const auto equal = word.find('=');
    const std::string_view key = long_key(std::string_view(word).substr(0, equal));
    (key == kBootstrapped ? node.annotations : node.labels)[std::string(key)] = word.substr(equal + 1);
  }
  node_changed(name);
}

void Scenario::set_label(const std::string& node, std::string_view key, std::optional<std::string> value) {
  auto& labels = server_nodes_.at(node).labels;
  labels.erase(std::string(long_key(key)));
  if (value) labels[std::string(long_key(key))] = *value;
  node_changed(node);
}

void Scenario::set_annotation(const std::string& node, std::string_view key, const std::string& value) {
  server_nodes_.at(node).annotations[std::string(long_key(key))] = value;
  node_changed(node);
}

void Scenario::heartbeat(const std::string& node) { node_changed(node); }

void Scenario::pod(const PodSpec& spec) {
  kube::Pod pod;
  pod.uid = kube::Uid{1, static_cast<std::uint64_t>(++pods_made_)};
  pod.name_space = spec.name_space;
  pod.name = spec.name;
  pod.node = spec.node;
  pod.labels.assign(spec.labels.begin(), spec.labels.end());
  pod.images = spec.images;
  pod.ready = spec.ready;
  this->pod(pod);
}

void Scenario::pod(const kube::Pod& pod) {
  const kube::Pod& added = server_pods_[pod.name] = pod;
  deliver(nullptr, &added);
}

void Scenario::set_ready(const std::string& pod, bool ready) {
  pod_changed(pod, [&](kube::Pod& changed) { changed.ready = ready; });
}
void Scenario::set_image(const std::string& pod, const std::string& image) {
  pod_changed(pod, [&](kube::Pod& changed) { changed.images = {image}; });
}
void Scenario::bind(const std::string& pod, const std::string& node) {
  pod_changed(pod, [&](kube::Pod& changed) { changed.node = node; });
}
void Scenario::set_pod_label(const std::string& pod, const std::string& key, std::optional<std::string> value) {
  pod_changed(pod, [&](kube::Pod& changed) {
    std::erase_if(changed.labels, [&](const auto& label) { return label.first == key; });
    if (value) changed.labels.emplace_back(key, *value);
  });
}
void Scenario::pod_changed(const std::string& name, const std::function<void(kube::Pod&)>& change) {
  kube::Pod& pod = server_pods_.at(name);
  const kube::Pod before = pod;
  change(pod);
  deliver(&before, &pod);
}
void Scenario::delete_pod(const std::string& pod) {
  const auto gone = server_pods_.extract(pod);
  deliver(&gone.mapped(), nullptr);
}

// What each watch shows of one change: an object that no longer fits the selector is a delete, with the object as it was.
void Scenario::deliver(const kube::Pod* before, const kube::Pod* after) {
  if (!running_ || !pod_watch_up_) return;
  for (const PodWatch& watch : watches_) {
    auto& sink = table_->sink(watch.id);
    if (after != nullptr && selects(watch.label_selector, *after)) {
      sink.apply(*after);
    } else if (before != nullptr && selects(watch.label_selector, *before)) {
      sink.remove(*before);
    }
  }
  if (!in_batch_) work();
}

kube::Node Scenario::cached_form(const std::string& name, const ServerNode& node) const {
  const kube::NodeSelection selection = node_selection(options_);
  kube::Node kept;
  kept.name = kube::NodeName(name);
  kept.version = kube::ResourceVersion(std::to_string(node.version));
  for (const auto& [key, value] : node.labels) {
    if (selection.labels.wants(key)) kept.labels.set(key, value);
  }
  for (const auto& [key, value] : node.annotations) {
    if (selection.annotations.wants(key)) kept.annotations.set(key, value);
  }
  return kept;
}

void Scenario::node_changed(const std::string& name) {
  ServerNode& node = server_nodes_.at(name);
  ++node.version;
  if (!running_ || !node_watch_up_) return;
  kube::Node kept = cached_form(name, node);
  const auto known = cache_.find(name);
  if (known == cache_.end() || !known->second.same_content(kept)) dirty_.insert(name);
  cache_[name] = std::move(kept);
  if (!in_batch_) work();
}

void Scenario::list_nodes() {
  for (const auto& [name, node] : server_nodes_) {
    cache_[name] = cached_form(name, node);
    dirty_.insert(name);
    work();
  }
}

void Scenario::list_pods() {
  for (const PodWatch& watch : watches_) {
    auto& sink = table_->sink(watch.id);
    sink.list_begins();
    for (const auto& [name, pod] : server_pods_) {
      if (selects(watch.label_selector, pod)) sink.apply(pod);
      work();
    }
    sink.list_ends(kube::ResourceVersion("1"));
    work();
  }
}

void Scenario::start(Late late) {
  running_ = true;
  synced_ = false;
  cache_.clear();
  dirty_.clear();
  table_ = std::make_unique<PodTable>(
      options_, PodTable::Events{.dirty = [this](const kube::NodeName& node) { dirty_.insert(node.str()); },
                                 .unversioned = [this](std::string_view image) { unversioned_.emplace_back(image); },
                                 .keep_pod_names = true});
  if (late == Late::kNodes) list_pods();
  list_nodes();
  if (late == Late::kPods) list_pods();
  synced_ = true;
  for (const auto& [name, node] : cache_) dirty_.insert(name);
  work();
}

void Scenario::batch(const std::function<void()>& changes) {
  in_batch_ = true;
  changes();
  in_batch_ = false;
  work();
}

void Scenario::while_watch_is_down(Watches watches, const std::function<void()>& changes) {
  bool& up = watches == Watches::kPods ? pod_watch_up_ : node_watch_up_;
  up = false;
  changes();
  up = true;
  watches == Watches::kPods ? list_pods() : list_nodes();
}

// A written node comes back as an event and is looked at again; that must end.
void Scenario::work() {
  if (!running_) return;
  for (int rounds = 0; !dirty_.empty(); ++rounds) {
    NW_CHECK(rounds < 1'000'000, "a decision that is never content writes for ever");
    work_on(dirty_.extract(dirty_.begin()).value());
  }
}

void Scenario::work_on(const std::string& name) {
  const auto cached = cache_.find(name);
  if (cached == cache_.end()) return;
  ++decisions_;
  const kube::NodeName node(name);
  const WantedLabels wants = wanted(cached->second, table_->facts_of(node), options_,
                                    synced_ ? Phase::kSynced : Phase::kBeforeSync);
  if (wants.opted_out) ++skipped_;
  if (wants.edits.empty()) return;
  const auto body = to_patch(node, wants).body(cached->second);
  NW_CHECK(body && !body->guarded, "edits are differences to this node, and need no version");
  merge(name, body->json);
}

// As the API server takes a merge patch (RFC 7396) of labels and annotations.
void Scenario::merge(const std::string& name, std::string_view body) {
  ++writes_;
  ServerNode& node = server_nodes_.at(name);
  const Json patch = parse_json(body).value();
  NW_CHECK(patch.size() == 1 && patch.contains("metadata"), "metadata is all that the labeler writes");
  for (const auto& [member, edits] : patch["metadata"].items()) {
    NW_CHECK(member == "labels" || member == "annotations", "nothing else of it is the labeler's");
    auto& map = member == "labels" ? node.labels : node.annotations;
    for (const auto& [key, value] : edits.items()) {
      if (value.is_null())
        removals_ += static_cast<int>(map.erase(key));
      else
        map[key] = value.get<std::string>();
    }
  }
  const bool batch = std::exchange(in_batch_, true);   // the event only marks; work() goes on
  node_changed(name);
  in_batch_ = batch;
}

std::string Scenario::state(const std::string& node) const {
  const ServerNode& server = server_nodes_.at(node);
  std::string text;
  for (const std::string_view letter : {"D", "I", "K", "B"}) {
    const std::string_view key = long_key(letter);
    const auto& map = key == kBootstrapped ? server.annotations : server.labels;
    const auto found = map.find(key);
    if (found != map.end()) text += (text.empty() ? "" : " ") + std::string(letter) + "=" + found->second;
  }
  return text;
}

std::optional<std::string> Scenario::label(const std::string& node, std::string_view key) const {
  const auto& map = server_nodes_.at(node).labels;
  const auto found = map.find(long_key(key));
  return found == map.end() ? std::nullopt : std::optional(found->second);
}
std::optional<std::string> Scenario::annotation(const std::string& node, std::string_view key) const {
  const auto& map = server_nodes_.at(node).annotations;
  const auto found = map.find(long_key(key));
  return found == map.end() ? std::nullopt : std::optional(found->second);
}

std::string Scenario::describe(const std::string& node) const {
  const kube::Node& cached = cache_.at(node);
  return labels::describe(cached, wanted(cached, table_->facts_of(cached.name), options_));
}

int Scenario::writes() { return std::exchange(writes_, 0); }
int Scenario::removals() { return std::exchange(removals_, 0); }
int Scenario::skipped() { return std::exchange(skipped_, 0); }
int Scenario::decisions() { return std::exchange(decisions_, 0); }
std::vector<std::string> Scenario::unversioned_images() { return std::exchange(unversioned_, {}); }

}  // namespace nodeward::labels::testing
